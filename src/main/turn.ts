/**
 * One turn: from a prompt handed to agy to the verdict on how it ended. It consumes a link and writes pi messages; it may
 * span several of them, because each of agy's steps that is shown as a card ends a message.
 *
 *   streaming --(a step is shown: the message ends with its call)--> parked
 *   parked    --(pi has run the call and asks for more)-----------> streaming
 *   either    --(result, exit, lost lane, abort, timer)-----------> ended, once
 *
 * A call that agy makes of a tool of pi's ends a message in the same way, and is parked for (bridge-calls.ts).
 * While parked, what settles the open steps is taken; everything else waits, and with it, unacknowledged, the process.
 * The clocks stand still while it is pi that is waited for, not while it is agy.
 */

import { assertNever, toError } from "../shared/errors.ts";
import type { AgyEvent, SubagentEvent, TokenUsage, ToolEvent, TurnEndEvent } from "../shared/events.ts";
import { MAX_SILENCE_EXTENSIONS } from "../shared/limits.ts";
import { BridgeCalls } from "./bridge/bridge-calls.ts";
import type { ParkedCall } from "./bridge/parked-calls.ts";
import { StepCards } from "./cards/step-cards.ts";
import { toErrorMessage } from "./error-message.ts";
import type { LinkMessage } from "./lanes.ts";
import type { LinkConsumer, LinkEnd } from "./link.ts";
import type { PiStream } from "./pi-stream.ts";
import { Timer } from "./timer.ts";
import { TranscriptLookup } from "./transcript-lookup.ts";
import type { Segment, TurnOptions } from "./turn-contract.ts";
import { TurnRecord } from "./turn-record.ts";
import { isSuccess, judge, type TurnEvidence, type Verdict } from "./verdict.ts";

/** Steps of the same moment mostly end within it; a call of pi's tools, above all a question, should not wait for others. */
const CARD_PATIENCE_MS = 2_000;

type TurnPhase = "streaming" | "parked" | "ended";

export class Turn implements LinkConsumer {
	readonly #options: TurnOptions;
	readonly #record = new TurnRecord();
	readonly #cards: StepCards;
	readonly #calls: BridgeCalls;
	readonly #silence: Timer;
	readonly #cap: Timer;
	/** Runs while a call of agy's waits behind the cards of steps that go on. */
	readonly #cardPatience: Timer;
	readonly #lookup: TranscriptLookup;
	#silenceExtensions = 0;
	#phase: TurnPhase = "streaming";
	#segment: Segment;
	#isResponseAnnounced = false;
	/** Lets the held back delivery go on. */
	#resumeDelivery: (() => void) | null = null;
	/** Events that came while parked and need a message. */
	#backlog: AgyEvent[] = [];
	#followUps: string[] = [];
	/** What was written last and agy has shown no sign of; null when it has. The turn's first prompt is "". */
	#unread: string | null = "";
	/** A success without an answer, while the transcript is looked at for one. */
	#emptyResult: TurnEndEvent | null = null;
	/** agy's counters at the last result of the turn. */
	#counters: TokenUsage | null = null;
	/** Set when the turn ended while no message was there to say so. */
	#untoldVerdict: Verdict | null = null;

	constructor(options: TurnOptions, segment: Segment) {
		this.#options = options;
		this.#segment = segment;
		this.#cards = new StepCards(options.id, options.steps, options.files);
		this.#calls = new BridgeCalls(() => this.#parkForCalls());
		this.#silence = new Timer(options.inactivityTimeoutMin * 60_000, () => void this.#endUnlessToolRuns());
		this.#cap = new Timer(options.turnTimeoutMin * 60_000, () =>
			this.#end("too-long", { timeoutMin: options.turnTimeoutMin }),
		);
		this.#cardPatience = new Timer(CARD_PATIENCE_MS, () => {
			this.#cards.leaveBehind();
			this.#pauseClocks();
		});
		this.#lookup = new TranscriptLookup(options.link, this.#record, options.transcriptPath, this.#silence);
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
		return this.#cards.owns(callId) || this.#calls.owns(callId);
	}

	/** agy calls a tool of pi's. False when the turn is over, and nobody would run it. */
	takeCall(call: ParkedCall): boolean {
		if (this.#phase === "ended") return false;
		this.#record.noteCall();
		this.#checkRead();
		this.#calls.add(call);
		return true;
	}

	/** Hands the prompt to agy. */
	start(prompt: string): void {
		if (this.#phase === "ended") return; // Aborted on the way.
		this.#segment.stream.start();
		this.#silence.start();
		this.#cap.start();
		const { link } = this.#options;
		this.#nameConversation(link.conversationId ?? "", link.model);
		link.submit(prompt, this);
	}

	/**
	 * pi has run the calls of the last message and wants the next one. `followUp` is what the user said meanwhile, "" for
	 * nothing. A turn that ended in between says so here.
	 */
	resume(segment: Segment, followUp: string): void {
		if (followUp !== "") this.#followUps.push(followUp);
		this.#cards.release();
		this.#calls.release();
		this.#cardPatience.stop();
		if (this.#untoldVerdict) {
			const verdict = this.#untoldVerdict;
			this.#untoldVerdict = null;
			this.#tell(segment.stream, verdict);
			return;
		}
		if (this.#phase !== "parked") return;
		this.#segment = segment;
		this.#isResponseAnnounced = false;
		this.#phase = "streaming";
		segment.stream.start();
		segment.stream.setContextTokens(this.#record.contextTokens);
		segment.stream.setConversation(this.#options.link.conversationId ?? "");
		this.#silence.start();
		this.#cap.resume();
		if (this.#emptyResult === null) this.#lookup.restart();
		if (this.#resumeDelivery) this.#letDeliveryGoOn();
		else void this.#replayBacklog();
	}

	/** The user stopped it, or it was superseded. */
	abort(): void {
		this.#end("aborted");
		this.#cards.release(); // Also those of a turn that ended while pi ran its calls.
	}

	receive(message: LinkMessage): void | Promise<void> {
		if (this.#phase === "ended") return;
		this.#silence.touch();
		this.#silenceExtensions = 0;
		if (this.#emptyResult === null) this.#lookup.restart();
		if (message.kind === "events") return this.#takeGuarded(message.events);
		if (message.kind === "lines-rejected") this.#record.noteRejected(message);
	}

	ended({ exit, laneError }: LinkEnd): void {
		if (this.#emptyResult) this.#end("result", { result: this.#emptyResult });
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
		this.#endBatch();
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
		if (isStep(event)) this.#options.onStep?.(this.#options.link.conversationId ?? "", event);
		if (event.kind === "tool") {
			if (this.#options.isBridged?.(event)) {
				this.#note(event); // pi shows it when it runs it.
				this.#calls.announce(event);
				return;
			}
			void this.#options.files?.note(event, this.#options.link.conversationId ?? "");
		}
		if (isStep(event) && this.#cards.settle(event)) {
			this.#note(event);
			if (this.#phase === "parked" && !this.#cards.hasUnsettled) this.#pauseClocks();
			return;
		}
		if (this.#phase === "streaming" && movesOn(event)) {
			this.#showWaitingSteps();
			if (!this.#cards.isEmpty) this.#park();
		}
		if (this.#phase === "streaming") return this.#write(event);
		if (movesOn(event)) this.#cards.leaveBehind();
		this.#backlog.push(event);
		if (this.#cards.hasUnsettled) return;
		this.#pauseClocks();
		return this.#whenResumed();
	}

	#write(event: AgyEvent): void {
		const { stream } = this.#segment;
		this.#note(event);
		switch (event.kind) {
			case "ready":
				this.#nameConversation(event.conversationId, event.model);
				return;
			case "text":
				if (event.replaces)
					stream.thinking("agy has rewritten its answer: what follows stands in place of the text above.");
				stream.text(event.text);
				return;
			case "thinking":
				stream.thinking(event.text);
				return;
			case "model-call":
				stream.endBlock();
				stream.setContextTokens(this.#record.contextTokens);
				if (event.usage) stream.addUsage(event.usage);
				if (event.usage && event.usage.thinking > 0) {
					stream.thinking(toThinkingRow(event.usage.thinking, event.durationMs));
					stream.endBlock(); // A row of its own, whatever is told next in the same form.
				}
				return;
			case "notice":
			case "unknown":
				if (event.usage) stream.addUsage(event.usage);
				return;
			case "tool":
			case "subagent":
				this.#writeStep(event);
				return;
			case "withheld-answer":
				stream.text(this.#record.completeStep(event.step, event.text));
				if (this.#emptyResult) {
					this.#conclude(this.#emptyResult);
					return;
				}
				stream.thinking("A command that agy started is still running in the background.");
				this.#end("withheld-answer");
				return;
			case "turn-end":
				this.#takeResult(event);
				return;
			default:
				assertNever(event);
		}
	}

	#note(event: AgyEvent): void {
		this.#record.note(event);
		this.#checkRead();
	}

	#checkRead(): void {
		if (this.#unread === null || !this.#record.hasBegun) return;
		this.#options.onRead(this.#unread);
		this.#unread = null;
	}

	#writeStep(event: ToolEvent | SubagentEvent): void {
		const display = this.#options.stepDisplay();
		if (display.as === "hidden" || this.#cards.isOldNews(event)) return;
		if (display.as === "card") this.#cards.show(event, this.#segment.stream, display);
		else this.#cards.writeLine(event, this.#segment.stream);
	}

	#showWaitingSteps(): void {
		if (!this.#cards.hasWaiting) return;
		const display = this.#options.stepDisplay();
		if (display.as === "card") this.#cards.showWaiting(this.#segment.stream, display.tool);
	}

	/** All events there are have been taken: cards that wait for pi end the message now. */
	#endBatch(): void {
		if (this.#phase === "ended") return;
		if (this.#phase === "streaming" && !this.#cards.isEmpty) this.#park();
	}

	#park(): void {
		this.#phase = "parked";
		if (!this.#cards.hasUnsettled) this.#pauseClocks();
		this.#segment.stream.done("toolUse");
		this.#options.onMessage(this.#segment.stream);
	}

	/**
	 * The calls that agy waits for go into the message, which ends with them. Calls that come while parked go into the next;
	 * for that pi has to be done with this one, so cards of steps that go on are not waited for much longer.
	 */
	#parkForCalls(): void {
		if (this.#phase === "parked" && this.#cards.hasUnsettled) this.#cardPatience.start();
		if (this.#phase !== "streaming") return;
		this.#showWaitingSteps();
		for (const { id, tool, args } of this.#calls.takeWaiting())
			this.#segment.stream.toolCall({ id, name: tool, arguments: args });
		this.#park();
	}

	#pauseClocks(): void {
		this.#silence.stop();
		this.#cap.pause();
	}

	#whenResumed(): Promise<void> {
		if (this.#emptyResult === null) this.#lookup.stop(); // What is held may hold the answer.
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
		this.#endBatch();
		this.#calls.check();
	}

	#takeResult(result: TurnEndEvent): void {
		const { stream } = this.#segment;
		this.#nameConversation(result.conversationId, "");
		const completion = this.#record.completeText(result.text);
		stream.text(completion);
		const usage = this.#record.unreportedUsage(result.usage, this.#counters ?? this.#options.usageBefore);
		this.#counters = result.usage ?? this.#counters;
		if (usage) stream.addUsage(usage);
		this.#checkRead();
		const isAnswerMissing = isSuccess(result) && completion === "" && this.#record.lacksAnswer;
		if (isAnswerMissing && this.#lookup.lookNow(() => this.#conclude(result))) this.#emptyResult = result;
		else this.#conclude(result);
	}

	/** The result holds all there is: the turn goes on with what the user said meanwhile, or ends. */
	#conclude(result: TurnEndEvent): void {
		const { stream } = this.#segment;
		this.#emptyResult = null;
		const late = isSuccess(result) ? (this.#options.takeLate?.() ?? "") : "";
		if (late !== "") {
			stream.thinking("agy is told what came of a tool of pi's for which it had stopped waiting.");
			this.#followUps.push(late);
		}
		if (this.#followUps.length === 0 || !isSuccess(result) || !this.#options.takesFollowUps) {
			this.#end("result", { result });
			return;
		}
		stream.endBlock();
		this.#record.startAnswer();
		this.#unread = this.#followUps.shift() ?? "";
		this.#options.link.submitMore(this.#options.encodePrompt(this.#unread));
	}

	#nameConversation(conversationId: string, model: string): void {
		if (conversationId === "") return;
		this.#segment.stream.setConversation(conversationId);
		this.#options.onConversation(conversationId, model);
	}

	async #endUnlessToolRuns(): Promise<void> {
		const { link, inactivityTimeoutMin } = this.#options;
		const mayExtend = this.#record.hasActiveSteps && this.#silenceExtensions++ < MAX_SILENCE_EXTENSIONS;
		const isAlive = mayExtend && (await link.hasRunningCommands().catch(() => false)); // What cannot be seen does not count.
		if (this.#phase === "ended" || (this.#phase === "parked" && !this.#cards.hasUnsettled)) return;
		const wasHeard = this.#silence.idleMs < inactivityTimeoutMin * 60_000; // While the processes were looked at.
		if (isAlive || wasHeard) this.#silence.start();
		else this.#end("silent", { timeoutMin: inactivityTimeoutMin });
	}

	#end(cause: TurnEvidence["cause"], more: Partial<TurnEvidence> = {}): void {
		if (this.#phase === "ended") return;
		const wasParked = this.#phase === "parked";
		this.#phase = "ended";
		this.#silence.stop();
		this.#cap.stop();
		this.#lookup.stop();
		const { link } = this.#options;
		this.#cards.leaveBehind();
		this.#calls.stop();
		this.#cardPatience.stop();
		const known = { stderr: link.stderrTail, isReused: link.turns > 1, conversationId: link.conversationId ?? "" };
		const verdict = judge(this.#record.evidence(cause, known, more));
		const isRetried =
			!wasParked &&
			verdict.retry !== null &&
			this.#segment.stream.isEmpty &&
			this.#options.onRetry(verdict, this.#segment);
		if (wasParked) this.#untoldVerdict = verdict;
		else if (!isRetried) this.#tell(this.#segment.stream, verdict);
		this.#letDeliveryGoOn();
		const { wasRead } = this.#record;
		const undelivered = this.#unread ? [this.#unread, ...this.#followUps] : this.#followUps;
		this.#options.onEnd({ verdict, undelivered, wasRead, counters: this.#counters });
	}

	#tell(stream: PiStream, verdict: Verdict): void {
		this.#cards.release();
		if (verdict.stop !== "stop") {
			stream.fail(verdict.stop, toErrorMessage(verdict));
			return;
		}
		stream.done("stop");
		this.#options.onMessage(stream);
	}
}

function isStep(event: AgyEvent): event is ToolEvent | SubagentEvent {
	return event.kind === "tool" || event.kind === "subagent";
}

/** agy has gone on after its steps, and what it says needs a message of its own. */
function movesOn({ kind }: AgyEvent): boolean {
	return (
		kind === "text" || kind === "thinking" || kind === "model-call" || kind === "withheld-answer" || kind === "turn-end"
	);
}

function toThinkingRow(tokens: number, durationMs: number | undefined): string {
	return durationMs === undefined
		? `Thought: ${tokens} tokens.`
		: `Thought for ${(durationMs / 1000).toFixed(1)} s, ${tokens} tokens.`;
}
