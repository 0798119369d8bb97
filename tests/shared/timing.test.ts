import { createHistogram } from "node:perf_hooks";
import { expect, test } from "vitest";
import { NO_TIMING, toTiming } from "../../src/shared/timing.ts";

test("a histogram without values is all zeros", () => {
	expect(toTiming(createHistogram(), 1_000)).toStrictEqual(NO_TIMING);
});

test("values come out in milliseconds, with what every one has in common taken off", () => {
	const histogram = createHistogram();
	for (let value = 1; value <= 100; value++) histogram.record(value * 1_000);
	const { count, p50Ms, p95Ms, p99Ms, maxMs } = toTiming(histogram, 1_000);
	expect(count).toBe(100);
	expect([p50Ms, p95Ms, p99Ms, maxMs].map(Math.round)).toStrictEqual([50, 95, 99, 100]);
	expect(Math.round(toTiming(histogram, 1_000, 40).p50Ms)).toBe(10);
	expect(toTiming(histogram, 1_000, 500).maxMs).toBe(0);
});
