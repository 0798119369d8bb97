import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { Guardian } from "../../../src/main/processes/guardian.ts";
import { type Child, ChildNursery } from "../../support/child-process.ts";
import { until, within } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";
import { guardiansOf, isRunning } from "../../support/process-table.ts";

const PARENT = fileURLToPath(new URL("../../support/guarding-parent.ts", import.meta.url));
const DEADLINE_MS = 3_000;

const folder = new Folder();
const nursery = new ChildNursery();

/** A node process with a guardian that watches over `entries`. */
async function startParent(...entries: readonly string[]): Promise<Child & { readonly guardian: number }> {
	const parent = await nursery.run(process.execPath, ["--no-warnings", PARENT, folder.at("sockets"), ...entries], {
		lines: 1,
	});
	const [guardian = 0] = await until("the guardian runs", () => {
		const pids = guardiansOf(parent.pid);
		return pids.length > 0 && pids;
	});
	nursery.adopt(guardian);
	return { ...parent, guardian };
}

const guarded = ({ identity }: Child) => `${identity.pid}=${identity.startTime}`;

describe("when its parent is killed", () => {
	test("a guarded process ends; one unguarded, one let go again and one that cannot be proven live", async () => {
		const child = await nursery.sleeper();
		const others = await Promise.all([nursery.sleeper(), nursery.sleeper(), nursery.sleeper()]);
		const [, released, reused] = others;
		const parent = await startParent(guarded(child), guarded(released), `${reused.pid}=1`, `-${released.pid}`);
		parent.process.kill("SIGKILL");
		await within("the end of the guarded process", child.exited, DEADLINE_MS);
		await until("the guardian has done its work", () => !isRunning(parent.guardian));
		expect(others.map(({ pid }) => isRunning(pid))).toStrictEqual([true, true, true]);
	});

	test("one that ignores SIGTERM ends all the same", async () => {
		const child = await nursery.shell("trap '' TERM; echo up; while :; do sleep 0.05; done", { lines: 1 });
		const parent = await startParent(guarded(child));
		parent.process.kill("SIGKILL");
		await within("the end of the guarded process", child.exited, DEADLINE_MS);
		expect(child.process.signalCode).toBe("SIGKILL");
		await until("the guardian has done its work", () => !isRunning(parent.guardian));
	});

	test("its whole family ends, those in groups of their own too", async () => {
		const child = await nursery.shell("sleep 1000 & echo $!; setsid sleep 1000 & echo $!; wait", { lines: 2 });
		const made = nursery.pidsOf(child);
		const parent = await startParent(guarded(child));
		parent.process.kill("SIGKILL");
		await within("the end of the guarded process", child.exited, DEADLINE_MS);
		await until("its children are gone", () => !made.some(isRunning), DEADLINE_MS);
	});

	test("the sockets are removed, and nothing else", async () => {
		mkdirSync(folder.at("sockets"));
		writeFileSync(folder.at("sockets", "1.sock"), "");
		writeFileSync(folder.at("kept"), "");
		const child = await nursery.sleeper();
		const parent = await startParent(guarded(child));
		parent.process.kill("SIGKILL");
		await until("the guardian has done its work", () => !isRunning(parent.guardian));
		expect(existsSync(folder.at("sockets"))).toBe(false);
		expect(existsSync(folder.at("kept"))).toBe(true);
	});

	test("it is no use to interrupt the guardian", async () => {
		const child = await nursery.sleeper();
		const parent = await startParent(guarded(child));
		for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.kill(parent.guardian, signal);
		parent.process.kill("SIGKILL");
		await within("the end of the guarded process", child.exited, DEADLINE_MS);
	});
});

describe("in this process", () => {
	test("closing lets everything released live, and leaves no guardian", async () => {
		const child = await nursery.sleeper();
		const guardian = new Guardian(folder.at("sockets"));
		guardian.guard(child.identity);
		const [pid = 0] = guardiansOf(process.pid);
		expect(isRunning(pid)).toBe(true);
		guardian.release(child.pid);
		await guardian.close();
		await guardian.close();
		expect(isRunning(pid)).toBe(false);
		expect(isRunning(child.pid)).toBe(true);
	});

	test("nothing is started before there is something to guard", async () => {
		const guardian = new Guardian(folder.at("sockets"));
		guardian.release(1);
		await guardian.close();
		expect(guardiansOf(process.pid)).toStrictEqual([]);
	});
});
