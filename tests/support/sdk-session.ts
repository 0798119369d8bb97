/** pi sessions inside the test process, with the extension as an inline factory and everything else of pi switched off. */
import {
	type AgentSession,
	type AgentSessionEvent,
	createAgentSessionFromServices,
	createAgentSessionServices,
	type ExtensionFactory,
	type ExtensionUIContext,
	type JsonAgentSessionEvent,
	type PromptOptions,
	SessionManager,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import antigravity from "../../src/main/extension.ts";
import type { Hub } from "../../src/main/hub.ts";
import { CONTRACT_VERSION } from "../../src/shared/limits.ts";
import { guardiansOf } from "./process-table.ts";
import type { AgyRun, Sandbox } from "./sandbox.ts";
import { assistantMessages, textOf } from "./transcript.ts";

export type SdkOptions = {
	/** Default: the sandbox's workspace. */
	readonly cwd?: string;
	/** Default: pi's own settings. */
	readonly settings?: Parameters<typeof SettingsManager.inMemory>[0];
	/** Default: nothing is kept. */
	readonly sessionManager?: SessionManager;
	/** Beside the one under test. */
	readonly extensions?: readonly ExtensionFactory[];
};

export class SdkSession {
	readonly session: AgentSession;
	readonly cwd: string;
	/** What happened, in the form that transcript.ts reads. */
	readonly records: JsonAgentSessionEvent[] = [];
	/** What the user was told. */
	readonly notices: string[] = [];
	/** The text of all answers as it came. */
	streamed = "";
	readonly #sandbox: Sandbox;
	#isGuardianNoted = false;
	#isClosed = false;

	private constructor(session: AgentSession, sandbox: Sandbox, cwd: string) {
		this.session = session;
		this.cwd = cwd;
		this.#sandbox = sandbox;
		session.subscribe((event: AgentSessionEvent) => {
			this.records.push(event as unknown as JsonAgentSessionEvent);
			if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") return;
			this.streamed += event.assistantMessageEvent.delta;
		});
	}

	/** The environment of the sandbox has to be the one of this process: see `enterSandbox`. */
	static async open(sandbox: Sandbox, options: SdkOptions = {}): Promise<SdkSession> {
		const { agentDir } = sandbox;
		const cwd = options.cwd ?? sandbox.workspace;
		const services = await createAgentSessionServices({
			cwd,
			agentDir,
			settingsManager: SettingsManager.inMemory(options.settings),
			resourceLoaderOptions: {
				noExtensions: true,
				noSkills: true,
				noContextFiles: true,
				extensionFactories: [
					{ name: "antigravity", factory: antigravity },
					...(options.extensions ?? []).map((factory, index) => ({ name: `test-${index}`, factory })),
				],
			},
		});
		const { modelRuntime } = services;
		const model = modelRuntime.getModel("antigravity", "gemini-3.8-flash") ?? modelRuntime.getModels("antigravity")[0];
		if (!model) throw new Error("the provider is not registered");
		const { session } = await createAgentSessionFromServices({
			services,
			sessionManager: options.sessionManager ?? SessionManager.inMemory(cwd),
			model,
		});
		const opened = new SdkSession(session, sandbox, cwd);
		await session.bindExtensions({ mode: "rpc", uiContext: recordingUi(opened.notices) });
		return opened;
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** A whole turn; the text of the answer, or its error. */
	async ask(prompt: string): Promise<string> {
		const messages = assistantMessages(await this.turn(prompt));
		const errors = messages.flatMap((message) => message.errorMessage ?? []);
		return errors.length > 0 ? `error: ${errors.join("; ")}` : messages.map(textOf).join("");
	}

	/** A whole turn; its records. */
	async turn(prompt: string, options?: PromptOptions): Promise<readonly JsonAgentSessionEvent[]> {
		const from = this.records.length;
		await this.session.prompt(prompt, options);
		this.#noteGuardian();
		return this.records.slice(from);
	}

	/** The agy processes that worked in this session's folder, in the order they started. */
	runs(): readonly AgyRun[] {
		return this.#sandbox.runs().filter((run) => run.argv[run.argv.indexOf("--add-dir") + 1] === this.cwd);
	}

	/** Everything they were told, in order. */
	prompts(): readonly string[] {
		return this.runs().flatMap((run) => run.prompts);
	}

	/** Once: it is the same one as long as sessions share this process, and a look at the process table is dear. */
	#noteGuardian(): void {
		if (this.#isGuardianNoted) return;
		const pids = guardiansOf(process.pid);
		this.#isGuardianNoted = pids.length > 0;
		this.#sandbox.noteGuardians(pids);
	}

	/** As a host ends a session. May be called twice. */
	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		await this.session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
		this.session.dispose();
	}
}

/** A screen that only notes what it is told. */
function recordingUi(notices: string[]): ExtensionUIContext {
	const nothing = () => {};
	const screen: Partial<ExtensionUIContext> = {
		notify: (text) => void notices.push(text),
		setStatus: nothing,
		setTitle: nothing,
		setWidget: nothing,
		setWorkingMessage: nothing,
	};
	return screen as ExtensionUIContext;
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
