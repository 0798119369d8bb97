/** Which files some process of the user's holds open: /proc on Linux, `lsof` elsewhere. Only looks. */

import { execFile } from "node:child_process";
import { readdir, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { findProgram } from "../programs.ts";

const run = promisify(execFile);
/** lsof takes tens to hundreds of milliseconds, and for ever where a network file system does not answer. */
const LSOF_TIMEOUT_MS = 5_000;
const LSOF_MAX_BYTES = 1024 * 1024;
/** Processes that are looked at at once: enough to be quick, and few enough to leave the disk to a turn. */
const AT_ONCE = 32;

/**
 * Those of `paths` (real, absolute) that another process than this one holds open. Null where that cannot be seen. A process of
 * another user counts as holding nothing.
 */
export async function heldOpen(
	paths: readonly string[],
	searchPath: readonly string[],
): Promise<ReadonlySet<string> | null> {
	if (paths.length === 0) return new Set();
	if (process.platform === "linux") return heldByProc(new Set(paths));
	return process.platform === "win32" ? null : heldByLsof(paths, searchPath);
}

async function heldByProc(paths: ReadonlySet<string>): Promise<ReadonlySet<string>> {
	const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
	const held = new Set<string>();
	for (let from = 0; from < pids.length; from += AT_ONCE) {
		const targets = await Promise.all(pids.slice(from, from + AT_ONCE).map(targetsOf));
		for (const target of targets.flat()) if (paths.has(target)) held.add(target);
	}
	return held;
}

async function targetsOf(pid: string): Promise<readonly string[]> {
	const names = await readdir(`/proc/${pid}/fd`).catch(() => []); // It has ended, or is somebody else's.
	return Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => ""))); // Closed since.
}

async function heldByLsof(
	paths: readonly string[],
	searchPath: readonly string[],
): Promise<ReadonlySet<string> | null> {
	const lsof = (await findProgram("lsof", searchPath)) ?? (await findProgram("lsof", ["/usr/sbin", "/usr/bin"]));
	if (lsof === null) return null;
	const limits = { timeout: LSOF_TIMEOUT_MS, maxBuffer: LSOF_MAX_BYTES, env: {} };
	// It exits 1 when one of the files is held by nobody; killed by the limit it has said nothing of use.
	const { stdout } = await run(lsof, ["-Fpn", "--", ...paths], limits).catch(
		(error: { readonly stdout?: string; readonly killed?: boolean }) => ({
			stdout: error.killed === true ? null : (error.stdout ?? null),
		}),
	);
	return stdout === null ? null : toHeld(stdout, new Set(paths));
}

/** Lines `p<pid>`, each with the lines `n<path>` of what it holds. */
export function toHeld(lsofOutput: string, paths: ReadonlySet<string>): ReadonlySet<string> {
	const held = new Set<string>();
	let isOther = false;
	for (const line of lsofOutput.split("\n")) {
		if (line.startsWith("p")) isOther = Number(line.slice(1)) !== process.pid;
		else if (isOther && line.startsWith("n") && paths.has(line.slice(1))) held.add(line.slice(1));
	}
	return held;
}
