import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { GitHead } from "../../../src/main/cards/git-head.ts";
import { Folder } from "../../support/folder.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { type GitRunner, gitRunner } from "../../support/run-git.ts";

const folder = new Folder();
let git: GitRunner;

beforeEach(() => {
	git = gitRunner(folder);
});
afterEach(() => git.close());

async function headOf(cwd: string): Promise<GitHead> {
	const head = new GitHead(cwd, git.run);
	await head.settled();
	return head;
}

describe("a file's content when the turn began", () => {
	let repo: GitRepository;

	beforeEach(() => {
		repo = new GitRepository(folder.at("repo"));
		repo.commit({
			"a.txt": "one\n",
			"sub/b c.txt": "two\n",
			"bin.dat": Buffer.from([1, 0, 2]),
			"dirty é.txt": "old\n",
		});
		repo.write("dirty é.txt", "mine\n");
		repo.write("untracked.txt", "new\n");
	});

	test.each([
		["did not differ from the commit", "a.txt", "one\n"],
		["lies in a folder, with a blank in its name", "sub/b c.txt", "two\n"],
		["differed from it", "dirty é.txt", null],
		["was not tracked", "untracked.txt", null],
		["is binary", "bin.dat", null],
		["does not exist", "nowhere/x.txt", null],
	])("when it %s", async (_name, name, content) => {
		const head = await headOf(folder.at("repo", "sub"));
		if (name !== "dirty é.txt" && name !== "nowhere/x.txt") repo.write(name, "written by agy\n");
		expect(await head.contentOf(folder.at("repo", name))).toBe(content);
	});

	test("is that of the commit of then, whatever is committed later", async () => {
		const head = await headOf(repo.path);
		repo.commit({ "a.txt": "later\n" });
		expect(await head.contentOf(folder.at("repo", "a.txt"))).toBe("one\n");
	});

	test("is found through a link to its folder, and after it is gone", async () => {
		symlinkSync(repo.path, folder.at("link"));
		const head = await headOf(folder.at("link"));
		rmSync(folder.at("repo", "a.txt"));
		expect(await head.contentOf(folder.at("link", "a.txt"))).toBe("one\n");
	});

	test("is not known in a repository within the repository, nor outside of it", async () => {
		const inner = new GitRepository(folder.at("repo", "inner"));
		inner.commit({ "a.txt": "inner\n" });
		const head = await headOf(repo.path);
		expect(await head.contentOf(join(inner.path, "a.txt"))).toBeNull();
		expect(await head.contentOf(folder.at("a.txt"))).toBeNull();
	});

	test("takes one command for the state and one for the file, and no lock", async () => {
		const head = await headOf(repo.path);
		await head.contentOf(folder.at("repo", "dirty é.txt"));
		await head.contentOf(folder.at("repo", "a.txt"));
		expect(git.commands.map((args) => args.find((arg) => arg === "status" || arg === "cat-file"))).toStrictEqual([
			"status",
			"cat-file",
		]);
		expect(git.commands[0]).toContain("--no-optional-locks");
	});
});

describe("git says nothing", () => {
	test("outside of a repository, and is not asked", async () => {
		mkdirSync(folder.at("plain"));
		const head = await headOf(folder.at("plain"));
		expect(await head.contentOf(folder.at("plain", "a.txt"))).toBeNull();
		expect(git.commands).toStrictEqual([]);
	});

	test("in a folder that is not there", async () => {
		expect(await (await headOf(folder.at("nowhere"))).contentOf(folder.at("nowhere", "a"))).toBeNull();
	});

	test("before the first commit", async () => {
		const repo = new GitRepository(folder.at("repo"));
		const path = repo.write("a.txt", "one\n");
		expect(await (await headOf(repo.path)).contentOf(path)).toBeNull();
	});

	test("where there is no git", async () => {
		const repo = new GitRepository(folder.at("repo"));
		repo.commit({ "a.txt": "one\n" });
		await git.close();
		git = gitRunner(folder, folder.at("no-such-git"));
		expect(await (await headOf(repo.path)).contentOf(folder.at("repo", "a.txt"))).toBeNull();
	});
});
