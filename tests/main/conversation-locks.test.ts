import { readdirSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { ConversationLocks } from "../../src/main/conversation-locks.ts";
import { type Child, ChildNursery } from "../support/child-process.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";
import { isRunning, killQuietly } from "../support/process-table.ts";

const HOLDER = fileURLToPath(new URL("../support/resource-holder.ts", import.meta.url));

const folder = new Folder();
const nursery = new ChildNursery();
let locks: ConversationLocks;

beforeEach(() => {
	locks = new ConversationLocks(folder.at("locks"));
});

const present = () => readdirSync(folder.at("locks"));

/** Another pi that is on the conversation, or tries to be. */
function otherPi(conversationId = "c1"): Promise<Child> {
	return nursery.run(process.execPath, ["--no-warnings", HOLDER, "lock", folder.at("locks"), conversationId], {
		lines: 1,
	});
}

describe("a conversation", () => {
	test("is held from its acquisition to its release", async () => {
		expect(await locks.acquire("c1")).toBe(true);
		expect(present()).toStrictEqual(["c1.lock"]);
		expect(statSync(folder.at("locks")).mode & 0o777).toBe(0o700);
		await locks.release("c1");
		expect(present()).toStrictEqual([]);
	});

	test("may be held several times by one process, and is free after as many releases", async () => {
		expect(await Promise.all([locks.acquire("c1"), locks.acquire("c1"), locks.acquire("c1")])).toStrictEqual([
			true,
			true,
			true,
		]);
		await locks.release("c1");
		await locks.release("c1");
		expect(present()).toStrictEqual(["c1.lock"]);
		await locks.release("c1");
		await locks.release("c1");
		expect(present()).toStrictEqual([]);
	});

	test("is held beside others", async () => {
		await Promise.all(["c1", "c2"].map((id) => locks.acquire(id)));
		await locks.release("c1");
		expect(present()).toStrictEqual(["c2.lock"]);
		await locks.release("c2");
	});

	test("can be taken again while it is still being released", async () => {
		for (let round = 0; round < 50; round++) {
			expect(await locks.acquire("c1")).toBe(true);
			const released = locks.release("c1");
			const again = locks.acquire("c1");
			await released;
			expect(await again, `round ${round}`).toBe(true);
			expect(present()).toStrictEqual(["c1.lock"]);
			await locks.release("c1");
			expect(present()).toStrictEqual([]);
		}
	});

	test.each(["../../etc/x", "a/b", "", "é 😀"])("of any id has its lock in the folder: %j", async (conversationId) => {
		expect(await locks.acquire(conversationId)).toBe(true);
		expect(present()).toHaveLength(1);
		expect(readdirSync(folder.path)).toStrictEqual(["locks"]);
		await locks.release(conversationId);
		expect(present()).toStrictEqual([]);
	});
});

describe("another pi process", () => {
	test("that is on the conversation keeps it, until it gives it back", async () => {
		const other = await otherPi();
		expect(other.printed()).toBe("true\n");
		expect(await locks.acquire("c1")).toBe(false);
		expect(await locks.acquire("c2")).toBe(true);
		expect(await locks.acquire("c1")).toBe(false);
		process.kill(other.pid, "SIGTERM");
		await other.exited;
		expect(await locks.acquire("c1")).toBe(true);
		await Promise.all([locks.release("c1"), locks.release("c2")]);
		expect(present()).toStrictEqual([]);
	});

	test("gets none that this one is on, and gets it afterwards", async () => {
		await locks.acquire("c1");
		expect((await otherPi()).printed()).toBe("false\n");
		await locks.release("c1");
		expect((await otherPi()).printed()).toBe("true\n");
	});

	test("is not robbed by the release of one that did not get it", async () => {
		const other = await otherPi();
		expect(await locks.acquire("c1")).toBe(false);
		await locks.release("c1");
		expect(present()).toStrictEqual(["c1.lock"]);
		expect(isRunning(other.pid)).toBe(true);
	});

	test("that was killed has lost it", async () => {
		const other = await otherPi();
		killQuietly(other.pid);
		await until("its end", () => !isRunning(other.pid));
		expect(present()).toStrictEqual(["c1.lock"]);
		expect(await locks.acquire("c1")).toBe(true);
		expect((await otherPi()).printed()).toBe("false\n");
		await locks.release("c1");
		expect(present()).toStrictEqual([]);
	});

	test("that was killed is followed by one of several", async () => {
		const killed = await otherPi();
		killQuietly(killed.pid);
		await until("its end", () => !isRunning(killed.pid));
		const rivals = await Promise.all([otherPi(), otherPi(), otherPi()]);
		expect(rivals.filter((rival) => rival.printed() === "true\n").length).toBeLessThanOrEqual(1);
		const holders = new Set(rivals.map((rival) => rival.printed()));
		if (holders.has("true\n")) expect(await locks.acquire("c1")).toBe(false);
		else expect(await locks.acquire("c1")).toBe(true);
	});
});

describe("a folder that cannot be written", () => {
	test("is an error each time, and none afterwards", async () => {
		writeFileSync(folder.at("locks"), "in the way");
		await expect(locks.acquire("c1")).rejects.toThrow(/EEXIST|ENOTDIR/);
		await expect(locks.acquire("c1")).rejects.toThrow(/EEXIST|ENOTDIR/);
		await expect(locks.release("c1")).resolves.toBeUndefined();
		await rm(folder.at("locks"));
		expect(await locks.acquire("c1")).toBe(true);
		await locks.release("c1");
		expect(present()).toStrictEqual([]);
	});
});

describe("the sweep", () => {
	test("removes the lock of a killed pi, and no other", async () => {
		const [killed, living] = await Promise.all([otherPi("c1"), otherPi("c2")]);
		expect(await locks.acquire("c3")).toBe(true);
		killQuietly(killed.pid);
		await until("the end of the killed pi", () => !isRunning(killed.pid));
		await locks.sweep();
		expect(present().toSorted()).toStrictEqual(["c2.lock", "c3.lock"]);
		killQuietly(living.pid);
		await locks.release("c3");
	});

	test("of nothing is nothing", async () => {
		await locks.sweep();
		expect(readdirSync(folder.path)).toStrictEqual([]);
	});
});
