import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { lock, tryLock } from "../../src/main/file-lock.ts";
import { ownIdentity } from "../../src/main/processes/proof.ts";
import { ChildNursery } from "../support/child-process.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();
const nursery = new ChildNursery();
const path = () => folder.at("x.lock");
/** The whole content of a lock of this process. */
const ownLock = async () => ({
	...(await ownIdentity()),
	mark: expect.stringMatching(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/),
});

test("a lock names its owner while it is held, and leaves nothing behind", async () => {
	const release = await lock(path());
	expect(JSON.parse(await readFile(path(), "utf8"))).toStrictEqual(await ownLock());
	expect(readdirSync(folder.path)).toStrictEqual(["x.lock"]);
	await release();
	expect(readdirSync(folder.path)).toStrictEqual([]);
});

test("a lock that is held is not given again, and is once it is free", async () => {
	const release = await lock(path());
	expect(await tryLock(path())).toBeNull();
	const waiting = lock(path());
	await release();
	const releaseSecond = await waiting;
	expect(await tryLock(path())).toBeNull();
	await releaseSecond();
});

test("a lock that the disk does not let go of is removed once it does, and a later one of this process is left alone", async () => {
	const locks = folder.at("locks");
	const [mine, other] = ["mine", "other"].map((name) => `${locks}/${name}.lock`) as [string, string];
	await mkdir(locks);
	const releases = [await lock(mine), await lock(other)];
	await rename(locks, folder.at("away"));
	await writeFile(locks, "");
	for (const release of releases) await expect(release()).rejects.toThrow("ENOTDIR");
	await rm(folder.at("away/other.lock"));
	await rm(locks);
	await rename(folder.at("away"), locks);
	const later = await lock(other);
	await until("the lock is removed", () => !existsSync(mine));
	expect(existsSync(other)).toBe(true);
	await later();
	expect(readdirSync(locks)).toStrictEqual([]);
});

test.each([
	[
		"a process that does not let go holds it",
		async () => writeFile(path(), JSON.stringify(await ownIdentity())),
		`process ${process.pid} holds it`,
	],
	["it is a folder", () => mkdir(path()), "it cannot be read (EISDIR)"],
])("it is not waited for without end: %s", async (_name, make, words) => {
	await make();
	await expect(lock(path(), 50)).rejects.toThrow(`The lock ${path()} was not to be had within 0.05 s: ${words}.`);
});

test("many that wait get it one after the other", async () => {
	let holders = 0;
	let most = 0;
	await Promise.all(
		Array.from({ length: 10 }, async () => {
			const release = await lock(path());
			most = Math.max(most, ++holders);
			await new Promise(setImmediate);
			holders--;
			await release();
		}),
	);
	expect(most).toBe(1);
});

describe("the lock of", () => {
	test("another living process stands", async () => {
		const child = await nursery.sleeper();
		await writeFile(path(), JSON.stringify(child.identity));
		expect(await tryLock(path())).toBeNull();
		expect(existsSync(path())).toBe(true);
	});

	test.each([
		["a dead process", JSON.stringify({ pid: 2 ** 30, startTime: "1" })],
		["nobody", ""],
		["something else", "1234"],
		["null", "null"],
	])("%s is taken over", async (_name, content) => {
		await writeFile(path(), content);
		const release = await tryLock(path());
		expect(JSON.parse(await readFile(path(), "utf8"))).toStrictEqual(await ownLock());
		await release?.();
		expect(readdirSync(folder.path)).toStrictEqual([]);
	});

	test("a process whose pid belongs to another one now is taken over", async () => {
		const child = await nursery.sleeper();
		await writeFile(path(), JSON.stringify({ pid: child.pid, startTime: "1" }));
		await (await lock(path()))();
	});

	test("a dead process is taken over by one of many", async () => {
		for (let round = 0; round < 20; round++) {
			await writeFile(path(), JSON.stringify({ pid: 2 ** 30, startTime: "1" }));
			const got = (await Promise.all(Array.from({ length: 8 }, () => tryLock(path())))).filter((release) => release);
			expect(got.length).toBeLessThanOrEqual(1);
			await got[0]?.();
			await rm(path(), { force: true });
		}
	});
});

describe("a take-over that was cut short", () => {
	test("is respected while it is fresh", async () => {
		await writeFile(path(), "{}");
		await writeFile(`${path()}.takeover`, "");
		expect(await tryLock(path())).toBeNull();
		expect(existsSync(`${path()}.takeover`)).toBe(true);
	});

	test("is swept when it is old", async () => {
		await writeFile(path(), "{}");
		await writeFile(`${path()}.takeover`, "");
		await utimes(`${path()}.takeover`, new Date(0), new Date(0));
		await (await lock(path()))();
		expect(readdirSync(folder.path)).toStrictEqual([]);
	});
});
