/**
 * One turn: from a prompt handed to agy to the verdict on how it ended. It consumes a link and writes pi messages; it may
 * span several of them, because each of agy's steps that is shown as a card ends a message.
 *
 *   streaming --(a step is shown: the message ends with its call)--> parked
 *   parked    --(pi has run the call and asks for more)-----------> streaming
 *   either    --(result, exit, lost lane, abort, timer)-----------> ended, once
 *
 * While parked, what settles the open steps is taken; everything else waits, and with it, unacknowledged, the process.
 */

import { type AssistantMessage, isRetryableAssistantError } from "@earendil-works/pi-ai";
import type { AgyEvent, SubagentEvent, ToolEvent, TurnEndEvent } from "../shared/events.ts";
import type { LinkMessage } from "./lanes.ts";
import type { Link, LinkConsumer, LinkEnd } from "./link.ts";
import type { PiStream } from "./pi-stream.ts";
import { type Steps, toStepArguments, toStepOutcome } from "./steps.ts";
import { Timer } from "./timer.ts";
import { judge, type TurnEvidence, type Verdict } from "./verdict.ts";

/** One pi request of the turn: where its message goes and who watches. */
export type Segment = {
	readonly stream: PiStream;
	/** pi's onResponse hook; called once, before anything of the answer. */
	readonly onResponse?: () => void | Promise<void>;
	/** pi's onProviderStreamEvent hook, awaited for each event. */
	readonly onEvent?: (event: AgyEvent) => void | Promise<void>;
};

/** A card is a call to the display tool of that name. */
export type StepDisplay =
	| { readonly as: "card"; readonly tool: string }
	| { readonly as: "line" }
	| { readonly as: "hidden" };

export type TurnOptions = {
	readonly id: string;
	readonly link: Link;
	readonly steps: Steps;
	/** How a step agy ran by itself is shown. Asked for each step. */
	readonly stepDisplay: () => StepDisplay;
	/** Minutes; 0 is off. */
	readonly inactivityTimeoutMin: number;
	readonly turnTimeoutMin: number;
	/** Called once, when the verdict is known and the pi message has ended. */
	readonly onEnd: (verdict: Verdict) => void;
	/** agy named the conversation. */
	readonly onConversation: (conversationId: string) => void;
	/** How a text is handed to agy, for what the user says while the turn runs. */
	readonly encodePrompt: (text: string) => string;
};

type TurnPhase = "streaming" | "parked" | "ended";

export class Turn implements LinkConsumer {
	readonly #options: TurnOptions;
	readonly #silence: Timer;
	readonly #cap: Timer;
	#phase: TurnPhase = "streaming";
	#segment: Segment;
	#onResponseDone = false;
	#resume: (() => void) | null = null;
	/** Step number -> call id, for the calls of the current message or the one that ended last. */
	#openCalls = new Map<number, string>();
	/** Steps that have had a card, and whether their end was shown on it. */
	readonly #shownSteps = new Map<number, "ended" | "left-behind">();
	#callIds: string[] = [];
	/** Set when the turn ended while no message was there to say so. */
	#untoldVerdict: Verdict | null = null;
	#backlog: AgyEvent[] = [];
	#followUps: string[] = [];
	#contextTokens = 0;
	#text = "";
	#lastStepText = { step: -1, text: "" };
	#sawOutput = false;
	readonly #deniedTools = new Set<string>();
	readonly #toolErrors: string[] = [];
	#rejected: TurnEvidence["rejected"] = null;

	constructor(options: TurnOptions, segment: Segment) {
		this.#options = options;
		this.#segment = segment;
		this.#silence = new Timer(options.inactivityTimeoutMin * 60_000, () =>
			this.#end("silent", { timeoutMin: options.inactivityTimeoutMin }),
		);
		this.#cap = new Timer(options.turnTimeoutMin * 60_000, () =>
			this.#end("too-long", { timeoutMin: options.turnTimeoutMin }),
		);
	}

	get link(): Link {
		return this.#options.link;
	}

	get isParked(): boolean {
		return this.#phase === "parked";
	}

	/** It ended while pi ran its calls; the next message has to say so. */
	get isUntold(): boolean {
		return this.#untoldVerdict !== null;
	}

	/** Whether the turn waits for the result of this tool call. */
	owns(callId: string): boolean {
		return this.#callIds.includes(callId);
	}

	/** Hands the prompt to agy. */
	start(prompt: string): void {
		this.#segment.stream.start();
		this.#silence.start();
		this.#cap.start();
		this.#options.link.submit(prompt, this);
	}

	/**
	 * pi has run the calls of the last message and wants the next one. `followUp` is what the user said meanwhile. A turn
	 * that ended in between says so here.
	 */
	resume(segment: Segment, followUp: string | null): void {
		if (followUp !== null) this.#followUps.push(followUp);
		this.#forgetCalls();
		if (this.#untoldVerdict) {
			this.#tell(segment.stream, this.#untoldVerdict);
			return;
		}
		if (this.#phase !== "parked") return;
		this.#segment = segment;
		this.#onResponseDone = false;
		this.#phase = "streaming";
		segment.stream.start();
		segment.stream.setContextTokens(this.#contextTokens);
		this.#silence.resume();
		this.#cap.resume();
		const waiting = this.#resume;
		this.#resume = null;
		if (waiting) waiting();
		else this.#replayBacklog();
	}

	/** The user stopped it, or it was superseded. */
	abort(): void {
		this.#end("aborted");
	}

	receive(message: LinkMessage): void | Promise<void> {
		if (this.#phase === "ended") return;
		this.#silence.touch();
		switch (message.kind) {
			case "events":
				return this.#takeEvents(message.events, 0);
			case "lines-rejected":
				this.#rejected ??= { reason: message.reason, sample: message.sample };
				return;
			case "input-failed":
				void this.#options.link.close().then(() => this.ended({ exit: null, laneError: null }));
				return;
			default:
				return;
		}
	}

	ended({ exit, laneError }: LinkEnd): void {
		this.#end(laneError ? "lane-lost" : "exited", { exit, laneError });
	}

	#takeEvents(events: readonly AgyEvent[], from: number): void | Promise<void> {
		for (let index = from; index < events.length; index++) {
			const pending = this.#take(events[index] as AgyEvent);
			if (pending) return pending.then(() => this.#takeEvents(events, index + 1));
		}
		if (this.#phase === "streaming" && this.#openCalls.size > 0) this.#park();
	}

	#take(event: AgyEvent): void | Promise<void> {
		const { onResponse, onEvent } = this.#segment;
		if (onResponse && !this.#onResponseDone) {
			this.#onResponseDone = true;
			const pending = onResponse();
			if (pending) return pending.then(() => this.#take(event));
		}
		const observed = onEvent?.(event);
		return observed ? observed.then(() => this.#apply(event)) : this.#apply(event);
	}

	#apply(event: AgyEvent): void | Promise<void> {
		if (this.#phase === "ended" || (isStep(event) && this.#settles(event))) return;
		if (this.#phase === "streaming" && this.#openCalls.size > 0 && movesOn(event)) this.#park();
		if (this.#phase === "streaming") return this.#write(event);
		if (movesOn(event)) this.#leaveStepsBehind();
		this.#backlog.push(event);
		if (!this.#hasUnsettledCalls()) return this.#whenResumed();
	}

	#write(event: AgyEvent): void {
		const { stream } = this.#segment;
		switch (event.kind) {
			case "ready":
				this.#nameConversation(event.conversationId);
				return;
			case "text":
				this.#sawOutput = true;
				this.#text += event.text;
				this.#lastStepText = {
					step: event.step,
					text: (event.step === this.#lastStepText.step ? this.#lastStepText.text : "") + event.text,
				};
				stream.text(event.text);
				return;
			case "thinking":
				this.#sawOutput = true;
				stream.thinking(event.text);
				return;
			case "model-call":
				this.#sawOutput = true;
				stream.endBlock();
				if (event.usage) this.#contextTokens = event.usage.input + event.usage.cacheRead + event.usage.output;
				if (event.usage) stream.addUsage(event.usage);
				return;
			case "notice":
			case "unknown":
				if (event.usage) stream.addUsage(event.usage);
				return;
			case "tool":
			case "subagent":
				this.#writeStep(event);
				return;
			case "turn-end":
				this.#takeResult(event);
				return;
		}
	}

	#writeStep(event: ToolEvent | SubagentEvent): void {
		this.#sawOutput = true;
		const display = this.#options.stepDisplay();
		const outcome = toStepOutcome(event);
		const shown = this.#shownSteps.get(event.step);
		if (shown === "ended" || (shown === "left-behind" && !outcome)) return;
		this.#noteFailure(event);
		if (outcome) this.#shownSteps.set(event.step, "ended");
		else if (display.as === "card") this.#shownSteps.set(event.step, "left-behind");
		if (display.as === "hidden") return;
		const { tool, args } = toStepArguments(event);
		if (display.as === "line") {
			if (outcome)
				this.#segment.stream.thinking(`[agy ran ${tool}${outcome.state === "error" ? `: ${outcome.output}` : ""}]\n`);
			return;
		}
		const callId = `${this.#options.id}-${event.step}${shown ? "-end" : ""}`;
		this.#options.steps.open(callId);
		this.#openCalls.set(event.step, callId);
		this.#callIds.push(callId);
		this.#segment.stream.toolCall({ id: callId, name: display.tool, arguments: { tool, args } });
		if (outcome) this.#options.steps.settle(callId, outcome);
	}

	/** True when the event is news of a step whose card is open. */
	#settles(event: ToolEvent | SubagentEvent): boolean {
		const callId = this.#openCalls.get(event.step);
		if (callId === undefined) return false;
		const outcome = toStepOutcome(event);
		if (outcome && this.#options.steps.isOpen(callId)) {
			this.#noteFailure(event);
			this.#shownSteps.set(event.step, "ended");
			this.#options.steps.settle(callId, outcome);
		}
		return true;
	}

	#noteFailure(event: ToolEvent | SubagentEvent): void {
		if (event.kind !== "tool" || !event.error) return;
		this.#toolErrors.push(event.error.message);
		if (/permission check failed|user denied permission/i.test(event.error.message)) this.#deniedTools.add(event.name);
	}

	#park(): void {
		this.#phase = "parked";
		this.#silence.pause();
		this.#cap.pause();
		this.#segment.stream.done("toolUse");
	}

	#hasUnsettledCalls(): boolean {
		return [...this.#openCalls.values()].some((callId) => this.#options.steps.isOpen(callId));
	}

	/** agy went on without the step's end: it runs in the background, or its end will never be reported. */
	#leaveStepsBehind(): void {
		for (const callId of this.#openCalls.values()) {
			this.#options.steps.settle(callId, {
				state: "background",
				output: "Still running when agy went on.",
				durationMs: null,
			});
		}
	}

	#whenResumed(): Promise<void> {
		return new Promise<void>((resolve) => {
			this.#resume = resolve;
		}).then(() => this.#replayBacklog());
	}

	#replayBacklog(): void | Promise<void> {
		const events = this.#backlog;
		this.#backlog = [];
		for (const [index, event] of events.entries()) {
			const pending = this.#apply(event);
			if (!pending) continue;
			this.#backlog.push(...events.slice(index + 1));
			return pending;
		}
		if (this.#phase === "streaming" && this.#openCalls.size > 0) this.#park();
	}

	#takeResult(result: TurnEndEvent): void {
		this.#nameConversation(result.conversationId);
		const missing = this.#missingText(result.text);
		this.#text += missing;
		this.#segment.stream.text(missing);
		if (this.#followUps.length > 0 && result.status === "SUCCESS") {
			this.#text = "";
			this.#segment.stream.endBlock();
			this.#options.link.submitMore(this.#options.encodePrompt(this.#followUps.splice(0).join("\n\n")));
			return;
		}
		this.#end("result", { result });
	}

	/**
	 * What the result holds and the deltas did not bring. Whether `response` is the whole turn or its last step is not
	 * known, so only a clear continuation of either is added.
	 */
	#missingText(response: string): string {
		if (this.#text === "") return response;
		for (const streamed of [this.#text, this.#lastStepText.text]) {
			if (response.length > streamed.length && response.startsWith(streamed)) return response.slice(streamed.length);
		}
		return "";
	}

	#nameConversation(conversationId: string): void {
		if (conversationId === "") return;
		this.#segment.stream.setConversation(conversationId);
		this.#options.onConversation(conversationId);
	}

	#forgetCalls(): void {
		for (const callId of this.#callIds) this.#options.steps.forget(callId);
		this.#callIds = [];
		this.#openCalls = new Map();
	}

	#end(cause: TurnEvidence["cause"], more: Partial<TurnEvidence> = {}): void {
		if (this.#phase === "ended") return;
		const wasParked = this.#phase === "parked";
		this.#phase = "ended";
		this.#silence.stop();
		this.#cap.stop();
		this.#leaveStepsBehind();
		const verdict = judge({
			cause,
			result: null,
			sawOutput: this.#sawOutput,
			sawText: this.#text !== "",
			deniedTools: [...this.#deniedTools],
			toolErrors: this.#toolErrors,
			stderr: this.#options.link.stderrTail,
			exit: null,
			laneError: null,
			rejected: this.#rejected,
			timeoutMin: 0,
			...more,
		});
		if (wasParked) this.#untoldVerdict = verdict;
		else this.#tell(this.#segment.stream, verdict);
		this.#resume?.();
		this.#options.onEnd(verdict);
	}

	#tell(stream: PiStream, verdict: Verdict): void {
		this.#forgetCalls();
		const undelivered = this.#followUps.length === 0 ? "" : `\nNot delivered to agy: ${this.#followUps.join("\n")}`;
		if (verdict.stop === "stop") stream.done("stop");
		else stream.fail(verdict.stop, toErrorMessage(verdict) + undelivered);
	}
}

function isStep(event: AgyEvent): event is ToolEvent | SubagentEvent {
	return event.kind === "tool" || event.kind === "subagent";
}

/** agy has gone on after its steps, and what it says needs a message of its own. */
function movesOn(event: AgyEvent): boolean {
	return event.kind === "text" || event.kind === "thinking" || event.kind === "model-call" || event.kind === "turn-end";
}

/**
 * pi sends the prompt again when an error looks transient to it, and agy would get it twice. agy's own words stay out
 * then; they are in the log.
 */
export function toErrorMessage({ summary, detail }: Verdict): string {
	if (detail === "" || summary.includes(detail)) return summary;
	const message = `${summary}\nagy: ${detail}`;
	return isRetryableAssistantError({
		role: "assistant",
		stopReason: "error",
		errorMessage: message,
	} as AssistantMessage)
		? summary
		: message;
}
