import { expect, test } from "vitest";
import { familyOf } from "../../../src/main/processes/proof.ts";
import { stopFamily } from "../../../src/main/processes/stop.ts";
import { TERM_GRACE_MS } from "../../../src/shared/limits.ts";
import { ChildNursery } from "../../support/child-process.ts";
import { until } from "../../support/condition.ts";
import { isRunning } from "../../support/process-table.ts";

const nursery = new ChildNursery();

test("asks first, and is done as soon as they are gone", async () => {
	const child = await nursery.shell("trap 'exit 5' TERM; echo up; while :; do sleep 0.02; done", { lines: 1 });
	await stopFamily([child.identity]);
	await child.exited;
	expect(child.process.exitCode).toBe(5);
});

test("kills what does not listen, after its grace", async () => {
	const child = await nursery.shell("trap '' TERM; echo up; while :; do sleep 0.05; done", { lines: 1 });
	const startMs = performance.now();
	await stopFamily([child.identity]);
	expect(performance.now() - startMs).toBeGreaterThanOrEqual(TERM_GRACE_MS);
	await child.exited;
	expect(child.process.signalCode).toBe("SIGKILL");
});

test("stops a whole family, and nobody else", async () => {
	const stranger = await nursery.sleeper();
	const parent = await nursery.shell("sleep 1000 & echo $!; setsid sleep 1000 & echo $!; wait", { lines: 2 });
	const made = nursery.pidsOf(parent);
	await until("both run", async () => (await familyOf(parent.pid)).length === 3);
	await stopFamily(await familyOf(parent.pid));
	await parent.exited;
	await until("the family is gone", () => made.every((pid) => !isRunning(pid)));
	expect(isRunning(stranger.pid)).toBe(true);
});

test("nothing to stop is no wait", async () => {
	const child = await nursery.sleeper();
	const startMs = performance.now();
	await stopFamily([]);
	await stopFamily([{ pid: child.pid, startTime: "1" }]);
	expect(performance.now() - startMs).toBeLessThan(TERM_GRACE_MS);
	expect(isRunning(child.pid)).toBe(true);
});
