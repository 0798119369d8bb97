/**
 * The provider: pi asks for an assistant message, a turn of agy writes it. Never throws; whatever goes wrong ends the
 * message with an error that says what to do.
 *
 * A request of the user's session goes on with the session's conversation; the results of a message's calls go on with
 * its turn. Everything else (pi's summaries, other extensions' calls) is a side request: a process and a conversation of
 * its own, thrown away afterwards.
 */

import {
	type AssistantMessageEventStream,
	getCurrentSystemPrompt,
	type Message,
	type Model,
	type SimpleStreamOptions,
	type ToolResultMessage,
	type TranscriptContext,
} from "@earendil-works/pi-ai";
import { AgyError, toError } from "../shared/errors.ts";
import type { Conversation } from "./conversation.ts";
import { toErrorMessage } from "./error-message.ts";
import type { LogWriter } from "./log.ts";
import { PiStream } from "./pi-stream.ts";
import type { Turn } from "./turn.ts";
import type { Segment } from "./turn-contract.ts";
import type { TurnStarter } from "./turn-starter.ts";

const STOPPED = "The turn was stopped.";

/** One request of pi. */
export type Ask = {
	readonly model: Model<string>;
	readonly options: SimpleStreamOptions;
	readonly messages: readonly Message[];
	/** pi's system prompt; "" when there is none. */
	readonly instructions: string;
	readonly stream: PiStream;
	readonly signal: AbortSignal;
	/** Null for a side request. */
	readonly sessionId: string | null;
};

/** A turn of a session, with the conversation it belongs to. */
export type RunningTurn = { readonly turn: Turn; readonly conversation: Conversation };

export type ProviderOptions = { readonly starter: TurnStarter; readonly log: LogWriter };

export class Provider {
	readonly #starter: TurnStarter;
	readonly #log: LogWriter;
	/** The turn of each pi session that runs or waits for pi. */
	readonly #running = new Map<string, RunningTurn>();
	/** Turns on their way to agy. */
	readonly #beginning = new Set<Promise<void>>();
	/** Stops what is being answered. No signal that lives as long as the session may be listened to: it keeps every request. */
	readonly #open = new Set<AbortController>();
	#isClosed = false;
	/** Why requests are refused from now on, where it is more than the end of the session. */
	#refusal: string | null = null;

	constructor({ starter, log }: ProviderOptions) {
		this.#starter = starter;
		this.#log = log;
	}

	/** pi's entry point. */
	readonly streamSimple = (
		model: Model<string>,
		context: TranscriptContext,
		options: SimpleStreamOptions = {},
	): AssistantMessageEventStream => {
		const stream = new PiStream(model);
		const stop = new AbortController();
		const { signal } = stop;
		const onAbort = () => stop.abort(options.signal?.reason);
		if (this.#isClosed || options.signal?.aborted) onAbort();
		else options.signal?.addEventListener("abort", onAbort, { once: true });
		this.#open.add(stop);
		void stream.events.result().finally(() => this.#open.delete(stop));
		const sessionId = isSideRequest(options) ? null : (options.sessionId ?? null);
		const { messages } = context;
		const ask: Ask = { model, options, messages, instructions: instructionsOf(context), stream, signal, sessionId };
		signal.addEventListener("abort", () => stream.fail("aborted", STOPPED), { once: true });
		this.#begin(ask, () => this.#answer(ask));
		return stream.events;
	};

	/** pi has settled after an abort: a turn that waits for a tool's result waits for nothing now. */
	dropParked(sessionId: string): void {
		const running = this.#running.get(sessionId);
		this.#running.delete(sessionId);
		running?.turn.abort();
	}

	/** The session is over: nothing runs, and nothing is begun any more; later requests are told `why`. Resolves when that is so. */
	async close(why?: string): Promise<void> {
		this.#isClosed = true;
		this.#refusal = why ?? null;
		for (const stop of this.#open) stop.abort();
		for (const sessionId of [...this.#running.keys()]) this.dropParked(sessionId);
		await Promise.all(this.#beginning);
	}

	#begin(ask: Ask, work: () => Promise<void>): void {
		const begun = work()
			.catch((thrown: unknown) => this.#fail(ask, thrown))
			.finally(() => this.#beginning.delete(begun));
		this.#beginning.add(begun);
	}

	async #answer(ask: Ask): Promise<void> {
		ask.signal.throwIfAborted();
		this.#starter.takeResults(toolResults(ask.messages));
		if (ask.sessionId === null) {
			abortWith(ask.signal, await this.#starter.startSide(ask));
			return;
		}
		const current = this.#running.get(ask.sessionId);
		if (current && toolResults(ask.messages).some(({ toolCallId }) => current.turn.owns(toolCallId))) {
			await this.#goOn(current, ask);
			return;
		}
		this.dropParked(ask.sessionId);
		await this.#start(ask, ask.sessionId, { isFresh: false, mayRetry: true });
	}

	async #goOn({ turn, conversation }: RunningTurn, ask: Ask): Promise<void> {
		const { followUp, compactedTokens } = await conversation.follow(ask.messages).catch((error: unknown) => {
			turn.abort(); // Nobody will ask it to go on again.
			throw error;
		});
		if (compactedTokens !== null) ask.stream.capContext(compactedTokens);
		turn.resume(toSegment(ask), followUp);
		abortWith(ask.signal, turn);
	}

	async #start(
		ask: Ask,
		sessionId: string,
		attempt: { readonly isFresh: boolean; readonly mayRetry: boolean },
	): Promise<void> {
		const running = await this.#starter.startSession(ask, sessionId, attempt.isFresh, {
			onRetry: (verdict) => {
				if (!attempt.mayRetry || ask.signal.aborted || ask.stream.isEnded) return false;
				this.#log("info", `turn ${verdict.kind}: nothing was done, the prompt is sent once more`, {
					event: "turn-retry",
					kind: verdict.kind,
				});
				const again = { isFresh: verdict.retry === "fresh", mayRetry: false };
				this.#begin(ask, () => this.#start(ask, sessionId, again));
				return true;
			},
			onEnd: (turn) => {
				if (this.#running.get(sessionId)?.turn === turn && !turn.isUntold) this.#running.delete(sessionId);
			},
		});
		if (running === null) return;
		this.#running.set(sessionId, running);
		abortWith(ask.signal, running.turn);
		running.turn.start(running.prompt);
	}

	#fail({ stream, signal }: Ask, thrown: unknown): void {
		if (signal.aborted) {
			// pi shows no text of what was aborted.
			if (this.#refusal !== null) stream.fail("error", toErrorMessage({ summary: this.#refusal, detail: "" }));
			else stream.fail("aborted", STOPPED);
			return;
		}
		const error = toError(thrown);
		this.#log("error", error instanceof AgyError ? error.message : (error.stack ?? error.message), {
			event: "turn-error",
			code: error instanceof AgyError ? error.code : null,
		});
		stream.fail("error", toErrorMessage({ summary: error.message, detail: "" }));
	}
}

export function toSegment({ options, model, stream }: Ask): Segment {
	const { onResponse, onProviderStreamEvent } = options;
	return {
		stream,
		...(onResponse && { onResponse: () => onResponse({ status: 200, headers: {} }, model) }),
		...(onProviderStreamEvent && { onEvent: (event) => onProviderStreamEvent(event, model) }),
	};
}

/** pi 1.6 puts its system prompt into the transcript; other callers, and older pi versions, put it beside. */
function instructionsOf({ messages, systemPrompt }: TranscriptContext & { readonly systemPrompt?: unknown }): string {
	return getCurrentSystemPrompt([...messages]) || (typeof systemPrompt === "string" ? systemPrompt : "");
}

/** pi's own summaries and other extensions' calls: no part of the user's conversation. */
function isSideRequest(options: SimpleStreamOptions): boolean {
	return options.cacheRetention === "none" || options.sessionId === undefined;
}

/** Results of the last assistant message's calls. */
function toolResults(messages: readonly Message[]): readonly ToolResultMessage[] {
	const from = messages.findLastIndex((message) => message.role === "assistant") + 1;
	return messages.slice(from).filter((message) => message.role === "toolResult");
}

function abortWith(signal: AbortSignal, turn: Turn | null): void {
	if (!turn) return;
	if (signal.aborted) turn.abort();
	else signal.addEventListener("abort", () => turn.abort(), { once: true });
}
