/**
 * A timer over activity: fires once when nothing has touched it for its time, not counting pauses. Touching only notes
 * the moment, so it may be done for every message; the underlying timeout is set again when it runs out early.
 */
export class Timer {
	readonly #timeoutMs: number;
	readonly #onFire: () => void;
	#timeout: NodeJS.Timeout | undefined;
	#lastTouchMs = 0;
	/** What had passed since the last touch when it was paused. */
	#spentMs = 0;

	/** A `timeoutMs` of 0 never fires. */
	constructor(timeoutMs: number, onFire: () => void) {
		this.#timeoutMs = timeoutMs;
		this.#onFire = onFire;
	}

	/** Gives the whole time, also after a pause. */
	start(): void {
		this.#spentMs = 0;
		this.#run();
	}

	touch(): void {
		this.#lastTouchMs = performance.now();
	}

	pause(): void {
		if (this.#timeout === undefined) return;
		this.#spentMs = performance.now() - this.#lastTouchMs;
		this.stop();
	}

	/** Goes on with what was left at the pause. */
	resume(): void {
		if (this.#timeout === undefined) this.#run();
	}

	/** For good. */
	stop(): void {
		clearTimeout(this.#timeout);
		this.#timeout = undefined;
	}

	#run(): void {
		this.#lastTouchMs = performance.now() - this.#spentMs;
		if (this.#timeoutMs > 0) this.#wait(this.#timeoutMs - this.#spentMs);
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
