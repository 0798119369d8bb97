/**
 * The time limits of a capture by the clock: what it brings tells nothing of a device that brings nothing.
 *
 * Time is counted in ticks of this thread. While pi is suspended, or the machine asleep, none passes: the sound that waits
 * to be read then is no stall.
 */

const TICK_MS = 250;

export type ClockLimits = {
	/** Without sound for so long. Null: sound is not waited for. */
	readonly stallMs: number | null;
	/** Since the clock was started. */
	readonly totalMs: number;
	readonly onStall: () => void;
	readonly onTotal: () => void;
};

export class CaptureClock {
	readonly #limits: ClockLimits;
	readonly #timer: NodeJS.Timeout;
	#ticks = 0;
	#heardAtTick = 0;

	/** Starts it. Each limit is told once, and nothing after `stop`. */
	constructor(limits: ClockLimits) {
		this.#limits = limits;
		this.#timer = setInterval(() => this.#tick(), TICK_MS);
	}

	/** There was sound. */
	heard(): void {
		this.#heardAtTick = this.#ticks;
	}

	stop(): void {
		clearInterval(this.#timer);
	}

	#tick(): void {
		this.#ticks++;
		const { stallMs, totalMs, onStall, onTotal } = this.#limits;
		const hasStalled = stallMs !== null && (this.#ticks - this.#heardAtTick) * TICK_MS >= stallMs;
		if (!hasStalled && this.#ticks * TICK_MS < totalMs) return;
		this.stop();
		if (hasStalled) onStall();
		else onTotal();
	}
}
