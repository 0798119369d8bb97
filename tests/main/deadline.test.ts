import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { settlesWithin } from "../../src/main/deadline.ts";

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
	const timerCount = vi.getTimerCount();
	vi.useRealTimers();
	expect(timerCount).toBe(0);
});

const never = () => new Promise<never>(() => {});

test.each([
	["is fulfilled", () => Promise.resolve(0)],
	["fails", () => Promise.reject(new Error("x"))],
])("a promise that %s has settled", async (_name, make) => {
	expect(await settlesWithin(make(), 1_000)).toBe(true);
});

test("one that does not settle in time has not", async () => {
	const settled = settlesWithin(never(), 1_000);
	let answer: boolean | null = null;
	void settled.then((is) => {
		answer = is;
	});
	await vi.advanceTimersByTimeAsync(999);
	expect(answer).toBeNull();
	await vi.advanceTimersByTimeAsync(1);
	expect(await settled).toBe(false);
});

test("an abort ends the wait, also one that came before, and leaves no listener", async () => {
	const abort = new AbortController();
	const removed = vi.spyOn(abort.signal, "removeEventListener");
	const settled = settlesWithin(never(), 1_000, abort.signal);
	abort.abort();
	expect(await settled).toBe(false);
	expect(await settlesWithin(never(), 1_000, abort.signal)).toBe(false);
	expect(removed).toHaveBeenCalledTimes(2);
});
