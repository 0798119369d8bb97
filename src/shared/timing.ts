/** What a histogram says, in numbers that can cross a thread. */

/** Durations in milliseconds; all 0 when nothing was recorded. */
export type Timing = {
	readonly count: number;
	readonly p50Ms: number;
	readonly p95Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
};

/** The part of node:perf_hooks' histograms that is read. */
type Recorded = { readonly count: number; readonly max: number; percentile(percentile: number): number };

export const NO_TIMING: Timing = { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0, maxMs: 0 };

/** `unitsPerMs` says what the histogram counts in; `offsetMs` is taken off every value. */
export function toTiming(histogram: Recorded, unitsPerMs: number, offsetMs = 0): Timing {
	const { count, max } = histogram;
	if (count === 0) return NO_TIMING;
	const toMs = (value: number) => Math.max(0, Math.round((value / unitsPerMs - offsetMs) * 1000) / 1000);
	return {
		count,
		p50Ms: toMs(histogram.percentile(50)),
		p95Ms: toMs(histogram.percentile(95)),
		p99Ms: toMs(histogram.percentile(99)),
		maxMs: toMs(max),
	};
}
