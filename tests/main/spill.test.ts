import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownIdentity } from "../../src/main/processes/proof.ts";
import { Spill } from "../../src/main/spill.ts";
import { ChildNursery } from "../support/child-process.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";
import { isRunning, killQuietly } from "../support/process-table.ts";

const HOLDER = fileURLToPath(new URL("../support/resource-holder.ts", import.meta.url));

const folder = new Folder();
const nursery = new ChildNursery();
let spill: Spill;
let umask: number;

beforeEach(() => {
	umask = process.umask(0o000);
	spill = new Spill(folder.at("data", "spill"));
});

afterEach(async () => {
	process.umask(umask);
	await spill.close();
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe("a spilled file", () => {
	test.each([
		["a text", "é 😀\n"],
		["bytes", Buffer.from([0, 0xff, 0x0a])],
		["nothing", ""],
	])("holds %s, readable by nobody else, in a directory that nobody else can enter", async (_name, content) => {
		const path = await spill.write("prompt", "md", content);
		expect(isAbsolute(path)).toBe(true);
		expect(path).toMatch(/\/prompt-[0-9a-f]{8}\.md$/);
		expect(readFileSync(path)).toStrictEqual(Buffer.from(content));
		expect(modeOf(path)).toBe(0o600);
		expect(modeOf(await spill.directory())).toBe(0o700);
		expect(modeOf(folder.at("data", "spill"))).toBe(0o700);
	});

	test("never takes another one's place", async () => {
		const paths = await Promise.all(Array.from({ length: 50 }, (_, index) => spill.write("image", "png", `${index}`)));
		expect(new Set(paths).size).toBe(50);
		expect(paths.map((path) => readFileSync(path, "utf8"))).toStrictEqual(paths.map((_, index) => `${index}`));
	});
});

describe("the directory", () => {
	test("is not made before it is needed, and is the same for the session's whole life", async () => {
		expect(existsSync(folder.at("data"))).toBe(false);
		const [one, two] = await Promise.all([spill.directory(), spill.directory()]);
		expect(one).toBe(two);
		expect(await spill.write("a", "md", "")).toContain(`${one}/`);
		expect(readdirSync(folder.at("data", "spill"))).toHaveLength(1);
	});

	test("is the session's own: another session of the process has another one", async () => {
		const other = new Spill(folder.at("data", "spill"));
		expect(await other.directory()).not.toBe(await spill.directory());
		await spill.directory();
		await spill.close();
		expect(existsSync(await other.directory())).toBe(true);
		await other.close();
	});

	test("names its owner", async () => {
		const { pid, startTime } = await ownIdentity();
		expect(await spill.directory()).toContain(`/${pid}-${startTime}-`);
	});

	test("is gone with the session, with everything in it; closing twice and closing unused do nothing", async () => {
		await spill.write("a", "md", "x");
		await spill.close();
		await spill.close();
		expect(readdirSync(folder.at("data", "spill"))).toStrictEqual([]);
		await new Spill(folder.at("never")).close();
		expect(existsSync(folder.at("never"))).toBe(false);
	});

	test("that cannot be made is an error, and is tried again", async () => {
		mkdirSync(folder.at("data"));
		writeFileSync(folder.at("data", "spill"), "in the way");
		await expect(spill.write("a", "md", "x")).rejects.toThrow(/EEXIST|ENOTDIR/);
		await rm(folder.at("data", "spill"));
		expect(readFileSync(await spill.write("a", "md", "x"), "utf8")).toBe("x");
	});

	test("that cannot be made does not keep the session from ending", async () => {
		writeFileSync(folder.at("data"), "in the way");
		const writing = spill.write("a", "md", "x");
		await spill.close();
		await expect(writing).rejects.toThrow(/EEXIST|ENOTDIR/);
	});
});

describe("the sweep", () => {
	const root = () => folder.at("data", "spill");

	/** Another process that has spilled a file; it prints the file's path. */
	async function holder(): Promise<{ readonly pid: number; readonly path: string }> {
		const child = await nursery.run(process.execPath, ["--no-warnings", HOLDER, "spill", root()], { lines: 1 });
		return { pid: child.pid, path: child.printed().trim() };
	}

	test("removes what a killed process left and nothing of a living one", async () => {
		const own = await spill.write("own", "md", "x");
		const [killed, living] = await Promise.all([holder(), holder()]);
		killQuietly(killed.pid);
		await until("its end", () => !isRunning(killed.pid));
		await Spill.sweep(root());
		expect(existsSync(killed.path)).toBe(false);
		expect(existsSync(living.path)).toBe(true);
		expect(existsSync(own)).toBe(true);
		expect(readdirSync(root())).toHaveLength(2);
	});

	test("removes what a process left whose pid is another one's now", async () => {
		const child = await nursery.sleeper();
		const left = join(root(), `${child.pid}-1-abcdef01`);
		mkdirSync(left, { recursive: true });
		writeFileSync(join(left, "a.md"), "x");
		await Spill.sweep(root());
		expect(existsSync(left)).toBe(false);
	});

	test("keeps what is not its own", async () => {
		mkdirSync(join(root(), "notes"), { recursive: true });
		writeFileSync(join(root(), "readme.md"), "x");
		await Spill.sweep(root());
		expect(readdirSync(root()).toSorted()).toStrictEqual(["notes", "readme.md"]);
	});

	test("of a folder that does not exist is nothing", async () => {
		await expect(Spill.sweep(folder.at("nowhere"))).resolves.toBeUndefined();
	});
});
