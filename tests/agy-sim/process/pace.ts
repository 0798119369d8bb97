/**
 * Text speed: turns "so many tokens were said" into waiting. Due times are absolute, so the rate holds over a long
 * answer however late a single timer fires.
 */
import { setTimeout as sleep } from "node:timers/promises";

const CHARACTERS_PER_TOKEN = 4;
const MIN_WAIT_MS = 1;

export class Pace {
	readonly #unitsPerSecond: number;
	#dueMs: number | undefined;

	constructor(unitsPerSecond: number) {
		this.#unitsPerSecond = unitsPerSecond;
	}

	afterText(text: string, signal: AbortSignal): Promise<void> {
		return this.after(text.length / CHARACTERS_PER_TOKEN, signal);
	}

	/** Waits for the time the given number of units takes; throws the signal's reason when it is aborted. */
	async after(units: number, signal: AbortSignal): Promise<void> {
		signal.throwIfAborted();
		if (this.#unitsPerSecond === 0) return;
		this.#dueMs = (this.#dueMs ?? performance.now()) + (units / this.#unitsPerSecond) * 1000;
		const waitMs = this.#dueMs - performance.now();
		if (waitMs < MIN_WAIT_MS) return;
		await sleep(waitMs, undefined, { signal }).catch((error: unknown) => {
			signal.throwIfAborted();
			throw error;
		});
	}
}
