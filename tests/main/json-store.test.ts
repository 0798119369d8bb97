import { readdirSync, statSync } from "node:fs";
import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { tryLock } from "../../src/main/file-lock.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { ownIdentity } from "../../src/main/processes/proof.ts";
import { ChildNursery } from "../support/child-process.ts";
import { Folder } from "../support/folder.ts";

const WRITER = fileURLToPath(new URL("../support/counting-writer.ts", import.meta.url));

const folder = new Folder();
const nursery = new ChildNursery();

const open = () => new JsonStore(folder.at("data", "file.json"));
const modeOf = (...names: string[]) => statSync(folder.at(...names)).mode & 0o777;
const content = async () => JSON.parse(await readFile(folder.at("data", "file.json"), "utf8"));

async function put(text: string): Promise<void> {
	await mkdir(folder.at("data"), { recursive: true });
	await writeFile(folder.at("data", "file.json"), text);
}

describe("reading", () => {
	test.each([
		["nothing", null, {}],
		["an object", '{"a":1}', { a: 1 }],
		["damage", '{"a":1', {}],
		["an empty file", "", {}],
		["a list", "[1]", {}],
		["null", "null", {}],
	])("%s", async (_name, text, value) => {
		if (text !== null) await put(text);
		expect(open().readSync()).toStrictEqual(value);
		expect(await open().read()).toStrictEqual(value);
	});

	test("changes nothing", async () => {
		open().readSync();
		await open().read();
		expect(readdirSync(folder.path)).toStrictEqual([]);
		await put("{damaged");
		await open().read();
		expect(readdirSync(folder.at("data"))).toStrictEqual(["file.json"]);
	});
});

describe("writing", () => {
	test("makes a private file in a private folder, and leaves nothing else", async () => {
		await open().update(() => ({ a: 1 }));
		expect(modeOf("data")).toBe(0o700);
		expect(modeOf("data", "file.json")).toBe(0o600);
		expect(readdirSync(folder.at("data"))).toStrictEqual(["file.json"]);
		expect(await readFile(folder.at("data", "file.json"), "utf8")).toBe('{\n\t"a": 1\n}\n');
	});

	test("makes a readable file private", async () => {
		await put("{}");
		await chmod(folder.at("data", "file.json"), 0o644);
		await open().update((file) => file);
		expect(modeOf("data", "file.json")).toBe(0o600);
	});

	test("replaces the file, so that no reader sees half of it", async () => {
		await put('{"a":1}');
		const before = await stat(folder.at("data", "file.json"));
		await open().update((file) => ({ ...file, b: 2 }));
		expect((await stat(folder.at("data", "file.json"))).ino).not.toBe(before.ino);
	});

	test("moves aside what it cannot read, and loses nothing", async () => {
		await mkdir(folder.at("data", "file.json", "kept"), { recursive: true });
		await open().update(() => ({ a: 1 }));
		expect(await content()).toStrictEqual({ a: 1 });
		const aside = readdirSync(folder.at("data")).find((name) => name.startsWith("file.json.damaged-"));
		expect(readdirSync(folder.at("data", aside ?? ""))).toStrictEqual(["kept"]);
	});

	test("reads past a byte order mark", async () => {
		await put('\uFEFF{"a":1}');
		expect(open().inspectSync()).toStrictEqual({ object: { a: 1 }, problem: "" });
	});

	test("keeps the keys it does not know", async () => {
		await put('{"later":{"x":[1]},"a":1}');
		await open().update((file) => ({ ...file, a: 2 }));
		expect(await content()).toStrictEqual({ later: { x: [1] }, a: 2 });
	});

	test.each([
		["damage", '{"a":1'],
		["a list", "[1,2]"],
	])("moves %s aside", async (_name, text) => {
		await put(text);
		await open().update((file) => ({ ...file, b: 2 }));
		expect(await content()).toStrictEqual({ b: 2 });
		const aside = readdirSync(folder.at("data")).filter((name) => name !== "file.json");
		expect(aside).toStrictEqual([expect.stringMatching(/^file\.json\.damaged-/)]);
		expect(await readFile(folder.at("data", aside[0] ?? ""), "utf8")).toBe(text);
	});

	test("updates of one store run in the order they were asked for", async () => {
		const store = open();
		for (let index = 0; index < 20; index++) {
			void store.update((file) => ({ order: [...((file.order as number[] | undefined) ?? []), index] }));
		}
		await store.settled();
		expect(await content()).toStrictEqual({ order: Array.from({ length: 20 }, (_, index) => index) });
	});

	test("may take its time", async () => {
		const store = open();
		await store.update(async (file) => {
			await new Promise(setImmediate);
			return { ...file, a: 1 };
		});
		expect(await content()).toStrictEqual({ a: 1 });
	});

	test("a change that throws changes nothing, is told, and does not stop the next one", async () => {
		const store = open();
		await store.update(() => ({ a: 1 }));
		const failed = store.update(() => {
			throw new Error("no");
		});
		const next = store.update((file) => ({ ...file, b: 2 }));
		await expect(failed).rejects.toThrow("no");
		await next;
		expect(await content()).toStrictEqual({ a: 1, b: 2 });
		expect(readdirSync(folder.at("data"))).toStrictEqual(["file.json"]);
	});

	test("a folder that cannot be made is told", async () => {
		await writeFile(folder.at("data"), "");
		await expect(open().update(() => ({}))).rejects.toThrow();
	});
});

describe("several processes", () => {
	test("writing at once lose nothing, and nobody ever reads half a file", async () => {
		const writers = await Promise.all(
			[1, 2, 3].map(() =>
				nursery.run(process.execPath, ["--no-warnings", WRITER, folder.at("data", "file.json"), "8"]),
			),
		);
		const own = open();
		let isWriting = true;
		const done = Promise.all(writers.map((writer) => writer.exited)).then(() => {
			isWriting = false;
		});
		let updates = 0;
		while (isWriting) {
			await own.update((file) => ({ ...file, count: Number(file.count ?? 0) + 1 }));
			updates++;
			JSON.parse(await readFile(folder.at("data", "file.json"), "utf8"));
		}
		await done;
		expect(writers.map((writer) => writer.process.exitCode)).toStrictEqual([0, 0, 0]);
		expect(await content()).toMatchObject({
			count: 3 * 8 + updates,
			...Object.fromEntries(writers.map(({ pid }) => [`writer-${pid}`, 8])),
		});
		expect(readdirSync(folder.at("data"))).toStrictEqual(["file.json"]);
	});

	test("find the lock of a dead one and lose nothing over it", async () => {
		await put('{"count":0}');
		await writeFile(folder.at("data", "file.json.lock"), JSON.stringify({ pid: 2 ** 30, startTime: "1" }));
		const stores = Array.from({ length: 6 }, open);
		await Promise.all(stores.map((store) => store.update((file) => ({ ...file, count: Number(file.count) + 1 }))));
		expect(await content()).toStrictEqual({ count: 6 });
		expect(readdirSync(folder.at("data"))).toStrictEqual(["file.json"]);
	});

	test("give up on a lock that is not let go, and ask for it less long the next time", async () => {
		await put("{}");
		await mkdir(folder.at("data", "file.json.lock"));
		vi.useFakeTimers({ toFake: ["performance"] });
		const store = open();
		const failures = ["first", "second"].map((name) =>
			store
				.update(() => ({}))
				.then(
					() => "",
					(error: Error) => `${name}: ${error.message}`,
				),
		);
		const settled = Promise.all(failures);
		let isDone = false;
		void settled.then(() => {
			isDone = true;
		});
		while (!isDone) {
			vi.advanceTimersByTime(1_000);
			await new Promise(setImmediate);
		}
		vi.useRealTimers();
		expect(await settled).toStrictEqual([
			expect.stringMatching(/^first: The lock .* within 10 s/),
			expect.stringMatching(/^second: The lock .* within 0.2 s/),
		]);
	});

	test("wait for the lock of a living one", async () => {
		await put("{}");
		const lock = folder.at("data", "file.json.lock");
		await writeFile(lock, JSON.stringify(await ownIdentity()));
		let isDone = false;
		const update = open()
			.update(() => ({ a: 1 }))
			.then(() => {
				isDone = true;
			});
		for (let attempt = 0; attempt < 10; attempt++) expect(await tryLock(lock)).toBeNull();
		expect(isDone).toBe(false);
		await rm(lock);
		await update;
		expect(await content()).toStrictEqual({ a: 1 });
	});
});
