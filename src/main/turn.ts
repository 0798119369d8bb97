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
import { assertNever, toError } from "../shared/errors.ts";
import type { AgyEvent, SubagentEvent, ToolEvent, TurnEndEvent } from "../shared/events.ts";
import { StepCards } from "./cards/step-cards.ts";
import type { LinkMessage } from "./lanes.ts";
import type { Link, LinkConsumer, LinkEnd } from "./link.ts";
import type { PiStream } from "./pi-stream.ts";
import type { Steps } from "./steps.ts";
import { Timer } from "./timer.ts";
import { TurnRecord } from "./turn-record.ts";
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
	readonly #record = new TurnRecord();
	readonly #cards: StepCards;
	readonly #silence: Timer;
	readonly #cap: Timer;
	#phase: TurnPhase = "streaming";
	#segment: Segment;
	#isResponseAnnounced = false;
	/** Lets the held back delivery go on. */
	#resumeDelivery: (() => void) | null = null;
	/** Events that came while parked and need a message. */
	#backlog: AgyEvent[] = [];
	#followUps: string[] = [];
	/** Set when the turn ended while no message was there to say so. */
	#untoldVerdict: Verdict | null = null;

	constructor(options: TurnOptions, segment: Segment) {
		this.#options = options;
		this.#segment = segment;
		this.#cards = new StepCards(options.id, options.steps);
		const { inactivityTimeoutMin, turnTimeoutMin } = options;
		this.#silence = new Timer(inactivityTimeoutMin * 60_000, () =>
			this.#end("silent", { timeoutMin: inactivityTimeoutMin }),
		);
		this.#cap = new Timer(turnTimeoutMin * 60_000, () => this.#end("too-long", { timeoutMin: turnTimeoutMin }));
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
		return this.#cards.owns(callId);
	}

	/** Hands the prompt to agy. */
	start(prompt: string): void {
		this.#segment.stream.start();
		this.#silence.start();
		this.#cap.start();
		this.#nameConversation(this.#options.link.conversationId ?? "");
		this.#options.link.submit(prompt, this);
	}

	/**
	 * pi has run the calls of the last message and wants the next one. `followUp` is what the user said meanwhile. A turn
	 * that ended in between says so here.
	 */
	resume(segment: Segment, followUp: string | null): void {
		if (followUp !== null) this.#followUps.push(followUp);
		this.#cards.release();
		if (this.#untoldVerdict) {
			this.#tell(segment.stream, this.#untoldVerdict);
			return;
		}
		if (this.#phase !== "parked") return;
		this.#segment = segment;
		this.#isResponseAnnounced = false;
		this.#phase = "streaming";
		segment.stream.start();
		segment.stream.setContextTokens(this.#record.contextTokens);
		this.#silence.start();
		this.#cap.resume();
		if (this.#resumeDelivery) this.#letDeliveryGoOn();
		else void this.#replayBacklog();
	}

	/** The user stopped it, or it was superseded. */
	abort(): void {
		this.#end("aborted");
	}

	receive(message: LinkMessage): void | Promise<void> {
		if (this.#phase === "ended") return;
		this.#silence.touch();
		if (message.kind === "events") return this.#takeGuarded(message.events);
		if (message.kind === "lines-rejected") this.#record.noteRejected(message);
	}

	ended({ exit, laneError }: LinkEnd): void {
		this.#end(laneError ? "lane-lost" : "exited", { exit, laneError });
	}

	/** A hook of another extension that fails ends the turn: what pi would be told from here on could not be trusted. */
	#takeGuarded(events: readonly AgyEvent[]): void | Promise<void> {
		const fail = (thrown: unknown) => this.#end("hook-failed", { hookError: toError(thrown).message });
		try {
			return this.#takeEvents(events, 0)?.catch(fail);
		} catch (thrown) {
			fail(thrown);
		}
	}

	#takeEvents(events: readonly AgyEvent[], from: number): void | Promise<void> {
		for (let index = from; index < events.length; index++) {
			const pending = this.#take(events[index] as AgyEvent);
			if (pending) return pending.then(() => this.#takeEvents(events, index + 1));
		}
		if (this.#phase === "streaming" && !this.#cards.isEmpty) this.#park();
	}

	#take(event: AgyEvent): void | Promise<void> {
		const { onResponse, onEvent } = this.#segment;
		if (onResponse && !this.#isResponseAnnounced) {
			this.#isResponseAnnounced = true;
			const announced = onResponse();
			if (announced) return announced.then(() => this.#take(event));
		}
		const observed = onEvent?.(event);
		return observed ? observed.then(() => this.#apply(event)) : this.#apply(event);
	}

	#apply(event: AgyEvent): void | Promise<void> {
		if (this.#phase === "ended") return;
		if (isStep(event) && this.#cards.settle(event)) {
			this.#record.note(event);
			return;
		}
		if (this.#phase === "streaming" && !this.#cards.isEmpty && movesOn(event)) this.#park();
		if (this.#phase === "streaming") return this.#write(event);
		if (movesOn(event)) this.#cards.leaveBehind();
		this.#backlog.push(event);
		if (!this.#cards.hasUnsettled) return this.#whenResumed();
	}

	#write(event: AgyEvent): void {
		const { stream } = this.#segment;
		this.#record.note(event);
		switch (event.kind) {
			case "ready":
				this.#nameConversation(event.conversationId);
				return;
			case "text":
				stream.text(event.text);
				return;
			case "thinking":
				stream.thinking(event.text);
				return;
			case "model-call":
				stream.endBlock();
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
			default:
				assertNever(event);
		}
	}

	#writeStep(event: ToolEvent | SubagentEvent): void {
		const display = this.#options.stepDisplay();
		if (display.as === "hidden" || this.#cards.isOldNews(event)) return;
		if (display.as === "card") this.#cards.open(event, this.#segment.stream, display.tool);
		else this.#cards.writeLine(event, this.#segment.stream);
	}

	#park(): void {
		this.#phase = "parked";
		this.#silence.pause();
		this.#cap.pause();
		this.#segment.stream.done("toolUse");
	}

	#whenResumed(): Promise<void> {
		return new Promise<void>((resolve) => {
			this.#resumeDelivery = resolve;
		}).then(() => this.#replayBacklog());
	}

	#letDeliveryGoOn(): void {
		const resume = this.#resumeDelivery;
		this.#resumeDelivery = null;
		resume?.();
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
		if (this.#phase === "streaming" && !this.#cards.isEmpty) this.#park();
	}

	#takeResult(result: TurnEndEvent): void {
		this.#nameConversation(result.conversationId);
		this.#segment.stream.text(this.#record.completeText(result.text));
		if (this.#followUps.length === 0 || result.status !== "SUCCESS") {
			this.#end("result", { result });
			return;
		}
		this.#segment.stream.endBlock();
		this.#record.startAnswer();
		this.#options.link.submitMore(this.#options.encodePrompt(this.#followUps.splice(0).join("\n\n")));
	}

	#nameConversation(conversationId: string): void {
		if (conversationId === "") return;
		this.#segment.stream.setConversation(conversationId);
		this.#options.onConversation(conversationId);
	}

	#end(cause: TurnEvidence["cause"], more: Partial<TurnEvidence> = {}): void {
		if (this.#phase === "ended") return;
		const wasParked = this.#phase === "parked";
		this.#phase = "ended";
		this.#silence.stop();
		this.#cap.stop();
		this.#cards.leaveBehind();
		const leftToolsRunning = this.#cards.hasLeftBehind;
		const verdict = judge(this.#record.evidence(cause, this.#options.link.stderrTail, { leftToolsRunning, ...more }));
		if (wasParked) this.#untoldVerdict = verdict;
		else this.#tell(this.#segment.stream, verdict);
		this.#letDeliveryGoOn();
		this.#options.onEnd(verdict);
	}

	#tell(stream: PiStream, verdict: Verdict): void {
		this.#cards.release();
		const undelivered = this.#followUps.length === 0 ? "" : `\nNot delivered to agy: ${this.#followUps.join("\n")}`;
		if (verdict.stop === "stop" && undelivered === "") stream.done("stop");
		else stream.fail(verdict.stop === "aborted" ? "aborted" : "error", toErrorMessage(verdict) + undelivered);
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
 * then; they are in the log. Where our summary quotes such words, pi is told in its own that this is no such failure.
 */
export function toErrorMessage({ summary, detail }: Verdict): string {
	const message = detail === "" || summary.includes(detail) ? summary : `${summary}\nagy: ${detail}`;
	if (!looksTransient(message)) return message;
	return looksTransient(summary) ? `${summary} (It is not sent again: out of budget.)` : summary;
}

function looksTransient(errorMessage: string): boolean {
	return isRetryableAssistantError({ role: "assistant", stopReason: "error", errorMessage } as AssistantMessage);
}
