/**
 * Which files a run has changed, from the disk and not from what anyone says: within a git work tree what git calls
 * changed, before and after, with the content of those files; elsewhere the files that agy's edits named, when they were
 * written since. Files that git ignores are not seen. What others change in the same time is in the list too.
 */

import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CommandResult } from "../processes/run.ts";

/** Runs git with these arguments. */
export type Git = (args: readonly string[]) => Promise<CommandResult>;

export type ChangedFilesReport = {
	/** How it is known; `null` when it is not: a look at the work tree failed at the end. */
	readonly source: "git" | "edit-steps" | null;
	/** Absolute paths, sorted. */
	readonly files: readonly string[];
	/** More were changed than are listed. */
	readonly isCut: boolean;
};

/** Null: there is no file. */
type Fingerprint = { readonly stamp: string; readonly hash: string | null } | null;
type Tree = { readonly root: string; readonly head: string; readonly dirty: ReadonlyMap<string, Fingerprint> };

export const GIT_TIMEOUT_MS = 10_000;
export const GIT_MAX_BYTES = 4 * 1024 * 1024;
/** Larger files are compared by size and time alone, as is what exceeds the total: a look must not take seconds. */
const MAX_HASHED_BYTES = 1024 * 1024;
const MAX_HASHED_TOTAL_BYTES = 32 * 1024 * 1024;
/** More dirty files than that are no work tree to compare, but a folder that git was never told about. */
const MAX_DIRTY_FILES = 2_000;
const MAX_LISTED = 200;

export class ChangedFiles {
	readonly #cwd: string;
	readonly #git: Git;
	readonly #before: Tree | null;
	readonly #startedAtMs: number;

	private constructor(cwd: string, git: Git, before: Tree | null, startedAtMs: number) {
		this.#cwd = cwd;
		this.#git = git;
		this.#before = before;
		this.#startedAtMs = startedAtMs;
	}

	/** Notes how things are now. */
	static async since(cwd: string, git: Git): Promise<ChangedFiles> {
		const startedAtMs = Date.now();
		return new ChangedFiles(cwd, git, await readTree(cwd, git), startedAtMs);
	}

	/** What has changed since. `edited` are the files that edits of the run named, absolute. */
	async report(edited: readonly string[]): Promise<ChangedFilesReport> {
		if (this.#before === null) return toReport("edit-steps", await writtenSince(edited, this.#startedAtMs));
		const after = await readTree(this.#cwd, this.#git);
		if (after === null || after.root !== this.#before.root) return toReport(null, []);
		return toReport("git", await this.#compare(this.#before, after));
	}

	async #compare(before: Tree, after: Tree): Promise<readonly string[]> {
		const committed = before.head === after.head ? [] : await this.#between(before.head, after.head);
		const changed = new Set(committed.filter((path) => !before.dirty.has(path)));
		for (const path of after.dirty.keys()) if (!before.dirty.has(path)) changed.add(path);
		const budget = new HashBudget();
		for (const [path, then] of before.dirty) {
			const now = after.dirty.has(path) ? (after.dirty.get(path) ?? null) : await budget.fingerprint(before.root, path);
			if (isDifferent(then, now)) changed.add(path);
		}
		return [...changed].map((path) => join(before.root, path));
	}

	/** Of a commit that git cannot compare with (there was none before) nothing is said; its files were dirty then. */
	async #between(from: string, to: string): Promise<readonly string[]> {
		if (from === "" || to === "") return [];
		const result = await this.#git(["-C", this.#cwd, "diff", "--name-only", "--no-renames", "-z", from, to, "--"]);
		return result.ok && result.code === 0 ? result.stdout.split("\0").filter((path) => path !== "") : [];
	}
}

/** Null where git does not answer: no work tree, no git, or one that is too large to look at. */
async function readTree(cwd: string, git: Git): Promise<Tree | null> {
	const run = async (...args: readonly string[]) => {
		const result = await git(["-C", cwd, ...args]);
		return result.ok && result.code === 0 ? result.stdout : null;
	};
	const root = (await run("rev-parse", "--show-toplevel"))?.replace(/\r?\n$/, "");
	if (!root) return null;
	const head = (await run("rev-parse", "--verify", "--quiet", "HEAD"))?.trim() ?? "";
	const status = await run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames");
	if (status === null) return null;
	const paths = status
		.split("\0")
		.filter((entry) => entry.length > 3)
		.map((entry) => entry.slice(3));
	if (paths.length > MAX_DIRTY_FILES) return null;
	const budget = new HashBudget();
	const dirty = new Map<string, Fingerprint>();
	for (const path of paths) dirty.set(path, await budget.fingerprint(root, path));
	return { root, head, dirty };
}

class HashBudget {
	#leftBytes = MAX_HASHED_TOTAL_BYTES;

	async fingerprint(root: string, path: string): Promise<Fingerprint> {
		const full = join(root, path);
		const file = await stat(full).catch(() => null); // Deleted, or a link to nothing.
		if (!file) return null;
		const stamp = `${file.ino}:${file.size}:${file.mtimeMs}`;
		if (!file.isFile() || file.size > Math.min(MAX_HASHED_BYTES, this.#leftBytes)) return { stamp, hash: null };
		this.#leftBytes -= file.size;
		const content = await readFile(full).catch(() => null); // Gone or closed since: known by its stamp alone.
		return { stamp, hash: content && createHash("sha256").update(content).digest("base64") };
	}
}

function isDifferent(before: Fingerprint, now: Fingerprint): boolean {
	if (before === null || now === null) return before !== now;
	if (before.hash !== null && now.hash !== null) return before.hash !== now.hash;
	return before.stamp !== now.stamp;
}

async function writtenSince(paths: readonly string[], startedAtMs: number): Promise<readonly string[]> {
	const written: string[] = [];
	for (const path of paths) {
		const file = await stat(path).catch(() => null); // Not there: nothing was written, or it was removed again.
		// File systems keep time in steps of up to two seconds, and round down.
		if (file && file.mtimeMs >= startedAtMs - 2_000) written.push(path);
	}
	return written;
}

function toReport(source: ChangedFilesReport["source"], files: readonly string[]): ChangedFilesReport {
	return { source, files: files.toSorted().slice(0, MAX_LISTED), isCut: files.length > MAX_LISTED };
}
