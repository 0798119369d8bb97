import { existsSync, mkdirSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonStore } from "../../../src/main/json-store.ts";
import { ownIdentity, type ProcessIdentity } from "../../../src/main/processes/proof.ts";
import { ProcessRegistry } from "../../../src/main/processes/registry.ts";
import { ChildNursery } from "../../support/child-process.ts";
import { Folder } from "../../support/folder.ts";
import { isRunning } from "../../support/process-table.ts";

const folder = new Folder();
const nursery = new ChildNursery();
const DEAD: ProcessIdentity = { pid: 2 ** 30, startTime: "1" };
let registry: ProcessRegistry;
let errors: unknown[];

beforeEach(() => {
	errors = [];
	registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) =>
		errors.push(error),
	);
});

afterEach(async () => {
	await registry.close();
	expect(errors).toStrictEqual([]);
});

async function recorded(): Promise<readonly unknown[]> {
	return JSON.parse(await readFile(folder.at("processes.json"), "utf8")).processes;
}

function write(file: object): Promise<void> {
	return writeFile(folder.at("processes.json"), JSON.stringify(file));
}

describe("the record", () => {
	test("is on disk, with its owner, before anything else, and gone when the process was reaped", async () => {
		const child = await nursery.sleeper();
		await registry.add(child.identity);
		expect(await recorded()).toMatchObject([{ ...child.identity, owner: await ownIdentity() }]);
		expect(registry.running).toStrictEqual([child.identity]);
		await registry.remove(child.identity);
		expect(await recorded()).toStrictEqual([]);
		expect(registry.running).toStrictEqual([]);
	});

	test("keeps what others wrote", async () => {
		const others = { ...DEAD, owner: await ownIdentity() };
		await write({ version: 1, note: "of a later version", processes: [others] });
		const child = await nursery.sleeper();
		await registry.add(child.identity);
		await registry.remove(child.identity);
		expect(JSON.parse(await readFile(folder.at("processes.json"), "utf8"))).toStrictEqual({
			version: 1,
			note: "of a later version",
			processes: [others],
		});
	});

	test("removes the process that was meant and no other of the same pid", async () => {
		const [first, second] = [
			{ pid: 4_000_001, startTime: "1" },
			{ pid: 4_000_001, startTime: "2" },
		];
		await registry.add(first as ProcessIdentity);
		await registry.add(second as ProcessIdentity);
		await registry.remove(first as ProcessIdentity);
		expect(await recorded()).toMatchObject([second as ProcessIdentity]);
	});
});

describe("a sweep", () => {
	test("stops what a dead owner left behind, its family too, and nothing else", async () => {
		const own = await ownIdentity();
		const orphan = await nursery.shell("sleep 1000 & echo $!; wait", { lines: 1 });
		const [grandchild = 0] = nursery.pidsOf(orphan);
		const owned = await nursery.sleeper();
		const reused = await nursery.sleeper();
		const stranger = await nursery.sleeper();
		await write({
			processes: [
				{ ...orphan.identity, owner: DEAD },
				{ ...owned.identity, owner: own },
				{ pid: reused.pid, startTime: "1", owner: DEAD },
			],
		});
		expect(await registry.sweep()).toBe(2);
		await orphan.exited;
		expect([owned, reused, stranger].map(({ pid }) => isRunning(pid))).toStrictEqual([true, true, true]);
		expect(isRunning(grandchild)).toBe(false);
		expect(await recorded()).toStrictEqual([{ ...owned.identity, owner: own }]);
	});

	test("takes an owner whose pid belongs to another process now for dead", async () => {
		const orphan = await nursery.sleeper();
		const own = await ownIdentity();
		await write({ processes: [{ ...orphan.identity, owner: { pid: own.pid, startTime: "1" } }] });
		expect(await registry.sweep()).toBe(1);
		await orphan.exited;
	});

	test("removes the sockets of a dead owner, and no other folder whatever the record says", async () => {
		const own = await ownIdentity();
		for (const name of ["pi-agy-dead01", "pi-agy-alive1", "precious"]) mkdirSync(folder.at(name));
		const entry = (pid: number, owner: ProcessIdentity, name: string) => ({
			...{ pid, startTime: "1", owner },
			socketDir: folder.at(name),
		});
		await write({
			processes: [
				entry(2 ** 30, DEAD, "pi-agy-dead01"),
				entry(2 ** 30 + 1, own, "pi-agy-alive1"),
				entry(2 ** 30 + 2, DEAD, "precious"),
			],
		});
		expect(await registry.sweep()).toBe(0);
		expect(["pi-agy-dead01", "pi-agy-alive1", "precious"].map((name) => existsSync(folder.at(name)))).toStrictEqual([
			false,
			true,
			true,
		]);
	});

	test.each([
		["no file", null],
		["a damaged file", "{oops"],
		["a list in place of an object", "[]"],
		["no list", '{"processes":{}}'],
		[
			"entries of another shape",
			'{"processes":[null,1,{"pid":5},{"pid":"5","startTime":"1"},{"pid":5,"startTime":"1"}]}',
		],
		[
			"pids that are none",
			`{"processes":[${[0, 1, -1, -5].map((pid) => `{"pid":${pid},"startTime":"1","owner":{"pid":1073741824,"startTime":"1"}}`)}]}`,
		],
	])("of %s stops nothing", async (_name, content) => {
		if (content !== null) await writeFile(folder.at("processes.json"), content);
		expect(await registry.sweep()).toBe(0);
	});
});

test("a disk that cannot be written is reported and stops nothing", async () => {
	const child = await nursery.sleeper();
	await writeFile(folder.at("file"), "");
	const seen: unknown[] = [];
	const broken = new ProcessRegistry(new JsonStore(folder.at("file", "processes.json")), folder.at("s"), (error) =>
		seen.push(error),
	);
	await broken.add(child.identity);
	expect(seen).toHaveLength(1);
	expect(broken.running).toStrictEqual([child.identity]);
	await broken.remove(child.identity);
	await broken.close();
});

test("what a failing disk kept of the record is made good with the next change, and at the end", async () => {
	const [first, second] = [await nursery.sleeper(), await nursery.sleeper()];
	const data = folder.at("data");
	const seen: unknown[] = [];
	const store = new JsonStore(folder.at("data", "processes.json"));
	const beyond = new ProcessRegistry(store, folder.at("s"), (error) => seen.push(error));
	const processes = async () => JSON.parse(await readFile(store.path, "utf8")).processes;
	const failing = async (work: () => Promise<void>) => {
		await rename(data, folder.at("away"));
		await writeFile(data, "");
		await work();
		await rm(data);
		await rename(folder.at("away"), data);
	};

	await beyond.add(first.identity);
	await failing(() => beyond.remove(first.identity));
	expect(await processes()).toMatchObject([first.identity]);
	await beyond.add(second.identity);
	expect(await processes()).toMatchObject([second.identity]);
	await failing(() => beyond.remove(second.identity));
	expect(await processes()).toMatchObject([second.identity]);
	await beyond.close();
	expect(await processes()).toStrictEqual([]);
	expect(seen).toHaveLength(2);
});

test("closing leaves no guardian behind and may be done twice", async () => {
	const child = await nursery.sleeper();
	await registry.add(child.identity);
	await registry.remove(child.identity);
	await registry.close();
	await registry.close();
	expect(isRunning(child.pid)).toBe(true);
});
