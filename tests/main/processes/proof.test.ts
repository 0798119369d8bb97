import { describe, expect, test } from "vitest";
import { familyOf, identify, isAlive, ownIdentity, signalProven } from "../../../src/main/processes/proof.ts";
import { ChildNursery } from "../../support/child-process.ts";
import { until } from "../../support/condition.ts";
import { isRunning } from "../../support/process-table.ts";

const nursery = new ChildNursery();
/** Above any pid the system gives out. */
const NO_PID = 2 ** 30;

describe("an identity", () => {
	test("of this process is the same each time and alive", async () => {
		const own = await ownIdentity();
		expect(own.pid).toBe(process.pid);
		expect(own.startTime).not.toBe("");
		expect(await identify(process.pid)).toStrictEqual(own);
		expect(await isAlive(own)).toBe(true);
	});

	test("of a child is its own", async () => {
		const child = await nursery.sleeper();
		expect(child.identity).toMatchObject({ pid: child.pid, startTime: expect.stringMatching(/^\S+$/) });
		expect(await isAlive(child.identity)).toBe(true);
	});

	test("is none where there is no process", async () => {
		expect(await identify(NO_PID)).toBeNull();
		expect(await isAlive({ pid: NO_PID, startTime: "1" })).toBe(false);
	});

	test("ends with the process", async () => {
		const child = await nursery.sleeper();
		child.process.kill("SIGKILL");
		await child.exited;
		expect(await identify(child.pid)).toBeNull();
		expect(await isAlive(child.identity)).toBe(false);
	});

	test("is none of a zombie", async () => {
		const parent = await nursery.shell("true & echo $!; exec sleep 1000", { lines: 1 });
		const [zombie = 0] = nursery.pidsOf(parent);
		await until("the child is a zombie", () => !isRunning(zombie));
		expect(await identify(zombie)).toBeNull();
	});

	test("does not depend on how a program is called", async () => {
		const child = await nursery.run(
			process.execPath,
			["-e", "process.title = 'a) Z 1 (b 2'; setInterval(() => {}, 1000); console.log('up')"],
			{ lines: 1 },
		);
		expect(await identify(child.pid)).toStrictEqual(child.identity);
		expect((await familyOf(child.pid)).map(({ pid }) => pid)).toStrictEqual([child.pid]);
	});
});

describe("a look at the table while others look", () => {
	test("finds what was started since they began", async () => {
		const earlier: Promise<unknown>[] = [];
		for (let round = 0; round < 5; round++) {
			earlier.push(familyOf(process.pid), familyOf(process.pid));
			const child = await nursery.sleeper();
			earlier.push(familyOf(process.pid));
			expect((await familyOf(child.pid)).map(({ pid }) => pid)).toStrictEqual([child.pid]);
		}
		await Promise.all(earlier);
	});
});

describe("a signal", () => {
	test("reaches the process that is proven", async () => {
		const child = await nursery.sleeper();
		expect(await signalProven([child.identity], "SIGTERM")).toBe(1);
		await child.exited;
		expect(child.process.signalCode).toBe("SIGTERM");
	});

	test("never reaches another process with the same pid", async () => {
		const child = await nursery.sleeper();
		const earlier = { pid: child.pid, startTime: String(Number(child.identity.startTime) - 1) };
		const unknown = { pid: child.pid, startTime: "" };
		expect(await isAlive(earlier)).toBe(false);
		expect(await signalProven([earlier, unknown], "SIGKILL")).toBe(0);
		expect(isRunning(child.pid)).toBe(true);
	});

	test("passes over those that are gone", async () => {
		const child = await nursery.sleeper();
		expect(await signalProven([{ pid: NO_PID, startTime: "1" }, child.identity], "SIGKILL")).toBe(1);
		await child.exited;
	});
});

describe("a family", () => {
	test("has children, grandchildren and those in a group of their own", async () => {
		const parent = await nursery.shell(
			"sleep 1000 & echo $!; sh -c 'sleep 1000 & echo $!; wait' & echo $!; setsid sleep 1000 & echo $!; wait",
			{ lines: 4 },
		);
		const made = nursery.pidsOf(parent);
		await until("setsid has run", async () => (await familyOf(parent.pid)).length === 5);
		expect((await familyOf(parent.pid)).map(({ pid }) => pid).toSorted()).toStrictEqual(
			[parent.pid, ...made].toSorted(),
		);
	});

	test("has those of its group whose parent is gone", async () => {
		const parent = await nursery.shell("(sleep 1000 & echo $!); exec sleep 1000", { lines: 1 });
		const [orphan = 0] = nursery.pidsOf(parent);
		await until("the orphan's parent is gone", async () => (await familyOf(parent.pid)).length === 2);
		const family = await familyOf(parent.pid);
		expect(family.map(({ pid }) => pid).toSorted()).toStrictEqual([parent.pid, orphan].toSorted());
		for (const identity of family) expect(await isAlive(identity)).toBe(true);
	});

	test("has the group's rest after its leader has ended", async () => {
		const parent = await nursery.shell("sleep 1000 & echo $!", { lines: 1 });
		const [left = 0] = nursery.pidsOf(parent);
		await parent.exited;
		expect((await familyOf(parent.pid)).map(({ pid }) => pid)).toStrictEqual([left]);
	});

	test("does not have strangers, its parent or zombies", async () => {
		const stranger = await nursery.sleeper();
		const parent = await nursery.shell("true & echo $!; exec sleep 1000", { lines: 1 });
		const [zombie = 0] = nursery.pidsOf(parent);
		await until("the child is a zombie", () => !isRunning(zombie));
		const pids = (await familyOf(parent.pid)).map(({ pid }) => pid);
		expect(pids).toStrictEqual([parent.pid]);
		expect(pids).not.toContain(stranger.pid);
	});

	test("of no process is empty", async () => {
		expect(await familyOf(NO_PID)).toStrictEqual([]);
	});
});
