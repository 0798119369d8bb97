/**
 * The provider of a pi session with a fake pool of agy processes below it, and pi above it played by the test: it keeps
 * the transcript, runs the calls of a message and asks again. What each conversation of agy's was told is kept, with the
 * files a prompt points to in their place.
 */
import { existsSync, readFileSync } from "node:fs";
import type {
	AssistantMessage,
	Message,
	SimpleStreamOptions,
	ToolResultMessage,
	TranscriptContext,
	UserMessage,
} from "@earendil-works/pi-ai";
import { afterEach, beforeEach } from "vitest";
import { SessionActivity } from "../../src/main/activity/session-activity.ts";
import type { Binary } from "../../src/main/binary.ts";
import { SessionBridge } from "../../src/main/bridge/session-bridge.ts";
import { toCapabilities } from "../../src/main/capabilities.ts";
import { type Config, loadConfig } from "../../src/main/config.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import type { Hub } from "../../src/main/hub.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import type { LinkSpec } from "../../src/main/link.ts";
import type { AcquireOptions } from "../../src/main/link-pool.ts";
import { Catalog } from "../../src/main/models.ts";
import { Provider } from "../../src/main/provider.ts";
import { type Binding, SessionBindings } from "../../src/main/sessions.ts";
import { Spill } from "../../src/main/spill.ts";
import { Steps } from "../../src/main/steps.ts";
import { type Session, TurnStarter } from "../../src/main/turn-starter.ts";
import { DriftCounter } from "../../src/shared/drift.ts";
import { AgyError } from "../../src/shared/errors.ts";
import type { TurnEndEvent } from "../../src/shared/events.ts";
import { notice, text, turnEnd } from "./agy-events.ts";
import { within } from "./condition.ts";
import { FakeLink } from "./fake-link.ts";
import type { Folder } from "./folder.ts";
import { problemsOf } from "./pi-contract.ts";
import { MODEL } from "./pi-message.ts";
import { OWN, user } from "./pi-transcript.ts";
import { STEP_TOOL } from "./turn-stage.ts";

/** A fake process of the pool. */
export class AgyLink extends FakeLink {
	readonly spec: LinkSpec;
	readonly ready: Promise<void>;
	/** What became of it. */
	state: "running" | "idle" | "draining" | "closed" = "running";
	/** Told one prompt after the other, further ones of a turn included. */
	readonly heard: string[] = [];
	/** How often it was given for a turn, and given back: kept, left to drain, or closed. */
	givenOut = 0;
	givenBack = 0;
	readonly #stage: ProviderStage;
	#setReady: () => void = () => {};

	constructor(spec: LinkSpec, stage: ProviderStage) {
		super();
		this.spec = spec;
		this.conversationId = spec.conversationId;
		this.#stage = stage;
		this.ready = new Promise((resolve) => {
			this.#setReady = resolve;
		});
		this.onFollowUp = () => this.#hear(this.followUps.at(-1) ?? "");
	}

	/** agy says who it is: another conversation than the one asked for when that is lost. */
	introduce(model = ""): void {
		const wanted = this.spec.conversationId;
		this.conversationId = wanted === null || this.#stage.lost.has(wanted) ? this.#stage.newConversation() : wanted;
		this.print({ kind: "ready", conversationId: this.conversationId, model, permissionMode: "", toolCount: 0 });
		this.#setReady();
	}

	override submit(...[line, consumer]: Parameters<FakeLink["submit"]>): void {
		super.submit(line, consumer);
		this.#hear(line);
	}

	/** agy has taken the prompt into its conversation. */
	read(prompt: string): void {
		const { told } = this.#stage;
		const conversationId = this.conversationId ?? "";
		told.set(conversationId, [...(told.get(conversationId) ?? []), expand(prompt)]);
		this.print(notice);
	}

	/** A whole turn of text. */
	answer(prompt: string, answer = "ok"): void {
		this.read(prompt);
		this.print(text(answer, 3), this.result({ text: answer }));
	}

	result(more: Partial<TurnEndEvent> = {}): TurnEndEvent {
		return turnEnd({ conversationId: this.conversationId ?? "", ...more });
	}

	#hear(line: string): void {
		const prompt = (JSON.parse(line) as { message: { content: string } }).message.content;
		this.heard.push(prompt);
		setImmediate(() => this.#stage.behave(this, prompt));
	}
}

export class ProviderStage {
	readonly folder: Folder;
	readonly links: AgyLink[] = [];
	/** Prompts each conversation has read, in order. */
	readonly told = new Map<string, readonly string[]>();
	/** Conversations agy does not know any more, and those another pi is on. */
	readonly lost = new Set<string>();
	readonly busy = new Set<string>();
	readonly notices: string[] = [];
	readonly logged: string[] = [];
	/** Idle processes that were ended because the session wanted another profile, over all that was played. */
	recycles = 0;
	/** System prompts that were staged as agent files. */
	readonly staged: string[] = [];
	/** What breaks pi's contract in any message. */
	readonly problems: string[] = [];
	/** pi's transcript. */
	messages: Message[] = [];
	sessionId = "";
	cwd = "";
	binary!: Binary;
	/** What agy does with a prompt. Default: it answers. */
	behave!: (link: AgyLink, prompt: string) => void;
	/** Called before a process is given. */
	onAcquire!: (options: AcquireOptions) => void | Promise<void>;
	stageAgent!: (systemPrompt: string) => Promise<string>;
	findBinary!: () => Promise<Binary>;
	/** Whether pi has the tool that shows agy's steps. */
	hasStepTool = true;
	catalog!: Catalog;
	bindings!: SessionBindings;
	spill!: Spill;
	provider!: Provider;
	bridge!: SessionBridge;
	/** Live, as the provider sees it; changes are for the next turn. */
	config!: { -readonly [K in keyof Config]: Config[K] };
	steps = new Steps();
	#conversationCount = 0;
	#sessionCount = 0;

	/** To be made at the top of a test file. */
	constructor(folder: Folder) {
		this.folder = folder;
		beforeEach(() => this.#reset());
		afterEach(() => this.close());
	}

	get link(): AgyLink {
		return this.links.at(-1) as AgyLink;
	}

	/** The last prompt agy was given. */
	get prompt(): string {
		return this.link.heard.at(-1) ?? "";
	}

	/** What a conversation was told, as one text. */
	toldTo(conversationId: string | null): string {
		return (this.told.get(conversationId ?? "") ?? []).join("\n");
	}

	newConversation(): string {
		return `c${++this.#conversationCount}`;
	}

	/** pi starts with the same files. */
	open(config: Partial<Config> = {}): void {
		const defaults = loadConfig({ PI_CODING_AGENT_DIR: this.folder.path });
		this.config = { ...defaults, ...config };
		this.steps = new Steps();
		this.spill = new Spill(this.folder.at("spill"));
		this.bindings = new SessionBindings(new JsonStore(this.folder.at("sessions.json")), (error) => {
			throw error;
		});
		const session: Session = {
			cwd: this.cwd,
			hasTerminal: true,
			notify: (line) => void this.notices.push(line),
			stepTool: () => (this.hasStepTool ? STEP_TOOL : null),
			nativeTools: () => new Set(),
		};
		this.bridge = new SessionBridge({
			mode: () => "none",
			tools: { all: () => [], active: () => [], skills: () => [] },
			own: new Set(),
			shared: () => {
				throw new Error("no bridge is opened without a tool");
			},
			log: (_level, line) => void this.logged.push(line),
		});
		const starter = new TurnStarter({
			config: this.config,
			engine: streamJsonEngine,
			providerId: OWN,
			hub: () => this.#hub(),
			bindings: this.bindings,
			spill: this.spill,
			steps: this.steps,
			bridge: this.bridge,
			catalog: () => this.catalog,
			activity: new SessionActivity(),
			onBinary: () => {},
			session: () => ({ ...session, cwd: this.cwd }),
		});
		this.provider = new Provider({ starter, log: (_level, line) => void this.logged.push(line) });
	}

	async close(): Promise<void> {
		await within("the end of the provider", this.provider.close());
		for (const link of this.links) this.#end(link, "closed"); // What a turn still remembers of it is written below.
		await this.bindings.settled();
		await this.spill.close();
	}

	/** pi is ended and started again. */
	async restart(config: Partial<Config> = {}): Promise<void> {
		await this.close();
		this.open(config);
	}

	/** Another session of pi, of which nothing is known. */
	async startOver(): Promise<void> {
		await this.close();
		this.#reset();
	}

	binding(): Promise<Binding | null> {
		return this.bindings.find({ sessionId: this.sessionId, engineId: streamJsonEngine.id, cwd: this.cwd });
	}

	/** One message of the provider for the transcript as it is; it is added to it. */
	async ask(options: SimpleStreamOptions = {}): Promise<AssistantMessage> {
		const context = { messages: [...this.messages] } as unknown as TranscriptContext;
		const stream = this.provider.streamSimple(MODEL, context, { sessionId: this.sessionId, ...options });
		const events = [];
		const message = await within("a message", stream.result());
		for await (const event of stream) events.push(event);
		this.problems.push(...problemsOf(events));
		this.messages.push(message);
		return message;
	}

	/** The user speaks, and pi goes on until agy is done. `steer` says what they say after each message with cards. */
	async say(
		content: UserMessage["content"] | readonly UserMessage["content"][],
		options: SimpleStreamOptions = {},
		steer: (card: number) => string | null = () => null,
	): Promise<AssistantMessage> {
		const contents = Array.isArray(content) && content.every((part) => typeof part === "string") ? content : [content];
		for (const part of contents) this.messages.push(user(part as UserMessage["content"]));
		let message = await this.ask(options);
		for (let card = 0; message.stopReason === "toolUse"; card++) {
			await this.runCalls(message);
			const words = steer(card);
			if (words !== null) this.messages.push(user(words));
			message = await this.ask(options);
		}
		return message;
	}

	/** What pi's display tool returns for each call. */
	async runCalls(message: AssistantMessage): Promise<void> {
		for (const block of message.content) {
			if (block.type !== "toolCall") continue;
			const outcome = await within("a step's end", this.steps.outcome(block.id));
			const result: ToolResultMessage = {
				role: "toolResult",
				toolCallId: block.id,
				toolName: block.name,
				content: [{ type: "text", text: outcome.output }],
				isError: false,
				timestamp: Date.now(),
			};
			this.messages.push(result);
		}
	}

	#reset(): void {
		this.sessionId = `s${++this.#sessionCount}`;
		this.messages = [];
		this.cwd = "/srv/demo";
		this.binary = {
			path: "/opt/agy",
			fingerprint: "",
			...toCapabilities({ version: "1.2.9", flags: null, printTimeout: null }, streamJsonEngine.requires),
		};
		this.behave = (link, prompt) => link.answer(prompt);
		this.onAcquire = () => {};
		this.stageAgent = async (systemPrompt) => {
			this.staged.push(systemPrompt);
			return `pi-agy-${this.staged.indexOf(systemPrompt)}`;
		};
		this.findBinary = async () => this.binary;
		this.hasStepTool = true;
		this.catalog = new Catalog([{ slug: MODEL.id, name: "Flash" }], true);
		this.links.length = 0;
		this.told.clear();
		this.lost.clear();
		this.busy.clear();
		for (const list of [this.notices, this.logged, this.staged, this.problems]) list.length = 0;
		this.#conversationCount = 0;
		this.open();
	}

	#hub(): Hub {
		const hub = {
			lanes: { warmUp: () => {} },
			binaries: { find: () => this.findBinary() },
			agentFiles: { stage: (systemPrompt: string) => this.stageAgent(systemPrompt) },
			log: { write: (_level: string, line: string) => void this.logged.push(line) },
			drift: new DriftCounter(),
			links: {
				acquire: (spec: LinkSpec, options: AcquireOptions) => this.#acquire(spec, options),
				release: (link: AgyLink) => this.#takeBack(link, link.spec.sessionId === null ? "closed" : "idle"),
			},
		};
		return hub as unknown as Hub;
	}

	async #acquire(spec: LinkSpec, options: AcquireOptions): Promise<AgyLink> {
		await this.onAcquire(options);
		if (options.signal.aborted) throw new AgyError("cancelled", "Cancelled before agy was started.");
		const isLike = (link: AgyLink) => JSON.stringify(link.spec.profile) === JSON.stringify(spec.profile);
		const fits = (link: AgyLink) =>
			link.state === "idle" &&
			link.spec.sessionId === spec.sessionId &&
			isLike(link) &&
			(link.conversationId === spec.conversationId ||
				(link.turns === 0 && link.spec.conversationId === spec.conversationId));
		const idle = spec.sessionId === null ? undefined : this.links.find(fits);
		if (idle) {
			idle.state = "running";
			idle.givenOut++;
			return idle;
		}
		for (const link of this.links) {
			// One that still runs is its turn's to end.
			if (link.spec.sessionId !== spec.sessionId || link.state === "running") continue;
			if (link.state === "idle" && !isLike(link)) this.recycles++;
			this.#end(link, "closed");
		}
		if (spec.conversationId !== null && this.busy.has(spec.conversationId)) {
			throw new AgyError("conversation-busy", "Another pi process is working on this conversation.");
		}
		const link = new AgyLink(spec, this);
		const real = Object.assign(link, {
			drain: () => this.#takeBack(link, "draining"),
			close: async () => this.#takeBack(link, "closed"),
		});
		real.givenOut++;
		this.links.push(real);
		if (this.binary.namesItselfFirst) link.introduce();
		return real;
	}

	#takeBack(link: AgyLink, state: AgyLink["state"]): void {
		link.givenBack++;
		this.#end(link, state);
	}

	#end(link: AgyLink, state: AgyLink["state"]): void {
		if (link.state === "closed") return;
		link.state = state;
		link.release();
	}
}

/** A prompt with the files it points to in place of their names, where they are still there. */
function expand(prompt: string): string {
	return prompt.replaceAll(/is in the file (\S+\.md)[.,]/g, (whole, path: string) =>
		existsSync(path) ? `${whole}\n${readFileSync(path, "utf8")}\n` : whole,
	);
}
