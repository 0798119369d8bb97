import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CaptureClock } from "../../../src/main/voice/capture-clock.ts";

let told: string[];
let clock: CaptureClock;

beforeEach(() => {
	vi.useFakeTimers();
	told = [];
});
afterEach(() => {
	clock.stop();
	vi.useRealTimers();
});

function start(stallMs: number | null, totalMs: number): void {
	clock = new CaptureClock({
		...{ stallMs, totalMs },
		onStall: () => told.push("stall"),
		onTotal: () => told.push("total"),
	});
}

test("tells once that sound has stopped to come", () => {
	start(2_000, 10_000);
	vi.advanceTimersByTime(1_999);
	expect(told).toEqual([]);
	vi.advanceTimersByTime(1);
	expect(told).toEqual(["stall"]);
	vi.advanceTimersByTime(60_000);
	expect(told).toEqual(["stall"]);
});

test("counts anew with every sound, and tells once that the whole took too long", () => {
	start(2_000, 10_000);
	for (let second = 1; second < 10; second++) {
		vi.advanceTimersByTime(1_000);
		clock.heard();
	}
	expect(told).toEqual([]);
	vi.advanceTimersByTime(60_000);
	expect(told).toEqual(["total"]);
});

test("waits for no sound where none is asked for", () => {
	start(null, 10_000);
	vi.advanceTimersByTime(9_999);
	expect(told).toEqual([]);
	vi.advanceTimersByTime(1);
	expect(told).toEqual(["total"]);
});

test("tells nothing once it is stopped", () => {
	start(2_000, 3_000);
	clock.stop();
	vi.advanceTimersByTime(60_000);
	expect(told).toEqual([]);
});

test("does not count the time in which this thread stood still", () => {
	start(2_000, 60_000);
	vi.advanceTimersByTime(250);
	// A timer that is an hour late fires once, as after a suspension.
	vi.setSystemTime(Date.now() + 3_600_000);
	vi.advanceTimersByTime(250);
	expect(told).toEqual([]);
});
