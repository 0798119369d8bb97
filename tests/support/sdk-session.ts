/** pi sessions inside the test process, with the extension as an inline factory and everything else of pi switched off. */
import {
	type AgentSession,
	type AgentSessionEvent,
	createAgentSessionFromServices,
	createAgentSessionServices,
	SessionManager,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import antigravity from "../../src/main/extension.ts";
import type { Hub } from "../../src/main/hub.ts";
import { CONTRACT_VERSION } from "../../src/shared/limits.ts";
import { guardiansOf } from "./process-table.ts";
import type { Sandbox } from "./sandbox.ts";
import { textOf } from "./transcript.ts";

export class SdkSession {
	readonly session: AgentSession;
	/** The text of all answers as it came. */
	streamed = "";
	readonly #sandbox: Sandbox;

	private constructor(session: AgentSession, sandbox: Sandbox) {
		this.session = session;
		this.#sandbox = sandbox;
		session.subscribe((event) => {
			if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") return;
			this.streamed += event.assistantMessageEvent.delta;
		});
	}

	/** The environment of the sandbox has to be the one of this process: see `enterSandbox`. */
	static async open(sandbox: Sandbox): Promise<SdkSession> {
		const { workspace: cwd, agentDir } = sandbox;
		const services = await createAgentSessionServices({
			cwd,
			agentDir,
			settingsManager: SettingsManager.inMemory(),
			resourceLoaderOptions: {
				noExtensions: true,
				noSkills: true,
				noContextFiles: true,
				extensionFactories: [{ name: "antigravity", factory: antigravity }],
			},
		});
		const model = services.modelRuntime.getModel("antigravity", "gemini-3.8-flash");
		if (!model) throw new Error("the provider is not registered");
		const { session } = await createAgentSessionFromServices({
			services,
			sessionManager: SessionManager.inMemory(cwd),
			model,
		});
		await session.bindExtensions({ mode: "print" });
		return new SdkSession(session, sandbox);
	}

	/** A whole turn; the text of the answer, or its error. */
	async ask(prompt: string): Promise<string> {
		const errors: string[] = [];
		const texts: string[] = [];
		const forget = this.session.subscribe((event: AgentSessionEvent) => {
			if (event.type !== "message_end" || event.message.role !== "assistant") return;
			texts.push(textOf(event.message));
			if (event.message.errorMessage) errors.push(event.message.errorMessage);
		});
		await this.session.prompt(prompt).finally(forget);
		this.#sandbox.noteGuardians(guardiansOf(process.pid));
		return errors.length > 0 ? `error: ${errors.join("; ")}` : texts.join("");
	}

	/** As a host ends a session. */
	async close(): Promise<void> {
		await this.session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
		this.session.dispose();
	}
}

/** Makes the environment of this process the sandbox's. Returns the way back. */
export function enterSandbox(sandbox: Sandbox): () => void {
	const before = { ...process.env };
	Object.assign(process.env, sandbox.env);
	return () => {
		for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
		Object.assign(process.env, before);
	};
}

/** What the sessions of this process share; one for each folder of data. */
export function hubs(): readonly Hub[] {
	const holder = globalThis as { [name: symbol]: Map<string, { readonly hub: Hub }> | undefined };
	return [...(holder[Symbol.for(`pi-agy.hubs.${CONTRACT_VERSION}`)]?.values() ?? [])].map((entry) => entry.hub);
}
