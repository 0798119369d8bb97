/**
 * When a turn has agy's transcript looked at for an answer that stdout does not bring: agy is silent because a command it
 * left running holds the turn open, or it reported success and no answer. The lane looks; what it finds arrives as a
 * `withheld-answer`.
 */

import { TRANSCRIPT_LOOKUP_MS, WITHHELD_AFTER_MS, WITHHELD_IDLE_AFTER_MS } from "../shared/limits.ts";
import type { Link } from "./link.ts";
import { Timer } from "./timer.ts";
import type { TurnRecord } from "./turn-record.ts";

export class TranscriptLookup {
	readonly #link: Link;
	readonly #record: TurnRecord;
	readonly #pathOf: (conversationId: string) => string;
	readonly #silence: Timer;
	readonly #watch: Timer;
	#isWatching = false;
	#timeout: NodeJS.Timeout | undefined;

	/** `silence` is touched by whatever agy says. */
	constructor(link: Link, record: TurnRecord, pathOf: (conversationId: string) => string, silence: Timer) {
		this.#link = link;
		this.#record = record;
		this.#pathOf = pathOf;
		this.#silence = silence;
		this.#watch = new Timer(WITHHELD_AFTER_MS, () => this.#lookWhenDue());
	}

	/** agy said something: an answer that was looked for would have been older. */
	restart(): void {
		this.stop();
		this.#watch.start();
	}

	/** Looks now; `onNothing` when the transcript has brought no answer soon. False when there is no transcript to look at. */
	lookNow(onNothing: () => void): boolean {
		this.stop();
		if (!this.#look()) return false;
		this.#timeout = setTimeout(() => {
			this.stop();
			onNothing();
		}, TRANSCRIPT_LOOKUP_MS);
		return true;
	}

	stop(): void {
		this.#watch.stop();
		clearTimeout(this.#timeout);
		if (this.#isWatching) this.#link.unwatchTranscript();
		this.#isWatching = false;
	}

	#lookWhenDue(): void {
		const isDue = this.#record.hasActiveSteps || this.#silence.idleMs >= WITHHELD_IDLE_AFTER_MS;
		if (!isDue || !this.#look()) this.#watch.start();
	}

	/** Only what comes behind the last step that is no part of an answer belongs to this turn. */
	#look(): boolean {
		const { conversationId } = this.#link;
		const { lastRequestStep } = this.#record;
		if (conversationId === null || lastRequestStep < 0) return false;
		this.#isWatching = true;
		this.#link.watchTranscript(this.#pathOf(conversationId), lastRequestStep);
		return true;
	}
}
