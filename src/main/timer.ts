/**
 * A timer over activity: fires once when nothing has touched it for its time, not counting pauses. Touching only notes
 * the moment, so it may be done for every message; the underlying timeout is set again when it runs out early.
 */
export class Timer {
	readonly #timeoutMs: number;
	readonly #onFire: () => void;
	#timeout: NodeJS.Timeout | undefined;
	#lastTouchMs = 0;

	/** A `timeoutMs` of 0 never fires. */
	constructor(timeoutMs: number, onFire: () => void) {
		this.#timeoutMs = timeoutMs;
		this.#onFire = onFire;
	}

	start(): void {
		this.touch();
		if (this.#timeoutMs > 0) this.#wait(this.#timeoutMs);
	}

	touch(): void {
		this.#lastTouchMs = performance.now();
	}

	pause(): void {
		clearTimeout(this.#timeout);
		this.#timeout = undefined;
	}

	/** Starts anew after a pause. */
	resume(): void {
		if (this.#timeout === undefined) this.start();
	}

	/** For good. */
	stop(): void {
		this.pause();
	}

	#wait(ms: number): void {
		// setTimeout takes at most 2^31 - 1 ms.
		this.#timeout = setTimeout(() => this.#check(), Math.min(ms, 2_147_483_647));
	}

	#check(): void {
		const remainingMs = this.#lastTouchMs + this.#timeoutMs - performance.now();
		if (remainingMs > 0) this.#wait(remainingMs);
		else this.#onFire();
	}
}
