import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonStore } from "../../../src/main/json-store.ts";
import { ProcessRegistry } from "../../../src/main/processes/registry.ts";
import { runCommand } from "../../../src/main/processes/run.ts";
import { ChangedFiles } from "../../../src/main/tools/changed-files.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
let registry: ProcessRegistry;

beforeEach(() => {
	registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
		throw error;
	});
	mkdirSync(folder.at("tree"));
});
afterEach(() => registry.close());

function look(args: readonly string[]) {
	const env = { PATH: process.env.PATH ?? "", HOME: folder.path };
	return runCommand({ bin: "git", args, env, timeoutMs: 60_000, maxBytes: 1_000_000 }, registry);
}

function git(...args: readonly string[]): void {
	const identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
	execFileSync("git", [...identity, ...args], {
		cwd: folder.at("tree"),
		stdio: "pipe",
		env: { ...process.env, HOME: folder.path },
	});
}

function write(name: string, text = "text\n"): void {
	writeFileSync(folder.at("tree", name), text);
}

/** What is reported of a tree with two commited files, one of them changed since, and an untracked one. */
async function changedBy(work: () => void, cwd = folder.at("tree")): Promise<readonly string[]> {
	git("init", "-q");
	write("clean.txt");
	write("dirty.txt");
	git("add", ".");
	git("commit", "-qm", "first");
	write("dirty.txt", "changed before\n");
	write("untracked.txt");
	const changed = await ChangedFiles.since(cwd, look);
	work();
	const { source, files } = await changed.report([]);
	expect(source).toBe("git");
	return files.map((file) => file.slice(folder.at("tree").length + 1));
}

describe("within a work tree", () => {
	test.each<readonly [string, () => void, readonly string[]]>([
		["nothing", () => {}, []],
		["a new file", () => write("new ü.txt"), ["new ü.txt"]],
		["a changed file", () => write("clean.txt", "other\n"), ["clean.txt"]],
		["a removed file", () => rmSync(folder.at("tree", "clean.txt")), ["clean.txt"]],
		["a file that was dirty before", () => write("dirty.txt", "changed again\n"), ["dirty.txt"]],
		["one put back to what is committed", () => git("checkout", "-q", "dirty.txt"), ["dirty.txt"]],
		["an untracked file that is removed", () => rmSync(folder.at("tree", "untracked.txt")), ["untracked.txt"]],
		["the same content written again", () => write("dirty.txt", "changed before\n"), []],
		["another time alone", () => utimesSync(folder.at("tree", "dirty.txt"), 1, 1), []],
		["what was dirty and is committed", () => git("commit", "-qam", "second"), []],
		["a renamed file", () => git("mv", "clean.txt", "moved.txt"), ["clean.txt", "moved.txt"]],
		[
			"a change that is committed",
			() => {
				write("clean.txt", "other\n");
				git("commit", "-qm", "second", "clean.txt");
			},
			["clean.txt"],
		],
	])("%s", async (_name, work, expected) => {
		expect(await changedBy(work)).toEqual(expected);
	});

	test("a folder of it sees all of it", async () => {
		mkdirSync(folder.at("tree", "below"));
		expect(await changedBy(() => write("new.txt"), folder.at("tree", "below"))).toEqual(["new.txt"]);
	});

	test("without a commit yet", async () => {
		git("init", "-q");
		write("a.txt");
		const changed = await ChangedFiles.since(folder.at("tree"), look);
		write("b.txt");
		git("add", ".");
		git("commit", "-qm", "first");
		write("a.txt", "other\n");
		expect((await changed.report([])).files).toEqual([folder.at("tree", "a.txt")]);
	});

	test("that is gone at the end nothing is claimed", async () => {
		git("init", "-q");
		const changed = await ChangedFiles.since(folder.at("tree"), look);
		rmSync(folder.at("tree", ".git"), { recursive: true });
		expect(await changed.report([])).toEqual({ source: null, files: [], isCut: false });
	});

	test("very many are counted off", async () => {
		git("init", "-q");
		const changed = await ChangedFiles.since(folder.at("tree"), look);
		for (let index = 0; index < 201; index++) write(`f${index}`);
		const report = await changed.report([]);
		expect([report.files.length, report.isCut]).toEqual([200, true]);
	});
});

describe("elsewhere", () => {
	test("files that edits named count when they were written since", async () => {
		for (const name of ["old", "new"]) write(name);
		utimesSync(folder.at("tree", "old"), 1, 1);
		expect(statSync(folder.at("tree", "old")).mtimeMs).toBe(1000);
		const changed = await ChangedFiles.since(folder.at("tree"), look);
		expect(await changed.report(["old", "new", "gone"].map((name) => folder.at("tree", name)))).toEqual({
			source: "edit-steps",
			files: [folder.at("tree", "new")],
			isCut: false,
		});
	});

	test("and without git as well", async () => {
		write("new");
		const none = () =>
			runCommand({ bin: folder.at("no-git"), args: [], env: {}, timeoutMs: 1_000, maxBytes: 1 }, registry);
		const changed = await ChangedFiles.since(folder.at("tree"), none);
		expect((await changed.report([folder.at("tree", "new")])).source).toBe("edit-steps");
	});
});
