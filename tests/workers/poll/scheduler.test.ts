import { mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { POLL_INTERVAL_MS, POLL_RECHECK_MS } from "../../../src/shared/limits.ts";
import { type Run, Scheduler } from "../../../src/workers/poll/scheduler.ts";
import { until } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";

/** A run that counts its looks. */
class CountedRun implements Run {
	looks = 0;
	onLook: () => void = () => {};
	readonly #file: string;

	constructor(file = "a.db") {
		this.#file = file;
	}

	concerns(fileName: string): boolean {
		return fileName === this.#file;
	}

	look(): void {
		this.looks++;
		this.onLook();
	}
}

const folder = new Folder();
const NOWHERE = "/nowhere/at/all";

describe("the clock", () => {
	/** What looks have taken: the faked clock stands still while one runs. */
	let takenMs = 0;
	let scheduler: Scheduler;
	beforeEach(() => {
		vi.useFakeTimers();
		takenMs = 0;
		scheduler = new Scheduler(() => performance.now() + takenMs);
	});
	afterEach(() => {
		scheduler.close();
		expect(vi.getTimerCount()).toBe(0);
		vi.useRealTimers();
	});

	test("looks at a run at once and then each interval, and at many together", () => {
		const [first, second] = [new CountedRun(), new CountedRun()];
		scheduler.add(first, NOWHERE);
		expect(first.looks).toBe(0);
		vi.advanceTimersByTime(1);
		expect(first.looks).toBe(1);
		vi.advanceTimersByTime(POLL_INTERVAL_MS / 2);
		scheduler.add(second, NOWHERE);
		vi.advanceTimersByTime(4 * POLL_INTERVAL_MS);
		expect([first.looks, second.looks]).toEqual([5, 5]);
		expect(vi.getTimerCount()).toBe(1);
	});

	test("looks at a dear run less often, and at the others as before", () => {
		const [dear, cheap] = [new CountedRun(), new CountedRun()];
		dear.onLook = () => {
			takenMs += 100;
		};
		scheduler.add(dear, NOWHERE);
		scheduler.add(cheap, NOWHERE);
		vi.advanceTimersByTime(40 * POLL_INTERVAL_MS);
		expect(dear.looks).toBeGreaterThan(7);
		expect(dear.looks).toBeLessThanOrEqual(12); // a tenth of ten seconds, and the first
		expect(cheap.looks).toBeGreaterThan(35);
	});

	test("stops for a run that is removed, also amid the looks", () => {
		const [first, second] = [new CountedRun(), new CountedRun()];
		first.onLook = () => {
			scheduler.remove(first);
			scheduler.remove(second);
		};
		scheduler.add(first, NOWHERE);
		scheduler.add(second, NOWHERE);
		vi.advanceTimersByTime(10 * POLL_INTERVAL_MS);
		expect([first.looks, second.looks, vi.getTimerCount()]).toEqual([1, 0, 0]);
		scheduler.remove(first);
		scheduler.add(second, NOWHERE);
		vi.advanceTimersByTime(1);
		expect(second.looks).toBe(1);
	});
});

describe("a notification", () => {
	/** Stands still: no interval passes. */
	let nowMs = 0;
	let scheduler: Scheduler;
	beforeEach(() => {
		nowMs = 0;
		scheduler = new Scheduler(() => nowMs);
	});
	afterEach(() => scheduler.close());

	const looked = (run: CountedRun, times: number) => until(`look ${times}`, () => run.looks >= times);

	test("brings the look of the run forward that it concerns, and a second one follows", async () => {
		const [ours, other] = [new CountedRun("a.db"), new CountedRun("b.db")];
		scheduler.add(ours, folder.path);
		scheduler.add(other, folder.path);
		await looked(other, 1);
		writeFileSync(folder.at("a.db"), "");
		await looked(ours, 2);
		const { looks } = ours;
		nowMs += POLL_RECHECK_MS;
		await looked(ours, looks + 1);
		expect(other.looks).toBe(1);
	});

	test("does not bring a dear run's look forward, but counts when its pause is over", async () => {
		const [dear, other] = [new CountedRun("a.db"), new CountedRun("a.db")];
		dear.onLook = () => {
			nowMs += 10;
		};
		scheduler.add(dear, folder.path);
		scheduler.add(other, folder.path);
		await looked(other, 1);
		writeFileSync(folder.at("a.db"), "");
		await looked(other, 2);
		expect(dear.looks).toBe(1);
		nowMs += 100; // ten times the look, less than an interval
		await looked(dear, 2);
	});

	test("comes from a folder that is made later, too", async () => {
		const run = new CountedRun("a.db");
		scheduler.add(run, folder.at("later"));
		await looked(run, 1);
		mkdirSync(folder.at("later"));
		nowMs += POLL_INTERVAL_MS;
		await looked(run, 2); // from now on it is watched
		writeFileSync(folder.at("later", "a.db"), "");
		await looked(run, 3);
	});

	test("is of no interest to a run that was removed", async () => {
		const [gone, stays] = [new CountedRun("a.db"), new CountedRun("a.db")];
		scheduler.add(gone, folder.path);
		scheduler.add(stays, folder.path);
		await looked(stays, 1);
		scheduler.remove(gone);
		writeFileSync(folder.at("a.db"), "");
		await looked(stays, 2);
		expect(gone.looks).toBe(1);
	});
});
