/**
 * From a request of pi to a turn ready to start: which agy, which model, which conversation, which process, what prompt.
 * Whatever is missing throws an AgyError with the remedy, before anything was sent.
 */

import { randomUUID } from "node:crypto";
import type { ToolResultMessage } from "@earendil-works/pi-ai";
import { AgyError, toError } from "../shared/errors.ts";
import { READY_WAIT_MS } from "../shared/limits.ts";
import type { SessionActivity } from "./activity/session-activity.ts";
import type { Binary } from "./binary.ts";
import { brainDirOf, transcriptPathOf } from "./brain.ts";
import { type BridgeDoor, renderLate, type SessionBridge } from "./bridge/session-bridge.ts";
import { StepFiles } from "./cards/step-files.ts";
import { type Config, requireRunnable, turnTimeoutMinOf } from "./config.ts";
import { Conversation, userSection } from "./conversation.ts";
import { settlesWithin } from "./deadline.ts";
import type { LifecycleEvent } from "./diagnostics/lifecycle.ts";
import { renderTranscript } from "./digest.ts";
import type { Engine, Profile } from "./engines/engine.ts";
import { planHistory } from "./history.ts";
import type { Hub } from "./hub.ts";
import type { Link, LinkSpec } from "./link.ts";
import type { Catalog } from "./models.ts";
import { runCommand } from "./processes/run.ts";
import { composePrompt, renderUserMessages, toFileSection } from "./prompt.ts";
import { type Ask, type RunningTurn, toSegment } from "./provider.ts";
import type { SessionBindings } from "./sessions.ts";
import type { Spill } from "./spill.ts";
import type { Steps } from "./steps.ts";
import { Turn } from "./turn.ts";
import type { TurnEnd, TurnOptions } from "./turn-contract.ts";
import type { Verdict } from "./verdict.ts";

/** What is needed of the pi session that is served. */
export type Session = {
	readonly cwd: string;
	readonly hasTerminal: boolean;
	/** Shows the user a line, where there is a screen. */
	notify(text: string, level: "info" | "warning"): void;
	/** Name of the display tool while pi can run it, else null. */
	stepTool(): string | null;
	/** Names of pi's own tools that it can run now; another extension's tool of such a name is none. */
	nativeTools(): ReadonlySet<string>;
};

export type TurnStarterOptions = {
	/** Looked at when a turn begins; what changes meanwhile is for the next one. */
	readonly config: Config;
	readonly engine: Engine;
	readonly providerId: string;
	readonly hub: () => Hub;
	readonly bindings: SessionBindings;
	readonly spill: Spill;
	readonly steps: Steps;
	readonly bridge: SessionBridge;
	readonly catalog: () => Catalog;
	/** Told of what agy runs by itself in the user's session. */
	readonly activity: Pick<SessionActivity, "note">;
	/** Told for each turn which agy it runs on. */
	readonly onBinary: (binary: Binary) => void;
	readonly session: () => Session;
};

export type TurnOwner = {
	/** True when the owner sends the prompt again and takes the message over. */
	onRetry(verdict: Verdict): boolean;
	onEnd(turn: Turn): void;
};

const PLAN_WARNING =
	"agy's plan mode is no protection: after its plan agy goes on by itself and may change files (agy 1.1.28 and newer).";

type LinkTarget = {
	readonly config: Config;
	readonly sessionId: string;
	readonly profile: Profile;
	readonly binary: Binary;
	/** Called for the conversation as it stands then. */
	readonly compose: () => Promise<string>;
};

export class TurnStarter {
	readonly #options: TurnStarterOptions;
	/** What the user was told once and need not hear again. */
	readonly #told = new Set<string>();

	constructor(options: TurnStarterOptions) {
		this.#options = options;
	}

	/** A turn of the user's session. Null when it was aborted on the way; nothing was sent then. */
	async startSession(
		ask: Ask,
		sessionId: string,
		isFresh: boolean,
		owner: TurnOwner,
	): Promise<(RunningTurn & { readonly prompt: string }) | null> {
		const { engine, providerId, bindings, spill, bridge } = this.#options;
		const config = { ...this.#options.config };
		const session = this.#options.session();
		const hub = this.#options.hub();
		const files = config.steps === "cards" ? this.#watchFiles(config, hub, session.cwd, ask.signal) : null;
		const { binary, slug } = await this.#choose(config, ask, hub);
		const door = await this.#openBridge(sessionId);
		const instructions = toInstructions(config.systemPrompt ? ask.instructions : "", door);
		const rideInFile = instructions !== "" && config.agent === null && !binary.missingFlags.includes("agent");
		const agentFile = rideInFile ? await this.#stageAgent(hub, instructions) : null;
		const key = { sessionId, engineId: engine.id, cwd: session.cwd };
		const conversation = await Conversation.open(
			{
				key,
				bindings,
				spill,
				providerId,
				digest: config.digest,
				inlineInstructions: agentFile === null ? instructions : "",
				encode: (text) => engine.encodePrompt(engine.payload(text)),
			},
			ask.messages,
			isFresh,
		);
		const profile = await this.#profile(config, binary, session, slug, config.agent ?? agentFile, door);
		const late = bridge.takeLate();
		if (late.length > 0) conversation.defer(late.map(renderLate).join("\n\n"));
		const compose = async () => {
			requireRunnable(this.#options.config); // Switched on while the turn was on its way.
			return this.#toPrompt(config, ask, await conversation.compose(), binary);
		};
		const target = { config, sessionId, profile, binary, compose };
		bridge.expectTurn();
		const { link, prompt } = await this.#openLink(ask, hub, conversation, target).catch((error: unknown) => {
			bridge.giveBack(late);
			bridge.giveUpTurn();
			throw error;
		});
		if (ask.signal.aborted) {
			bridge.giveBack(late);
			bridge.giveUpTurn();
			hub.links.release(link);
			return null;
		}
		if (conversation.rebuildReason !== "") {
			session.notify(
				`agy starts a fresh conversation with this session's history, because ${conversation.rebuildReason}.`,
				"info",
			);
		}
		conversation.submitted();
		hub.log.write("debug", `a turn starts on agy ${link.pid}`, {
			event: "turn-start",
			pid: link.pid,
			turn: link.turns + 1,
			model: slug,
		});
		const turn: Turn = new Turn(
			{
				...this.#commonOptions(config, link, session, binary),
				stepDisplay: () => {
					const tool = config.steps === "cards" ? session.stepTool() : null;
					if (tool === null) return { as: "line" };
					return { as: "card", tool, nativeTools: session.nativeTools, cwd: session.cwd };
				},
				files,
				onStep: (conversationId, event) => this.#options.activity.note(conversationId, event),
				isBridged: (event) => bridge.isBridged(event),
				takeLate: () => bridge.takeLate().map(renderLate).join("\n\n"),
				usageBefore: conversation.usageBefore,
				onConversation: (conversationId, model) => {
					if (!conversation.named(conversationId)) {
						this.#tellOnce(
							`agy does not know the conversation any more and started ${conversationId}; it gets the session's history with the next prompt.`,
						);
					}
					if (model !== "" && model !== slug) this.#tellOnce(`agy runs the model ${model}, not ${slug} as asked.`);
				},
				onRead: (followUp) => conversation.read(followUp),
				onMessage: (stream) => conversation.said(stream),
				onRetry: (verdict) => owner.onRetry(verdict),
				onEnd: (end) => {
					bridge.ended(turn, end.verdict.stop === "aborted");
					if (!end.verdict.keepsConversation || !end.wasRead) bridge.giveBack(late);
					if (!end.verdict.keepsConversation) conversation.forget();
					else if (end.wasRead) conversation.ended(end.undelivered, end.counters);
					else conversation.revert();
					this.#finish(hub, link, end);
					owner.onEnd(turn);
				},
			},
			toSegment(ask),
		);
		bridge.serve(turn);
		return { turn, conversation, prompt };
	}

	/** Results of pi's tools, should pi not have told of them when they came. */
	takeResults(results: readonly ToolResultMessage[]): void {
		for (const result of results) this.#options.bridge.finished(result.toolCallId, result, result.isError);
	}

	/** A side request: nothing of it is remembered. Null when it was aborted on the way. */
	async startSide(ask: Ask): Promise<Turn | null> {
		const { engine, spill } = this.#options;
		const config = { ...this.#options.config };
		const session = this.#options.session();
		const hub = this.#options.hub();
		const { binary, slug } = await this.#choose(config, ask, hub);
		const profile = { ...(await this.#profile(config, binary, session, slug, null, null)), skipPermissions: false };
		const { context, prompt } = planHistory(ask.messages, "", null);
		const history =
			context.length === 0 ? [] : [await toFileSection("the conversation so far", renderTranscript(context), spill)];
		const sections = [
			{ name: "the text of your instructions", heading: "", text: ask.instructions },
			...history,
			userSection(await renderUserMessages(prompt, spill)),
		];
		const text = await composePrompt(sections, (part) => engine.encodePrompt(engine.payload(part)), spill);
		const encoded = await this.#toPrompt(config, ask, text, binary);
		const link = await hub.links.acquire(
			{
				sessionId: null,
				engine,
				profile,
				conversationId: null,
				env: config.childEnv,
				run: this.#toRun(config, encoded),
			},
			{ signal: ask.signal, onWait: () => {} },
		);
		if (ask.signal.aborted) {
			hub.links.release(link);
			return null;
		}
		const turn = new Turn(
			{
				...this.#commonOptions(config, link, session, binary),
				stepDisplay: () => ({ as: "hidden" }),
				files: null,
				usageBefore: { input: 0, output: 0, thinking: 0, cacheRead: 0 },
				onConversation: () => {},
				onRead: () => {},
				onMessage: () => {},
				onRetry: () => false,
				onEnd: (end) => this.#finish(hub, link, end),
			},
			toSegment(ask),
		);
		turn.start(encoded);
		return turn;
	}

	async #choose(config: Config, ask: Ask, hub: Hub): Promise<{ readonly binary: Binary; readonly slug: string }> {
		requireRunnable(config);
		const choice = this.#options.catalog().choose(ask.model.id, ask.options.reasoning);
		if (!choice.ok) throw new AgyError("model-unknown", choice.message);
		hub.lanes.warmUp(this.#options.engine.laneKind);
		const binary = await hub.binaries.find(config, this.#options.engine.requires);
		if (binary.warning !== null) this.#tellOnce(binary.warning);
		this.#requireFlagsOf(config, binary);
		if (config.mode === "plan") this.#tellOnce(PLAN_WARNING);
		this.#options.onBinary(binary);
		return { binary, slug: choice.slug };
	}

	/** A setting that this agy has no flag for must not be dropped in silence. */
	#requireFlagsOf({ mode, agent, provenance }: Config, { version, missingFlags }: Binary): void {
		const asked = [...(mode === "default" ? [] : ["mode"]), ...(agent === null ? [] : ["agent"])];
		const missing = asked.find((flag) => missingFlags.includes(flag));
		if (missing === undefined) return;
		const source = provenance[missing] ?? `AGY_${missing.toUpperCase()}`;
		throw new AgyError(
			"agy-too-old",
			`${source} is set, and agy ${version} has no --${missing}. Run \`agy update\`, or unset ${source}.`,
		);
	}

	/**
	 * The process for the turn, and the prompt for it. One that resumes has to confirm the conversation before it gets a
	 * prompt; when it names another, or another pi is on it, a fresh conversation is started instead. A one-shot process is
	 * started with its prompt and can confirm nothing before.
	 */
	async #openLink(
		ask: Ask,
		hub: Hub,
		conversation: Conversation,
		{ config, sessionId, profile, binary, compose }: LinkTarget,
	): Promise<{ readonly link: Link; readonly prompt: string }> {
		const { engine } = this.#options;
		const session = this.#options.session();
		for (;;) {
			const conversationId = conversation.resumes;
			const early = engine.isOneShot ? await compose() : null;
			const link = await hub.links
				.acquire(
					{
						sessionId,
						profile,
						engine,
						conversationId,
						env: config.childEnv,
						run: early === null ? null : this.#toRun(config, early),
					},
					{
						signal: ask.signal,
						onWait: () => session.notify("All agy processes are busy; the turn waits for one.", "info"),
					},
				)
				.catch((error: unknown) => {
					if (conversationId === null || !(error instanceof AgyError) || error.code !== "conversation-busy")
						throw error;
					this.#tellOnce(`${error.message} This session goes on with a fresh one that gets its history.`);
					return null;
				});
			if (link !== null && early !== null) return { link, prompt: early };
			if (link !== null) {
				if (binary.namesItselfFirst && link.turns === 0) await settlesWithin(link.ready, READY_WAIT_MS, ask.signal);
				const isFit = ask.signal.aborted || conversationId === null || link.conversationId === conversationId;
				if (isFit) return { link, prompt: await this.#orRelease(hub, link, compose) };
				this.#tellOnce(
					`agy does not know the conversation ${conversationId} any more; a fresh one gets the session's history.`,
				);
				void link.close();
			}
			conversation.giveUp();
		}
	}

	#toRun(config: Config, prompt: string): LinkSpec["run"] {
		const { engine } = this.#options;
		return engine.isOneShot ? { prompt, conversationsDir: config.conversationsDir } : null;
	}

	/** Where agy's slash commands are on, in plan mode for one, a text that begins like one must not be taken for it. */
	#asPlainText({ mode }: Config, text: string, binary: Binary): string {
		const hasCommands = mode === "plan" || binary.missingFlags.includes("disable-slash-commands");
		return hasCommands && text.startsWith("/") ? `The user says: ${text}` : text;
	}

	/** Gives pi's hook the payload and takes its replacement. */
	async #toPrompt(config: Config, { options, model }: Ask, text: string, binary: Binary): Promise<string> {
		const { engine } = this.#options;
		const payload = engine.payload(this.#asPlainText(config, text, binary));
		return engine.encodePrompt(engine.parsePayload(await options.onPayload?.(payload, model)) ?? payload);
	}

	/** A link that gets no prompt goes back to the pool. */
	async #orRelease<T>(hub: Hub, link: Link, work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			hub.links.release(link);
			throw error;
		}
	}

	async #stageAgent(hub: Hub, instructions: string): Promise<string | null> {
		return hub.agentFiles.stage(instructions).catch((error: unknown) => {
			hub.log.write(
				"error",
				`pi's system prompt could not be staged as an agent file and goes with the prompt: ${String(error)}`,
			);
			return null;
		});
	}

	/** Without its bridge the turn is still of use: the user is told why pi's tools are missing. */
	async #openBridge(sessionId: string): Promise<BridgeDoor | null> {
		return this.#options.bridge.open(sessionId).catch((error: unknown) => {
			this.#tellOnce(`agy cannot use pi's tools: ${toError(error).message}`);
			return null;
		});
	}

	async #profile(
		{ mode, skipPermissions, extraArgs }: Config,
		binary: Binary,
		session: Session,
		modelSlug: string,
		agent: string | null,
		door: BridgeDoor | null,
	): Promise<Profile> {
		const addDirs = [await this.#options.spill.directory(), ...(door === null ? [] : [door.addDir])];
		const { path: bin, missingFlags } = binary;
		return { bin, cwd: session.cwd, addDirs, modelSlug, mode, skipPermissions, agent, missingFlags, extraArgs };
	}

	#commonOptions(
		config: Config,
		link: Link,
		session: Session,
		binary: Binary,
	): Pick<
		TurnOptions,
		| "id"
		| "link"
		| "steps"
		| "takesFollowUps"
		| "inactivityTimeoutMin"
		| "turnTimeoutMin"
		| "encodePrompt"
		| "transcriptPath"
	> {
		const { engine, steps } = this.#options;
		return {
			id: `agy-${randomUUID()}`,
			link,
			steps,
			takesFollowUps: !engine.isOneShot,
			inactivityTimeoutMin: config.inactivityTimeoutMin,
			turnTimeoutMin: turnTimeoutMinOf(config, session.hasTerminal),
			encodePrompt: (text) => engine.encodePrompt(engine.payload(this.#asPlainText(config, text, binary))),
			transcriptPath: (conversationId) => transcriptPathOf(config, conversationId),
		};
	}

	#watchFiles(config: Config, hub: Hub, cwd: string, signal: AbortSignal): StepFiles {
		const { childEnv } = config;
		return new StepFiles({
			cwd,
			runGit: (args, limits) => runCommand({ bin: "git", args, env: childEnv, signal, ...limits }, hub.registry),
			brainDir: (conversationId) => brainDirOf(config, conversationId),
		});
	}

	#finish(hub: Hub, link: Link, { verdict }: TurnEnd): void {
		const { kind, summary, detail, stop } = verdict;
		const where = `agy ${link.pid}, conversation ${link.conversationId ?? "unnamed"}, turn ${link.turns} of the process`;
		hub.log.write(stop === "error" ? "error" : "info", `turn ${kind}: ${summary} ${detail} (${where})`, {
			event: endEventOf(verdict),
			kind,
			pid: link.pid,
			turn: link.turns,
		});
		if (kind === "crashed") hub.drift.add("exit", shapeOfExit(link));
		if (link.stderrTail !== "") hub.log.write("debug", `agy ${link.pid} wrote to stderr: ${link.stderrTail}`);
		if (verdict.process === "keep") hub.links.release(link);
		else if (verdict.process === "drain") link.drain();
		else void link.close();
	}

	#tellOnce(text: string): void {
		if (this.#told.has(text)) return;
		this.#told.add(text);
		this.#options.hub().log.write("warn", text);
		this.#options.session().notify(text, "warning");
	}
}

/** What agy has to know to use pi's tools, behind pi's own instructions. */
function toInstructions(instructions: string, door: BridgeDoor | null): string {
	if (door === null) return instructions;
	const note = `The tools of the user's coding agent pi are offered by the MCP server ${door.serverName}. Use that server only, and no other whose name begins with pi_: those belong to other sessions. Use its tools where they fit better than your own, above all to ask the user something. A call may answer STILL RUNNING with a call id: go on with other work and get the result later with the tool bridge_poll_result.`;
	return instructions === "" ? note : `${instructions}\n\n${note}`;
}

function endEventOf({ kind, stop }: Verdict): LifecycleEvent {
	if (kind === "timed-out") return "timeout";
	if (stop === "aborted") return "abort";
	return stop === "error" ? "turn-error" : "turn-end";
}

/** How a process ended by itself, and the word that its last line on stderr begins with ("panic:"), if it does with one. */
function shapeOfExit({ exit, stderrTail }: Link): string {
	const how = exit?.signal ?? `code-${exit?.code ?? "unknown"}`;
	const word = /^[a-z][a-z_-]{1,20}(?=:)/i.exec(stderrTail.trimEnd().split("\n").at(-1) ?? "")?.[0];
	return word === undefined ? how : `${how}:${word}`;
}
