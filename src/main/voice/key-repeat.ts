/** A key that is held down comes again and again, and a terminal does not tell that from presses. Pure. */

/** Longer than what systems wait before the first repeat, in most of them; a recording shorter than it is none. */
const REPEAT_MS = 500;

export class KeyRepeat {
	#lastMs = Number.NEGATIVE_INFINITY;

	/** Whether a press at `nowMs` belongs to the one before: as long as it is held each of them lengthens it. */
	isRepeat(nowMs: number): boolean {
		const isRepeat = nowMs - this.#lastMs < REPEAT_MS;
		this.#lastMs = nowMs;
		return isRepeat;
	}
}
