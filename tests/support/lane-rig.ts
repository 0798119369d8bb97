/** The lanes, links and process registry of one sandbox without pi above them, and a consumer that keeps what it is told. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/main/config.ts";
import { ConversationLocks } from "../../src/main/conversation-locks.ts";
import type { Engine } from "../../src/main/engines/engine.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { workerUrls } from "../../src/main/hub.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { LanePool, type LinkMessage } from "../../src/main/lanes.ts";
import type { Link, LinkConsumer, LinkEnd, LinkSpec } from "../../src/main/link.ts";
import { LinkPool } from "../../src/main/link-pool.ts";
import { ProcessRegistry } from "../../src/main/processes/registry.ts";
import type { CaptureSettings } from "../../src/shared/capture.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import { until, within } from "./condition.ts";
import { guardiansOf } from "./process-table.ts";
import type { Sandbox, ScenarioData } from "./sandbox.ts";

export type OpenOptions = {
	readonly scenario?: string | ScenarioData;
	readonly sessionId?: string | null;
	readonly conversationId?: string | null;
	readonly bin?: string;
	/** Where agy works and keeps its files; default: the sandbox of the rig. */
	readonly place?: RigPlace;
	/** Default: stream-json. */
	readonly engine?: Engine;
	/** What a one-shot engine is started with. */
	readonly prompt?: string;
	/** Flags that this agy is said not to have. */
	readonly missingFlags?: readonly string[];
	/** Default: one that the simulator lists. */
	readonly modelSlug?: string;
};

/** What is needed of a sandbox; a real agy has its own home, and no sandbox. */
export type RigPlace = Pick<
	Sandbox,
	"path" | "agentDir" | "env" | "workspace" | "conversationsDir" | "scenarioSetting" | "noteGuardians"
>;

export class LaneRig {
	readonly registry: ProcessRegistry;
	readonly lanes: LanePool;
	readonly links: LinkPool;
	readonly #sandbox: RigPlace;
	#isGuardianNoted = false;

	/** `capture` has the lanes record their turns. */
	constructor(sandbox: RigPlace, capture: CaptureSettings | null = null) {
		this.#sandbox = sandbox;
		const socketDir = join(sandbox.path, "sockets");
		mkdirSync(socketDir, { recursive: true });
		const store = new JsonStore(join(sandbox.agentDir, "pi-agy", "processes.json"));
		this.registry = new ProcessRegistry(store, socketDir, (error) => {
			throw error;
		});
		this.lanes = new LanePool({
			workerUrls: workerUrls(new URL("../../src/main/hub.ts", import.meta.url).href),
			socketDir,
			maxDecodeLanes: 4, // on any machine
			capture,
			log: () => {},
		});
		const locks = new ConversationLocks(join(sandbox.agentDir, "pi-agy", "locks"));
		this.links = new LinkPool({
			lanes: this.lanes,
			registry: this.registry,
			locks,
			swept: this.registry.sweep(),
			log: () => {},
		});
	}

	/** In the order of the real shutdown. */
	async close(): Promise<void> {
		await within("the end of the links", this.links.close());
		await within("the end of the lanes", this.lanes.close());
		await within("the end of the registry", this.registry.close());
	}

	async open(options: OpenOptions = {}): Promise<Link> {
		const link = await this.links.acquire(this.#spec(options), {
			signal: new AbortController().signal,
			onWait: () => {},
		});
		if (!this.#isGuardianNoted) this.#sandbox.noteGuardians(guardiansOf(process.pid));
		this.#isGuardianNoted = true;
		return link;
	}

	/** Opens a link and sends it a prompt. */
	async ask(prompt: string, options: OpenOptions = {}): Promise<{ readonly link: Link; readonly heard: Listener }> {
		const link = await this.open({ ...options, prompt });
		return { link, heard: submit(link, prompt) };
	}

	/** Ends the thread as a crash would; the system thread number tells which. */
	async crash(threadId: number): Promise<void> {
		const thread = this.lanes.threads.find((candidate) => candidate.threadId === threadId);
		if (!thread) throw new Error(`no thread ${threadId}`);
		await thread.terminate();
	}

	#spec(options: OpenOptions): LinkSpec {
		const { scenario, sessionId = null, conversationId = null, bin, prompt = "", missingFlags = [] } = options;
		const { engine = streamJsonEngine, place = this.#sandbox, modelSlug = "gemini-3.8-flash-low" } = options;
		const { env, workspace } = place;
		const childEnv = { ...loadConfig(env).childEnv };
		if (scenario !== undefined) childEnv.AGY_SIM_SCENARIO = place.scenarioSetting(scenario);
		return {
			sessionId,
			engine,
			profile: {
				bin: bin ?? (env.AGY_BIN as string),
				cwd: workspace,
				addDirs: [],
				modelSlug,
				mode: "default",
				skipPermissions: true,
				agent: null,
				missingFlags,
				extraArgs: [],
			},
			conversationId,
			env: childEnv,
			run: engine.isOneShot ? { prompt, conversationsDir: place.conversationsDir } : null,
		};
	}
}

export function submit(link: Link, prompt: string): Listener {
	const heard = new Listener();
	const { engine } = link.spec;
	link.submit(engine.encodePrompt(engine.payload(prompt)), heard);
	return heard;
}

export class Listener implements LinkConsumer {
	readonly events: AgyEvent[] = [];
	/** The first of the lines that were no frames, per chunk. */
	readonly rejected: string[] = [];
	end: LinkEnd | null = null;
	/** While set, the consumer is not done with what it was given. */
	#stop: { readonly promise: Promise<void>; readonly release: () => void } | null = null;

	get text(): string {
		return this.events.map((event) => (event.kind === "text" ? event.text : "")).join("");
	}

	get isDone(): boolean {
		return this.events.some((event) => event.kind === "turn-end");
	}

	/** From the next message on, `receive` does not settle until the returned function is called. */
	stop(): () => void {
		let release: () => void = () => {};
		const promise = new Promise<void>((resolve) => {
			release = resolve;
		});
		this.#stop = { promise, release };
		return () => {
			this.#stop = null;
			release();
		};
	}

	receive(message: LinkMessage): void | Promise<void> {
		if (message.kind === "events") this.events.push(...message.events);
		if (message.kind === "lines-rejected") this.rejected.push(message.sample);
		return this.#stop?.promise;
	}

	ended(end: LinkEnd): void {
		this.end = end;
	}

	async done(): Promise<void> {
		await until(
			() =>
				`the end of a turn; heard ${JSON.stringify(this.events.slice(-3)).slice(0, 500)}, end ${JSON.stringify(this.end)}`,
			() => this.isDone,
		);
	}

	async over(): Promise<LinkEnd> {
		return until("the end of a link", () => this.end);
	}
}
