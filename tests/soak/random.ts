/** Random numbers that a seed decides: the same seed and purpose give the same numbers, whatever else was drawn before. */

export class Random {
	#state: number;

	constructor(seed: number, purpose: string) {
		this.#state = seed >>> 0;
		for (const char of purpose) this.#state = Math.imul(this.#state ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
		for (let round = 0; round < 4; round++) this.fraction(); // Neighbouring seeds drift apart.
	}

	/** From 0 up to, not including, 1 (mulberry32). */
	fraction(): number {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	}

	/** A whole number, both ends included. */
	whole(least: number, most: number): number {
		return least + Math.floor(this.fraction() * (most - least + 1));
	}

	chance(share: number): boolean {
		return this.fraction() < share;
	}

	pick<T>(choices: readonly T[]): T {
		return choices[this.whole(0, choices.length - 1)] as T;
	}

	/** One of the names, each as likely as its weight says. */
	weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T {
		const entries = Object.entries(weights) as [T, number][];
		let left = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
		for (const [name, weight] of entries) {
			left -= weight;
			if (left < 0) return name;
		}
		return (entries.at(-1) as [T, number])[0];
	}
}
