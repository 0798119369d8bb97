/** pi sessions in this process, through pi's SDK, with one extension and everything else of pi switched off. */

import {
	type AgentSession,
	createAgentSessionFromServices,
	createAgentSessionServices,
	type ExtensionFactory,
	SessionManager,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import { guardiansOf } from "../../tests/support/process-table.ts";
import type { Sandbox } from "../../tests/support/sandbox.ts";
import { CONTROL_PROVIDER, controlExtension } from "./control-extension.ts";
import { openPiHome, type StandIn } from "./pi-home.ts";

export type PiSideName = "ours" | "control";

export class PiSessions {
	readonly sandbox: Sandbox;
	readonly #factory: ExtensionFactory;
	readonly #provider: string;
	readonly #sessions: AgentSession[] = [];

	private constructor(sandbox: Sandbox, factory: ExtensionFactory, provider: string) {
		this.sandbox = sandbox;
		this.#factory = factory;
		this.#provider = provider;
	}

	/** Makes the environment of this process that of a sandbox. The other side's extension is not even loaded. */
	static async of(side: PiSideName, agy: StandIn): Promise<PiSessions> {
		const sandbox = openPiHome(agy);
		Object.assign(process.env, sandbox.env);
		if (side === "control") return new PiSessions(sandbox, controlExtension, CONTROL_PROVIDER);
		const { default: antigravity } = await import("../../src/main/extension.ts");
		return new PiSessions(sandbox, antigravity, "antigravity");
	}

	get count(): number {
		return this.#sessions.length;
	}

	/** One more session; `onText` gets each piece of text as pi tells it. */
	async open(onText: (text: string) => void): Promise<AgentSession> {
		const { agentDir, workspace: cwd } = this.sandbox;
		const services = await createAgentSessionServices({
			cwd,
			agentDir,
			settingsManager: SettingsManager.inMemory(),
			resourceLoaderOptions: {
				noExtensions: true,
				noSkills: true,
				noContextFiles: true,
				extensionFactories: [{ name: this.#provider, factory: this.#factory }],
			},
		});
		const [model] = services.modelRuntime.getModels(this.#provider);
		if (!model) throw new Error(`the provider ${this.#provider} is not registered`);
		const sessionManager = SessionManager.inMemory(cwd);
		const { session } = await createAgentSessionFromServices({ services, sessionManager, model });
		await session.bindExtensions({ mode: "print" });
		session.subscribe((event) => {
			if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") return;
			onText(event.assistantMessageEvent.delta);
		});
		this.#sessions.push(session);
		return session;
	}

	/** Ends all sessions, and fails when anything of them is left. */
	async close(): Promise<void> {
		this.sandbox.noteGuardians(guardiansOf(process.pid));
		await Promise.all(
			this.#sessions.map((session) => session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" })),
		);
		for (const session of this.#sessions) session.dispose();
		await this.sandbox.close();
	}
}
