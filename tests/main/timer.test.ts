import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Timer } from "../../src/main/timer.ts";

let fired: number;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	fired = 0;
});

afterEach(() => {
	const timerCount = vi.getTimerCount();
	vi.useRealTimers();
	expect(timerCount).toBe(0);
});

function makeTimer(timeoutMs: number): Timer {
	return new Timer(timeoutMs, () => fired++);
}

test("fires once when its time is over", () => {
	const timer = makeTimer(100);
	timer.start();
	vi.advanceTimersByTime(99);
	expect(fired).toBe(0);
	vi.advanceTimersByTime(1);
	expect(fired).toBe(1);
	vi.advanceTimersByTime(1_000);
	expect(fired).toBe(1);
});

test("does not run before it is started", () => {
	makeTimer(100);
	vi.advanceTimersByTime(1_000);
	expect(fired).toBe(0);
});

test("each touch starts its time anew, at the cost of no timeout", () => {
	const timer = makeTimer(100);
	timer.start();
	for (let touch = 0; touch < 10; touch++) {
		vi.advanceTimersByTime(90);
		timer.touch();
		expect(vi.getTimerCount()).toBe(1);
	}
	vi.advanceTimersByTime(99);
	expect(fired).toBe(0);
	vi.advanceTimersByTime(1);
	expect(fired).toBe(1);
});

test("a timeout of 0 never fires and sets nothing", () => {
	const timer = makeTimer(0);
	timer.start();
	timer.touch();
	timer.pause();
	timer.resume();
	expect(vi.getTimerCount()).toBe(0);
	vi.advanceTimersByTime(1_000_000);
	expect(fired).toBe(0);
});

test("a time longer than setTimeout takes is waited for in full", () => {
	const days = 40 * 86_400_000;
	const timer = makeTimer(days);
	timer.start();
	vi.advanceTimersByTime(days - 1);
	expect(fired).toBe(0);
	vi.advanceTimersByTime(1);
	expect(fired).toBe(1);
});

test("tells how long nothing has touched it, running or not", () => {
	const timer = makeTimer(0);
	timer.start();
	vi.advanceTimersByTime(70);
	expect(timer.idleMs).toBe(70);
	timer.touch();
	vi.advanceTimersByTime(30);
	expect(timer.idleMs).toBe(30);
	timer.stop();
	vi.advanceTimersByTime(5);
	expect(timer.idleMs).toBe(35);
	timer.start();
	expect(timer.idleMs).toBe(0);
});

describe("a pause", () => {
	test("does not count", () => {
		const timer = makeTimer(100);
		timer.start();
		vi.advanceTimersByTime(60);
		timer.pause();
		expect(vi.getTimerCount()).toBe(0);
		vi.advanceTimersByTime(1_000);
		expect(fired).toBe(0);
		timer.resume();
		vi.advanceTimersByTime(39);
		expect(fired).toBe(0);
		vi.advanceTimersByTime(1);
		expect(fired).toBe(1);
	});

	test("many of them do not put the end off", () => {
		const timer = makeTimer(100);
		timer.start();
		for (let pause = 0; pause < 4; pause++) {
			vi.advanceTimersByTime(20);
			timer.pause();
			vi.advanceTimersByTime(500);
			timer.resume();
		}
		vi.advanceTimersByTime(19);
		expect(fired).toBe(0);
		vi.advanceTimersByTime(1);
		expect(fired).toBe(1);
	});

	test("a start after it gives the whole time again", () => {
		const timer = makeTimer(100);
		timer.start();
		vi.advanceTimersByTime(60);
		timer.pause();
		timer.start();
		vi.advanceTimersByTime(99);
		expect(fired).toBe(0);
		vi.advanceTimersByTime(1);
		expect(fired).toBe(1);
	});

	test("of what was stopped and is resumed gives the whole time", () => {
		const timer = makeTimer(100);
		timer.start();
		vi.advanceTimersByTime(60);
		timer.stop();
		timer.resume();
		vi.advanceTimersByTime(99);
		expect(fired).toBe(0);
		vi.advanceTimersByTime(1);
		expect(fired).toBe(1);
	});

	test("twice is once, and resuming what runs changes nothing", () => {
		const timer = makeTimer(100);
		timer.start();
		vi.advanceTimersByTime(60);
		timer.pause();
		vi.advanceTimersByTime(10);
		timer.pause();
		timer.resume();
		timer.resume();
		expect(vi.getTimerCount()).toBe(1);
		vi.advanceTimersByTime(40);
		expect(fired).toBe(1);
	});
});

test("stopped, it never fires", () => {
	const timer = makeTimer(100);
	timer.start();
	timer.stop();
	timer.stop();
	expect(vi.getTimerCount()).toBe(0);
	vi.advanceTimersByTime(1_000);
	expect(fired).toBe(0);
});
