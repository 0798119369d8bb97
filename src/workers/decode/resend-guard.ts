/**
 * A guard against an agy that sends the whole text so far where the next piece belongs: only what is new passes. agy's
 * pieces are known as true increments, so a start of some length has to repeat before anything is held back; a text that
 * merely repeats itself passes whole. Costs a comparison of lengths for nearly every piece; an answer that came in pieces
 * for long enough is not looked at any more.
 */

import { RESEND_MAX_CHARS, RESEND_MIN_CHARS } from "../../shared/limits.ts";

export class ResendGuard {
	#step = -1;
	/** The answer so far. */
	#text = "";
	/** The last piece while each one began with the one before: resent from the first piece on. Null otherwise. */
	#chain: string | null = "";
	#isResending = false;
	#isTrusted = false;

	/** What of a piece of the step's text was not said before. */
	newPart(step: number, piece: string): string {
		if (step !== this.#step) this.#begin(step);
		if (this.#isTrusted) return piece;
		const knownLength = piece.length < RESEND_MIN_CHARS ? 0 : this.#knownLength(piece);
		if (this.#chain !== null) this.#chain = isLongerOf(piece, this.#chain) ? piece : null;
		this.#isResending = knownLength > 0;
		if (this.#isResending) {
			this.#text = piece;
			return piece.slice(knownLength);
		}
		this.#isTrusted = this.#text.length > RESEND_MAX_CHARS;
		this.#text = this.#isTrusted ? "" : this.#text + piece;
		return piece;
	}

	/** The step is over: one of the same number is another. */
	end(): void {
		this.#begin(-1);
	}

	#begin(step: number): void {
		this.#step = step;
		this.#text = "";
		this.#chain = "";
		this.#isResending = false;
		this.#isTrusted = false;
	}

	#knownLength(piece: string): number {
		for (const known of [this.#text, this.#chain]) {
			if (known !== null && known.length >= RESEND_MIN_CHARS && isLongerOf(piece, known)) return known.length;
		}
		return this.#isResending && piece === this.#text ? piece.length : 0;
	}
}

function isLongerOf(piece: string, start: string): boolean {
	return piece.length > start.length && piece.startsWith(start);
}
