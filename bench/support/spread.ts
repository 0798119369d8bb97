/** The spread of a set of measurements: never a mean alone. */

export type Spread = {
	readonly p50: number;
	readonly p75: number;
	readonly p99: number;
	readonly samples: number;
};

/** Nearest-rank percentiles. All NaN for an empty set. */
export function spreadOf(values: Iterable<number>): Spread {
	const sorted = Float64Array.from(values).sort();
	const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
	return { p50: at(0.5), p75: at(0.75), p99: at(0.99), samples: sorted.length };
}
