/**
 * One turn of a session: played as planned, then judged. Rules: one outcome, which is the one that the plan leads to, or an
 * error that names what the log says was done to this very turn; text of this session alone, whole when the turn is done
 * and the beginning of the whole otherwise; every call of a tool has one result, and there are as many as planned.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { SdkSession } from "../support/sdk-session.ts";
import { assistantMessages, cards, retries, streamedText, textOf } from "../support/transcript.ts";
import type { FaultLog, Victim } from "./fault-log.ts";
import type { Outcome } from "./report.ts";
import {
	answerOf,
	CARDS,
	CRASH_WORDS,
	ENDLESS,
	lateAnswerOf,
	promptOf,
	sessionsIn,
	UNMATCHED,
	WITHOUT_TOOL,
} from "./scenario.ts";
import type { SessionPlan, TurnPlan } from "./schedule.ts";
import type { AgyNotes } from "./stage.ts";

/** Wide: only a turn that hangs for good takes longer. */
const TURN_DEADLINE_MS = 90_000;

export class PlayedTurn {
	readonly prompt: string;
	readonly problems: string[] = [];
	outcome: Outcome | null = null;
	text = "";
	readonly #plan: TurnPlan;
	readonly #session: SessionPlan;
	readonly #log: FaultLog;
	#wasAborted = false;
	#wasStalled = false;
	/** agy was started without pi's tool, and the user was told that the disk is why. */
	#wasWithoutTool = false;
	#notices = "";
	#cards = 0;
	#victim: Victim = { sessionId: "", lane: "decode", fromMs: 0, toMs: 0 };

	constructor(session: SessionPlan, plan: TurnPlan, number: number, log: FaultLog) {
		this.#log = log;
		this.#plan = plan;
		this.#session = session;
		this.prompt = promptOf(plan.kind, session.name, number);
	}

	/** Groups turns in the table. */
	get name(): string {
		return `${this.#session.engine} ${this.#plan.kind}`;
	}

	/** Enough to find it in the schedule again. */
	get description(): string {
		const { engine, tokensPerSecond } = this.#session;
		const hits = this.#log.describe(this.#victim);
		const faults = `${this.#wasStalled ? ", slow reader" : ""}${hits === "" ? "" : `, hit by ${hits}`}`;
		return `turn "${this.prompt}" (${engine}, ${tokensPerSecond} tokens/s, abort ${this.#plan.abortMs ?? "never"}${faults})`;
	}

	async play(session: SdkSession): Promise<void> {
		const { records } = session;
		records.length = 0;
		session.streamed = "";
		const stop = this.#stallReader(session);
		const abortTimer =
			this.#plan.abortMs === null ? undefined : setTimeout(() => this.#abort(session), this.#plan.abortMs);
		const limit = new AbortController();
		const deadline = delay(TURN_DEADLINE_MS, "late" as const, { signal: limit.signal }).catch(() => "late" as const);
		const fromMs = performance.now();
		let thrown = "";
		const asked = session.session.prompt(this.prompt).catch((error: unknown) => {
			thrown = String(error);
		});
		const ended = await Promise.race([asked, deadline]);
		limit.abort();
		clearTimeout(abortTimer);
		stop();
		this.#victim = {
			sessionId: session.session.sessionId,
			lane: this.#session.engine === "legacy-sqlite" ? "poll" : "decode",
			fromMs,
			toMs: performance.now(),
		};
		// pi itself may be unable to write its session.
		if (thrown !== "" && !this.#log.explains(thrown, this.#victim)) this.problems.push(`pi threw: ${thrown}`);
		if (ended === "late") {
			this.problems.push(`no outcome after ${TURN_DEADLINE_MS / 1000} s; text so far: ${quote(session.streamed)}`);
			await Promise.race([session.session.abort(), delay(5_000)]);
		} else if (thrown === "") this.#judge(session);
		records.length = 0;
	}

	/** With what agy's side says of the round; to be called once. */
	compare(notes: AgyNotes): void {
		if (this.outcome === null) return;
		const wholes = this.#wholeAnswers(notes);
		const shown = `${quote(this.text)} with ${this.#cards} cards`;
		if (this.outcome !== "done") {
			if (!wholes.some(({ text, cards }) => text.startsWith(this.text) && this.#cards <= Math.max(...cards)))
				this.problems.push(`${shown} is no beginning of ${quote(wholes[0]?.text ?? "")}`);
			return;
		}
		const whole = wholes.find(({ text, cards }) => text === this.text && cards.includes(this.#cards));
		if (!whole)
			this.problems.push(
				`expected ${wholes.map(({ text, cards }) => `${quote(text)} with ${cards} cards`).join(" or ")}, got ${shown}`,
				...(this.#plan.kind === "tool" ? [`the user was told: ${this.#notices}`, ...notes.unreached] : []),
			);
		const said = notes.answers.get(this.prompt) ?? [];
		if (
			!said.some(
				(answer) => this.text === answer || this.text === answer + lateAnswerOf(this.#session.name, this.prompt),
			)
		)
			this.problems.push(`agy said ${said.map(quote).join(" or ") || "nothing"}, pi has ${quote(this.text)}`);
	}

	#abort(session: SdkSession): void {
		this.#wasAborted = true;
		void session.session.abort();
	}

	/** Somebody who listens to the session and holds the thread for a while. */
	#stallReader(session: SdkSession): () => void {
		let count = 0;
		const stalls = new Map(this.#plan.stalls.map(({ atEvent, ms }) => [atEvent, ms]));
		return session.session.subscribe(() => {
			const ms = stalls.get(++count);
			if (ms === undefined) return;
			this.#wasStalled = true;
			const endMs = performance.now() + ms;
			while (performance.now() < endMs); // Blocking is the purpose.
		});
	}

	#judge(session: SdkSession): void {
		const { records } = session;
		const messages = assistantMessages(records);
		const ends = messages.map(({ stopReason }) => stopReason).filter((reason) => reason !== "toolUse");
		this.text = messages.map(textOf).join("");
		if (ends.length !== 1)
			this.problems.push(`${ends.length} outcomes: ${messages.map(({ stopReason }) => stopReason)}`);
		this.outcome = toOutcome(ends.at(-1));
		const errors = messages.flatMap(({ errorMessage }) => errorMessage ?? []).join("; ");
		if (!this.#isRight(errors)) this.problems.push(`that is not how it may end: ${ends.at(-1)}, "${errors}"`);
		if (retries(records) > 0) this.problems.push(`pi retried by itself, after: ${errors}`);
		const streamed = streamedText(records);
		if (streamed !== this.text)
			this.problems.push(`streamed ${quote(streamed)}, and the message says ${quote(this.text)}`);
		for (const other of sessionsIn(this.text))
			if (other !== this.#session.name) this.problems.push(`text of the session ${other}: ${quote(this.text)}`);
		if (this.text.includes(UNMATCHED)) this.problems.push("agy got a prompt that is none of the schedule's");
		this.#notices = session.notices.join("; ");
		this.#wasWithoutTool =
			this.#plan.kind === "tool" &&
			session.notices.some((notice) => {
				const [, words] = /^agy cannot use pi's tools: (.*)/s.exec(notice) ?? [];
				return words !== undefined && this.#log.explains(words, this.#victim);
			});
		try {
			this.#cards = cards(records).length;
		} catch (error) {
			this.problems.push(String(error)); // A call without a result, or with two.
		}
	}

	/**
	 * The outcome is the plan's, or it is an error that says itself what was done to this very turn.
	 */
	#isRight(errors: string): boolean {
		const { kind, abortMs } = this.#plan;
		if (this.outcome === "aborted") return this.#wasAborted;
		if (this.outcome === "error") return CRASH_WORDS[kind]?.test(errors) || this.#log.explains(errors, this.#victim);
		return this.outcome === "done" && CRASH_WORDS[kind] === undefined && !(abortMs !== null && ENDLESS.has(kind));
	}

	/** Every answer that is whole, with the number of cards that belongs to it. */
	#wholeAnswers({ cutCalls }: AgyNotes): readonly { readonly text: string; readonly cards: readonly number[] }[] {
		const { kind } = this.#plan;
		const { name } = this.#session;
		const whole = { text: answerOf(kind, this.prompt, name), cards: [CARDS[kind] ?? 0] };
		if (this.#wasWithoutTool) return [whole, { text: WITHOUT_TOOL, cards: [1] }];
		const cut = cutCalls.get(this.prompt);
		if (cut === undefined) return [whole];
		// pi may have run the tool all the same; its result is told when agy has said what it has.
		return [
			{ text: cut, cards: [0, 1] },
			{ text: cut + lateAnswerOf(name, this.prompt), cards: [1] },
		];
	}
}

function toOutcome(stopReason: string | undefined): Outcome | null {
	if (stopReason === "stop") return "done";
	return stopReason === "error" || stopReason === "aborted" ? stopReason : null;
}

function quote(text: string): string {
	const shown = text.length > 160 ? `${text.slice(0, 80)} … ${text.slice(-60)}` : text;
	return `${text.length} characters ${JSON.stringify(shown)}`;
}
