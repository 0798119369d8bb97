/**
 * What git knew of a repository when a turn began: the commit, and which tracked files differed from it. A file that did
 * not differ then had the commit's content, however late it is looked at. git is run at most once for the state and once
 * for each file asked for, with a limit of its own, and takes no lock of the repository.
 */

import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { CommandResult } from "../processes/run.ts";
import { MAX_FILE_BYTES } from "./file-content.ts";

/** The state of a large repository on a cold disk takes seconds; a card does not wait longer for it. */
const GIT_TIMEOUT_MS = 3_000;
/** Some 10,000 names of changed files. */
const STATUS_MAX_BYTES = 1024 * 1024;

/** Runs git with these arguments. */
export type RunGit = (
	args: readonly string[],
	limits: { readonly timeoutMs: number; readonly maxBytes: number },
) => Promise<CommandResult>;

type State = { readonly root: string; readonly commit: string; readonly dirty: ReadonlySet<string> };

export class GitHead {
	readonly #run: RunGit;
	readonly #state: Promise<State | null>;

	/** Asks git for the state of the repository that `cwd` lies in, if there is one. */
	constructor(cwd: string, run: RunGit) {
		this.#run = run;
		this.#state = this.#inspect(cwd).catch(() => null); // A folder that cannot be looked at is in no repository.
	}

	/** git has said what it knows. */
	async settled(): Promise<void> {
		await this.#state;
	}

	/** The file's content when the turn began, if git knows it. Never throws. */
	async contentOf(path: string): Promise<string | null> {
		const state = await this.#state;
		if (state === null) return null;
		try {
			const real = join(await realpath(dirname(path)), basename(path));
			const name = relative(state.root, real).split(sep).join("/");
			if (state.dirty.has(name)) return null;
			const args = ["-C", state.root, "cat-file", "blob", `${state.commit}:${name}`];
			const shown = await this.#run(args, { timeoutMs: GIT_TIMEOUT_MS, maxBytes: MAX_FILE_BYTES });
			return shown.ok && shown.code === 0 && !shown.stdout.includes("\0") ? shown.stdout : null;
		} catch {
			return null; // The folder is gone: nothing to compare with.
		}
	}

	async #inspect(cwd: string): Promise<State | null> {
		const root = await findRoot(await realpath(cwd));
		if (root === null) return null;
		// A repository may name a program that watches its files; it is not for us to start it.
		const args = ["-C", root, "--no-optional-locks", "-c", "core.fsmonitor=false"];
		const status = await this.#run(
			[...args, "status", "--porcelain=v2", "--branch", "-z", "--no-renames", "-uno", "--ignore-submodules=all"],
			{ timeoutMs: GIT_TIMEOUT_MS, maxBytes: STATUS_MAX_BYTES },
		);
		return status.ok && status.code === 0 ? toState(root, status.stdout) : null;
	}
}

function toState(root: string, status: string): State | null {
	let commit = "";
	const dirty = new Set<string>();
	for (const record of status.split("\0")) {
		const [, oid] = /^# branch\.oid ([0-9a-f]+)$/.exec(record) ?? [];
		if (oid !== undefined) commit = oid;
		const [, name] = /^(?:1(?: \S+){7}|u(?: \S+){9}) (.+)$/s.exec(record) ?? [];
		if (name !== undefined) dirty.add(name);
	}
	return commit === "" ? null : { root, commit, dirty };
}

/** The nearest folder upwards that is a repository or a worktree of one; null when there is none. */
async function findRoot(folder: string): Promise<string | null> {
	for (let at = folder; ; at = dirname(at)) {
		const isRoot = await stat(join(at, ".git")).then(
			() => true,
			() => false, // Not here.
		);
		if (isRoot) return at;
		if (dirname(at) === at) return null;
	}
}
