/** The lock's promises: one at a time, freed by the dead, held by a child that outlived its parent. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { withLock } from "./lock.mjs";

let folder: string;
let lockFile: string;

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "pi-agy-lock-"));
	lockFile = join(folder, "lock");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const deadPid = (): number => spawnSync(process.execPath, ["--version"]).pid;

it("lets one work at a time and frees the lock after a failure", async () => {
	let working = 0;
	let most = 0;
	const work = async () => {
		most = Math.max(most, ++working);
		await new Promise((resolve) => setImmediate(resolve));
		working--;
		throw new Error("failed on purpose");
	};
	const ends = await Promise.allSettled([1, 2, 3].map(() => withLock(lockFile, work)));
	expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
	expect(most).toBe(1);
	expect(existsSync(lockFile)).toBe(false);
});

it("takes over the lock of a dead process", async () => {
	writeFileSync(lockFile, `${deadPid()}\n`);
	await expect(withLock(lockFile, async () => "done")).resolves.toBe("done");
	expect(existsSync(lockFile)).toBe(false);
});

it("takes over even when an earlier takeover died halfway", async () => {
	writeFileSync(lockFile, `${deadPid()}\n`);
	writeFileSync(`${lockFile}.takeover`, "");
	const longAgo = new Date(Date.now() - 60_000);
	utimesSync(`${lockFile}.takeover`, longAgo, longAgo);
	await expect(withLock(lockFile, async () => "done")).resolves.toBe("done");
});

it("waits for a child that outlived the process that took the lock, and says for whom", async () => {
	const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
	try {
		writeFileSync(lockFile, `${deadPid()}\n${child.pid}\n`);
		const onWait = vi.fn(() => child.stdin.end());
		await expect(withLock(lockFile, async () => "done", { onWait })).resolves.toBe("done");
		expect(onWait).toHaveBeenCalledExactlyOnceWith([expect.any(Number), child.pid]);
	} finally {
		child.kill("SIGKILL");
	}
});

it("gives up with the process and the file in the message", async () => {
	writeFileSync(lockFile, `${process.pid}\n`);
	await expect(withLock(lockFile, async () => "done", { maxWaitMs: 1 })).rejects.toThrow(
		`Process ${process.pid} still holds ${lockFile}`,
	);
	expect(readFileSync(lockFile, "utf8")).toBe(`${process.pid}\n`);
});
