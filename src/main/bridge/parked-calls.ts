/**
 * The calls of one session that agy makes through the bridge and pi answers. A call's life:
 *
 *   parked ──► answered            pi's result completes the request
 *     │ └────► failed              turn's end, abort, agy gone, too long
 *     └──────► running ─► finished agy was told "still running" and asks for the result later
 *                  └────► failed   abort, too long
 *
 * A failed call leaves a tombstone, so that a result that comes late can still be told. A call is answered once, an id is
 * never used again. Timers here keep no process alive.
 */

import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../shared/events.ts";
import type { BridgeTool, CallResult, IncomingCall } from "./mcp-server.ts";

/** agy abandons a call at about 180 s. Most tools take less than this, and then one answer is cheaper than two. */
export const ESCALATE_AFTER_MS = 20_000;
/** A call that could not be escalated: far beyond the time after which agy has left. */
export const PARK_TIMEOUT_MS = 480_000;
/** An escalated call: as long as a build or a test run may take. */
export const RUNNING_TIMEOUT_MS = 30 * 60_000;
/** Escalated calls that are remembered. One that runs, or whose result nobody has seen, is never given up for another. */
export const MAX_ESCALATED = 64;
/** Failed calls that are remembered for their late results; the oldest go first. */
export const MAX_TOMBSTONES = 64;
/** The end of a running tool's output that a poll shows: a few lines. */
const PROGRESS_TAIL_CHARS = 500;

export const POLL_TOOL = "bridge_poll_result";

/** A call on its way to pi. */
export type ParkedCall = {
	readonly id: string;
	readonly tool: string;
	readonly args: JsonObject;
	/** pi will never be given it. */
	readonly drop?: () => void;
};

/** What became of pi's result: see ParkedCalls.settle. */
export type Settled = "answered" | "kept" | "late" | "unknown";

type Tombstone = { readonly tool: string; readonly reason: string; isTold: boolean };

type Parked = {
	readonly phase: "parked";
	readonly id: string;
	readonly tool: string;
	readonly onProgress: IncomingCall["onProgress"];
	/** Ends timers and listeners, and completes the request. */
	readonly answer: (result: CallResult) => void;
};

type Running = {
	readonly phase: "running";
	readonly id: string;
	readonly tool: string;
	readonly timeout: NodeJS.Timeout;
	progress: string;
};

type Finished = {
	readonly phase: "finished";
	readonly id: string;
	readonly tool: string;
	readonly result: CallResult;
	/** agy has polled it, or was told by a message. */
	isSeen: boolean;
};

type Call = Parked | Running | Finished;

export type CallStage = "call-tool" | "call-tool-ok" | "call-tool-failed" | "call-tool-escalated";

/** How many calls are where. */
export type CallCounts = { readonly parked: number; readonly escalated: number; readonly unseen: number };

export class ParkedCalls {
	readonly #deliver: (call: ParkedCall) => boolean;
	readonly #onStage: (stage: CallStage, tool: string) => void;
	readonly #calls = new Map<string, Call>();
	readonly #tombstones = new Map<string, Tombstone>();

	/** `deliver` hands a call to the live turn, or returns false when there is none. */
	constructor(options: {
		readonly deliver: (call: ParkedCall) => boolean;
		/** What becomes of calls, for the log. */
		readonly onStage?: (stage: CallStage, tool: string) => void;
	}) {
		this.#deliver = options.deliver;
		this.#onStage = options.onStage ?? (() => {});
	}

	get counts(): CallCounts {
		const calls = [...this.#calls.values()];
		return {
			parked: calls.filter(({ phase }) => phase === "parked").length,
			escalated: calls.filter(({ phase }) => phase === "running").length,
			unseen: calls.filter((call) => call.phase === "finished" && !call.isSeen).length,
		};
	}

	/** Whether pi owes a result: to a waiting request, or to an escalated call. */
	get hasOpen(): boolean {
		return [...this.#calls.values()].some((call) => call.phase !== "finished");
	}

	/** Resolves with pi's result, with "still running", or with a sentence why there is none. Throws what `deliver` throws. */
	call({ tool, args, signal, onProgress }: IncomingCall): Promise<CallResult> {
		const id = `pi-${randomBytes(6).toString("hex")}`;
		return new Promise((resolve, reject) => {
			const giveUp = () => this.#fail(id, "agy gave the call up before pi had its result");
			const expire = () => this.#fail(id, `pi had no result within ${PARK_TIMEOUT_MS / 1_000} s`);
			const timeout = setTimeout(expire, PARK_TIMEOUT_MS).unref();
			const escalation = setInterval(() => this.#escalate(id), ESCALATE_AFTER_MS).unref();
			const stopWaiting = () => {
				clearTimeout(timeout);
				clearInterval(escalation);
				signal.removeEventListener("abort", giveUp);
			};
			const answer = (result: CallResult) => {
				stopWaiting();
				resolve(result);
			};
			this.#calls.set(id, { phase: "parked", id, tool, onProgress, answer });
			this.#onStage("call-tool", tool);
			signal.addEventListener("abort", giveUp, { once: true });
			try {
				if (signal.aborted) giveUp();
				else if (!this.#deliver({ id, tool, args, drop: () => this.#fail(id, "the turn ended before pi ran it") })) {
					this.#calls.delete(id);
					answer(toFailure(`pi cannot run ${tool} now: no turn is running. Try again in the next turn.`));
				}
			} catch (error) {
				this.#calls.delete(id);
				stopWaiting();
				reject(error);
			}
		});
	}

	/**
	 * pi's result has come. "answered": the request got it. "kept": agy was told to poll for it. "late": its call had
	 * failed, see failureOf; the caller tells agy. "unknown": no call of this session, or one that was settled before.
	 */
	settle(id: string, result: CallResult): Settled {
		const call = this.#calls.get(id);
		if (call?.phase === "parked") {
			this.#calls.delete(id);
			this.#onStage(result.isError ? "call-tool-failed" : "call-tool-ok", call.tool);
			call.answer(result);
			return "answered";
		}
		if (call?.phase === "running") {
			clearTimeout(call.timeout);
			this.#calls.set(id, { phase: "finished", id, tool: call.tool, result, isSeen: false });
			this.#onStage(result.isError ? "call-tool-failed" : "call-tool-ok", call.tool);
			return "kept";
		}
		const tombstone = this.#tombstones.get(id);
		if (!tombstone || tombstone.isTold) return "unknown";
		tombstone.isTold = true;
		return "late";
	}

	/** Why a call failed; null when it has not, or when it was too long ago. */
	failureOf(id: string): { readonly tool: string; readonly reason: string } | null {
		return this.#tombstones.get(id) ?? null;
	}

	/** What a tool has printed so far: passed on to a request that asked for it, or kept for a poll. */
	progress(id: string, text: string): void {
		const call = this.#calls.get(id);
		if (call?.phase === "parked") call.onProgress?.(text);
		if (call?.phase === "running") call.progress = text.slice(-PROGRESS_TAIL_CHARS);
	}

	/** Answers the poll tool. A result may be asked for again until the turn ends. */
	poll(args: JsonObject): CallResult {
		const id = args.callId;
		if (typeof id !== "string") return toFailure(`${POLL_TOOL} needs the callId that a "still running" answer named.`);
		const call = this.#calls.get(id);
		const tombstone = this.#tombstones.get(id);
		if (call?.phase === "finished") {
			call.isSeen = true;
			return call.result;
		}
		if (call) {
			const output = call.phase === "running" && call.progress !== "" ? ` Its latest output:\n${call.progress}` : "";
			return toText(
				`STILL RUNNING: ${call.tool} (call id ${id}) has not finished. Do other work before you ask again.${output}`,
			);
		}
		if (tombstone) return toFailure(`${tombstone.tool} (call id ${id}) failed: ${tombstone.reason}.`);
		return toFailure(
			`No call has the id ${id}. Either the id is wrong, or its result was delivered before: look for it above.`,
		);
	}

	/** Fails the calls that wait; escalated ones go on, because pi still runs their tools. */
	endTurn(reason: string): void {
		for (const call of [...this.#calls.values()]) {
			if (call.phase === "parked") this.#fail(call.id, reason);
			if (call.phase === "finished" && call.isSeen) this.#calls.delete(call.id);
		}
	}

	/** Fails every call that has no result yet. */
	abort(reason: string): void {
		for (const call of [...this.#calls.values()]) if (call.phase !== "finished") this.#fail(call.id, reason);
	}

	/** Results that nobody polled for, each once, for the caller to tell. */
	takeUnpolled(): readonly { readonly id: string; readonly tool: string; readonly result: CallResult }[] {
		const unseen: Finished[] = [];
		for (const call of this.#calls.values()) if (call.phase === "finished" && !call.isSeen) unseen.push(call);
		return unseen.map((call) => {
			call.isSeen = true;
			return { id: call.id, tool: call.tool, result: call.result };
		});
	}

	/** Without room the call stays parked, and another try comes with the next interval. */
	#escalate(id: string): void {
		const call = this.#calls.get(id);
		if (call?.phase !== "parked" || !this.#makeRoom()) return;
		const timeout = setTimeout(
			() => this.#fail(id, `pi had no result within ${RUNNING_TIMEOUT_MS / 60_000} minutes`),
			RUNNING_TIMEOUT_MS,
		);
		timeout.unref();
		this.#calls.set(id, { phase: "running", id, tool: call.tool, timeout, progress: "" });
		this.#onStage("call-tool-escalated", call.tool);
		call.answer(
			toText(
				`STILL RUNNING: ${call.tool} has not finished after ${ESCALATE_AFTER_MS / 1_000} s and goes on in pi. Do not call it again. ` +
					`Do other work, then get its result with ${POLL_TOOL} and {"callId": "${id}"}. ` +
					"A result that you do not ask for is sent to you as a message.",
			),
		);
	}

	#makeRoom(): boolean {
		const escalated = [...this.#calls.values()].filter((call) => call.phase !== "parked");
		if (escalated.length < MAX_ESCALATED) return true;
		const seen = escalated.find((call) => call.phase === "finished" && call.isSeen);
		return seen !== undefined && this.#calls.delete(seen.id);
	}

	/** The one way a call ends without a result. */
	#fail(id: string, reason: string): void {
		const call = this.#calls.get(id);
		if (!call || call.phase === "finished") return;
		this.#calls.delete(id);
		this.#onStage("call-tool-failed", call.tool);
		this.#tombstones.set(id, { tool: call.tool, reason, isTold: false });
		for (const oldest of this.#tombstones.keys()) {
			if (this.#tombstones.size <= MAX_TOMBSTONES) break;
			this.#tombstones.delete(oldest);
		}
		if (call.phase === "running") clearTimeout(call.timeout);
		else call.answer(toFailure(`${call.tool} has no result: ${reason}. What it did may have taken effect.`));
	}
}

/** The tool by which agy asks for the result of an escalated call. */
export function pollTool(): BridgeTool {
	return {
		name: POLL_TOOL,
		description:
			"Gets the result of a tool call that was answered with STILL RUNNING. Answers at once: with the result, or that the call is still running, or why it failed.",
		inputSchema: {
			type: "object",
			properties: { callId: { type: "string", description: "The call id that the STILL RUNNING answer named." } },
			required: ["callId"],
			additionalProperties: false,
		},
	};
}

function toText(text: string): CallResult {
	return { content: [{ type: "text", text }], isError: false };
}

function toFailure(text: string): CallResult {
	return { content: [{ type: "text", text }], isError: true };
}
