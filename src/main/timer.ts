/**
 * A timer over activity: fires when nothing has touched it for its time, not counting pauses. Touching only notes the
 * moment, so it may be done for every message; the underlying timeout is set again when it runs out early.
 */

/** setTimeout takes no more. */
const MAX_TIMEOUT_MS = 2_147_483_647;

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

	/** Since the last touch. */
	get idleMs(): number {
		return performance.now() - this.#lastTouchMs;
	}

	/** Gives the whole time, also after a pause or after it has fired. */
	start(): void {
		this.#spentMs = 0;
		this.#run();
	}

	touch(): void {
		this.#lastTouchMs = performance.now();
	}

	pause(): void {
		if (this.#timeout === undefined) return;
		this.#spentMs = this.idleMs;
		this.stop();
	}

	/** Goes on with what was left at the pause. */
	resume(): void {
		if (this.#timeout === undefined) this.#run();
	}

	/** Until the next start. */
	stop(): void {
		clearTimeout(this.#timeout);
		this.#timeout = undefined;
	}

	#run(): void {
		this.#lastTouchMs = performance.now() - this.#spentMs;
		if (this.#timeoutMs > 0 && this.#timeout === undefined) this.#wait(this.#timeoutMs - this.#spentMs);
	}

	#wait(ms: number): void {
		this.#timeout = setTimeout(() => this.#check(), Math.min(ms, MAX_TIMEOUT_MS));
	}

	#check(): void {
		this.#timeout = undefined;
		const remainingMs = this.#timeoutMs - this.idleMs;
		if (remainingMs > 0) this.#wait(remainingMs);
		else this.#onFire();
	}
}
