/**
 * Proof that a pid is still the process it was: a pid alone is reused by the system, a pid with its start time is not.
 * No signal is sent to a process that has not been proven here. Linux reads /proc; elsewhere `ps` is asked.
 */

import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

export type ProcessIdentity = { readonly pid: number; readonly startTime: string };

type ProcessRow = ProcessIdentity & {
	readonly parentPid: number;
	readonly groupId: number;
	readonly isZombie: boolean;
};

const run = promisify(execFile);
const PS_TIMEOUT_MS = 5_000;

/** This process. Constant for its life. */
export async function ownIdentity(): Promise<ProcessIdentity> {
	return (await identify(process.pid)) ?? { pid: process.pid, startTime: "" };
}

/** Whether a value read from a file has the shape of an identity. */
export function isIdentity(value: unknown): value is ProcessIdentity {
	const identity = value as Partial<ProcessIdentity> | null | undefined;
	return typeof identity?.pid === "number" && typeof identity.startTime === "string";
}

export function isSame(a: ProcessIdentity, b: ProcessIdentity): boolean {
	return a.pid === b.pid && a.startTime === b.startTime;
}

/** The identity of a running process, or null when there is none. A zombie has ended. */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
	const row = await readRow(pid);
	return row && !row.isZombie ? { pid: row.pid, startTime: row.startTime } : null;
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
	const current = await identify(identity.pid);
	return current !== null && isSame(current, identity);
}

/** Every process that descends from `pid` or is in its process group, `pid` itself included when it runs. */
export async function familyOf(pid: number): Promise<readonly ProcessIdentity[]> {
	const rows = (await readAllRows()).filter((row) => !row.isZombie);
	const family = new Set<number>([pid]);
	for (let size = 0; size !== family.size; ) {
		size = family.size;
		for (const row of rows) if (family.has(row.parentPid) || row.groupId === pid) family.add(row.pid);
	}
	return rows.filter((row) => family.has(row.pid)).map(({ pid, startTime }) => ({ pid, startTime }));
}

/** Signals each process that is still the one identified; the others are left alone. Returns how many were signalled. */
export async function signalProven(identities: readonly ProcessIdentity[], signal: NodeJS.Signals): Promise<number> {
	let signalled = 0;
	for (const identity of identities) {
		if (!(await isAlive(identity))) continue;
		try {
			process.kill(identity.pid, signal);
			signalled++;
		} catch {
			// It ended since the check.
		}
	}
	return signalled;
}

async function readRow(pid: number): Promise<ProcessRow | null> {
	if (process.platform === "linux") return parseStat(await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "")); // Gone.
	const { stdout } = await run("ps", ["-o", "pid=,ppid=,pgid=,stat=,lstart=", "-p", String(pid)], {
		timeout: PS_TIMEOUT_MS,
	}).catch(
		() => ({ stdout: "" }), // ps exits 1 when there is no such process.
	);
	return parsePsLine(stdout.trim());
}

async function readAllRows(): Promise<readonly ProcessRow[]> {
	if (process.platform === "win32") return []; // Nothing can be proven there, so nothing but our own child is signalled.
	if (process.platform === "linux") {
		const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
		const rows = await Promise.all(pids.map((pid) => readRow(Number(pid))));
		return rows.filter((row) => row !== null);
	}
	const { stdout } = await run("ps", ["-axo", "pid=,ppid=,pgid=,stat=,lstart="], { timeout: PS_TIMEOUT_MS });
	return stdout.split("\n").flatMap((line) => parsePsLine(line.trim()) ?? []);
}

/** Fields of /proc/<pid>/stat behind the command name, which may hold spaces and brackets (proc_pid_stat(5)). */
function parseStat(stat: string): ProcessRow | null {
	const pid = Number.parseInt(stat, 10);
	const rest = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	const [state, parentPid, groupId] = rest;
	const startTime = rest[19];
	if (!Number.isInteger(pid) || !startTime) return null;
	return {
		pid,
		startTime,
		parentPid: Number(parentPid),
		groupId: Number(groupId),
		isZombie: state === "Z" || state === "X",
	};
}

function parsePsLine(line: string): ProcessRow | null {
	const [pid, parentPid, groupId, state, ...startTime] = line.split(/\s+/);
	if (!pid || startTime.length === 0) return null;
	return {
		pid: Number(pid),
		parentPid: Number(parentPid),
		groupId: Number(groupId),
		startTime: startTime.join("_"),
		isZombie: state?.startsWith("Z") ?? false,
	};
}
