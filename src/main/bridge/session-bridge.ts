/**
 * The bridge of one pi session: which turn gets agy's calls, and what becomes of pi's results.
 *
 * It is opened with the first turn that may use it and closed with the session. A call goes to the turn that runs; pi runs
 * the tool and its result completes the call as soon as it is there. What came too late is told with the next words to
 * the same conversation.
 */

import type { Skill } from "@earendil-works/pi-coding-agent";
import { toError } from "../../shared/errors.ts";
import type { JsonObject, ToolEvent } from "../../shared/events.ts";
import type { LogWriter } from "../log.ts";
import { MCP_CALL } from "./bridge-calls.ts";
import { serverNameOf } from "./bridge-record.ts";
import { type BridgeMode, type PiTool, toCatalog } from "./catalog.ts";
import type { BridgeServer, CallResult, ContentBlock, OpenEndpoint } from "./mcp-server.ts";
import { type CallCounts, type ParkedCall, ParkedCalls, POLL_TOOL } from "./parked-calls.ts";
import type { Registered, Registration } from "./registration.ts";
import { toSessionEndpoint } from "./session-endpoint.ts";
import { toBridgeSkills } from "./skills.ts";

/** The part of a turn that the bridge sees. */
export type CallTaker = {
	/** False when the turn is over. */
	takeCall(call: ParkedCall): boolean;
};

/** What is needed of the pi session whose tools are offered. */
export type PiTools = {
	all(): readonly PiTool[];
	/** Names of those that are declared to a model now. */
	active(): readonly string[];
	skills(): readonly Skill[];
};

export type BridgeDoor = { readonly addDir: string; readonly serverName: string };

export type SessionBridgeOptions = {
	/** Asked for each list and call. */
	readonly mode: () => BridgeMode;
	readonly tools: PiTools;
	/** Names of the tools that we register with pi ourselves. */
	readonly own: ReadonlySet<string>;
	/** What the sessions of the process share. */
	readonly shared: () => { readonly server: BridgeServer; readonly registration: Registration };
	readonly log: LogWriter;
};

/** The bridge as it is for who wants to know. */
export type BridgeStatus = CallCounts & {
	readonly mode: BridgeMode;
	/** Null as long as it has not been needed. */
	readonly port: number | null;
	readonly serverName: string | null;
	/** Names of the tools agy may use now. */
	readonly offered: readonly string[];
	/** So far. */
	readonly calls: number;
	readonly escalations: number;
	readonly lateResults: number;
};

/** What comes of a call after that is of no interest to anybody. */
const STOPPED = "the user stopped the turn";

export class SessionBridge {
	/** Tools that the user keeps from agy in this session. */
	readonly hidden = new Set<string>();
	readonly #options: SessionBridgeOptions;
	readonly #parked: ParkedCalls;
	readonly #late: LateResult[] = [];
	#turn: CallTaker | null = null;
	/** Turns on their way, and the calls that wait for them: agy may be started with its prompt, and be faster. */
	#expected = 0;
	readonly #early: ParkedCall[] = [];
	#door: Promise<BridgeDoor | null> | null = null;
	#serverName: string | null = null;
	#endpoint: OpenEndpoint | null = null;
	#registered: Registered | null = null;
	#isClosed = false;
	readonly #counts = { calls: 0, escalations: 0, lateResults: 0 };

	constructor(options: SessionBridgeOptions) {
		this.#options = options;
		this.#parked = new ParkedCalls({
			deliver: (call) => this.#turn?.takeCall(call) ?? this.#keepEarly(call),
			onStage: (event, tool) => {
				if (event === "call-tool") this.#counts.calls++;
				if (event === "call-tool-escalated") this.#counts.escalations++;
				options.log("debug", `bridge: ${event} ${tool}`, { event, tool });
			},
		});
	}

	get status(): BridgeStatus {
		return {
			mode: this.#options.mode(),
			port: this.#endpoint === null ? null : Number(new URL(this.#endpoint.url).port),
			serverName: this.#serverName,
			offered: this.offered(),
			...this.#parked.counts,
			...this.#counts,
		};
	}

	/**
	 * What agy has to be started with; null when the bridge is off, or there is nothing to offer. Throws an AgyError when
	 * agy cannot be told of it; the next turn tries again.
	 */
	open(sessionId: string): Promise<BridgeDoor | null> {
		if (this.#isClosed || this.#options.mode() === "none") return Promise.resolve(null);
		if (this.#door === null && this.offered().length === 0) return Promise.resolve(null);
		this.#door ??= this.#open(sessionId).catch(async (error: unknown) => {
			this.#door = null;
			await this.#letGo();
			throw error;
		});
		return this.#door;
	}

	/** A turn is on its way: calls wait until it is served, or given up. */
	expectTurn(): void {
		this.#expected++;
	}

	/** A turn that was expected does not come. */
	giveUpTurn(): void {
		if (--this.#expected === 0) for (const call of this.#early.splice(0)) call.drop?.();
	}

	/** The turn that was expected is here. From now on agy's calls are its own. */
	serve(turn: CallTaker): void {
		this.#expected--;
		this.#turn = turn;
		for (const call of this.#early.splice(0)) if (!turn.takeCall(call)) call.drop?.();
	}

	/** The turn is over: nobody runs the calls that wait. `isAborted` also ends those that agy would poll for. */
	ended(turn: CallTaker, isAborted: boolean): void {
		if (this.#turn !== turn) return;
		this.#turn = null;
		if (isAborted) this.#parked.abort(STOPPED);
		else this.#parked.endTurn("the turn has ended");
	}

	/** agy's own report of a call that pi runs, and shows, itself; or of agy's look at what such a call takes. */
	isBridged({ name, args }: ToolEvent): boolean {
		const server = this.#serverName;
		if (server === null) return false;
		if (name === MCP_CALL) return args.ServerName === server;
		return name === "view_file" && String(args.AbsolutePath).includes(`/mcp/${server}/`);
	}

	/** A tool of pi's goes on; `partial` is its result so far, in pi's form. */
	progressed(callId: string, partial: unknown): void {
		const text = textOf(toCallResult(partial, false));
		if (text !== "") this.#parked.progress(callId, text);
	}

	/** A tool of pi's has ended. Calls of others are passed by; told twice, it is the first that counts. */
	finished(callId: string, result: unknown, isError: boolean): void {
		const outcome = toCallResult(result, isError);
		if (this.#parked.settle(callId, outcome) !== "late") return;
		const failure = this.#parked.failureOf(callId);
		if (!failure || failure.reason === STOPPED) return;
		this.#counts.lateResults++;
		this.#options.log("debug", `bridge: a result of ${failure.tool} came late`, {
			event: "late-result",
			tool: failure.tool,
		});
		this.#late.push({ ...failure, result: outcome });
	}

	/** What came of calls that agy no longer waits for, each once. */
	takeLate(): readonly LateResult[] {
		const unpolled = this.#parked.takeUnpolled();
		return [...this.#late.splice(0), ...unpolled.map(({ tool, result }) => ({ tool, reason: "", result }))];
	}

	/** agy was not told after all: they come with the next `takeLate`. */
	giveBack(late: readonly LateResult[]): void {
		this.#late.unshift(...late);
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		this.#parked.abort("the session has ended");
		await this.#door?.catch(() => {}); // Whoever opened it was told.
		await this.#letGo();
	}

	/** False when no turn is on its way. */
	#keepEarly(call: ParkedCall): boolean {
		if (this.#expected === 0) return false;
		this.#early.push(call);
		return true;
	}

	async #open(sessionId: string): Promise<BridgeDoor> {
		const { server, registration } = this.#options.shared();
		const serverName = await serverNameOf(sessionId);
		this.#serverName = serverName;
		this.#endpoint = await server.open(
			toSessionEndpoint({
				name: serverName,
				catalog: () => this.#catalog(),
				skills: () => toBridgeSkills(this.#options.tools.skills()),
				parked: this.#parked,
			}),
		);
		const { url, headers } = this.#endpoint;
		this.#registered = await registration.register({ serverName, url, headers });
		return { addDir: this.#registered.addDir, serverName };
	}

	/** Names of what agy is offered, but those in `hidden`. The tool that asks for results is of no use alone. */
	offered(hidden: ReadonlySet<string> = this.hidden): readonly string[] {
		return this.#catalog(hidden)
			.map(({ name }) => name)
			.filter((name) => name !== POLL_TOOL);
	}

	#catalog(hidden: ReadonlySet<string> = this.hidden): ReturnType<typeof toCatalog> {
		const { mode, tools, own } = this.#options;
		return toCatalog({
			tools: tools.all(),
			active: tools.active(),
			mode: mode(),
			hidden,
			own,
			skills: toBridgeSkills(tools.skills()),
		});
	}

	async #letGo(): Promise<void> {
		this.#endpoint?.close();
		this.#endpoint = null;
		await this.#registered?.remove().catch((error: unknown) => this.#options.log("error", toError(error).message));
		this.#registered = null;
	}
}

/** A result that agy has not got. `reason` says why; "" when it was to ask for it and did not. */
export type LateResult = { readonly tool: string; readonly reason: string; readonly result: CallResult };

/** What agy is told of it. Images are not part of it. */
export function renderLate({ tool, reason, result }: LateResult): string {
	const why = reason === "" ? "" : ` Its call had failed: ${reason}.`;
	const what = result.isError ? "failed" : "finished";
	const images = result.content.filter((block) => block.type === "image").length;
	const left = images > 0 ? `\n[${images} images of the result are not shown]` : "";
	return `The tool ${tool} that you called earlier has ${what}.${why} Its result:\n\n${textOf(result) || "(no text)"}${left}`;
}

function textOf({ content }: CallResult): string {
	return content.flatMap((block) => (block.type === "text" ? block.text : [])).join("\n");
}

/** pi's form of a tool's result, which other extensions may have changed. */
function toCallResult(value: unknown, isError: boolean): CallResult {
	const { content, structuredContent } = (value ?? {}) as {
		readonly content?: unknown;
		readonly structuredContent?: unknown;
	};
	const blocks = Array.isArray(content) ? content.filter(isContentBlock) : [];
	return {
		content: blocks,
		isError,
		...(isObject(structuredContent) && { structuredContent }),
	};
}

function isContentBlock(value: unknown): value is ContentBlock {
	if (!isObject(value)) return false;
	if (value.type === "text") return typeof value.text === "string";
	return value.type === "image" && typeof value.data === "string" && typeof value.mimeType === "string";
}

function isObject(value: unknown): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
