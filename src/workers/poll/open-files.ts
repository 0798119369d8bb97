/** Which conversations the processes of a run hold open: /proc on Linux, `ps` and `lsof` elsewhere. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readdir, readlink, realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import { DATABASE } from "./discovery.ts";

const run = promisify(execFile);
/** lsof takes tens to hundreds of milliseconds, and for ever where a network file system does not answer. */
const COMMAND_TIMEOUT_MS = 5_000;

/** The conversations that `pid` and its descendants hold open. Null where that cannot be seen, or `pid` has ended. */
export async function conversationsHeldBy(pid: number, conversationsDir: string): Promise<ReadonlySet<string> | null> {
	if (process.platform === "win32") return null;
	const tree = treeOf(pid, await allParents());
	if (tree === null) return null;
	const directory = await realpath(conversationsDir).catch(() => conversationsDir); // Not there yet.
	const held = new Set<string>();
	for (const path of await openFilesOf(tree)) {
		const id = dirname(path) === directory ? DATABASE.exec(basename(path).replace(/-wal$/, ""))?.[1] : undefined;
		if (id !== undefined) held.add(id);
	}
	return held;
}

type Parents = ReadonlyMap<number, number>;

function treeOf(root: number, parents: Parents): readonly number[] | null {
	if (!parents.has(root)) return null;
	const children = new Map<number, number[]>();
	for (const [pid, parent] of parents) children.set(parent, [...(children.get(parent) ?? []), pid]);
	const tree: number[] = [];
	for (const queue = [root]; queue.length > 0; ) {
		const pid = queue.pop() as number;
		tree.push(pid);
		queue.push(...(children.get(pid) ?? []));
	}
	return tree;
}

async function allParents(): Promise<Parents> {
	const parents = new Map<number, number>();
	if (process.platform === "linux") {
		const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
		// One by one: a thread that is ended leaves the files open that it was just reading.
		for (const pid of pids) {
			const stat = readStat(pid);
			// Field 4, behind the command name, which may hold spaces and brackets (proc_pid_stat(5)).
			const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
			if (stat !== "") parents.set(Number(pid), parent);
		}
		return parents;
	}
	const { stdout } = await run("ps", ["-axo", "pid=,ppid="], { timeout: COMMAND_TIMEOUT_MS });
	for (const line of stdout.split("\n")) {
		const [pid, parent] = line.trim().split(/\s+/).map(Number);
		if (pid && parent !== undefined) parents.set(pid, parent);
	}
	return parents;
}

function readStat(pid: string): string {
	try {
		return readFileSync(`/proc/${pid}/stat`, "latin1");
	} catch {
		return ""; // It has ended.
	}
}

async function openFilesOf(pids: readonly number[]): Promise<readonly string[]> {
	if (process.platform === "linux") {
		const files = await Promise.all(
			pids.map(async (pid) => {
				const names = await readdir(`/proc/${pid}/fd`).catch(() => []); // It has ended, or is not ours.
				return Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => ""))); // Closed since.
			}),
		);
		return files.flat();
	}
	// It exits 1 when one of the processes has ended; what it printed counts.
	const { stdout } = await run("lsof", ["-Fn", "-p", pids.join(",")], { timeout: COMMAND_TIMEOUT_MS }).catch(
		(error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? "" }),
	);
	return stdout.split("\n").flatMap((line) => (line.startsWith("n") ? [line.slice(1)] : []));
}
