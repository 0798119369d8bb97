/**
 * Proof that a pid is still the process it was: a pid alone is reused by the system, a pid with its start time is not.
 * No signal is sent to a process that has not been proven here. Linux reads /proc; elsewhere `ps` is asked.
 */

import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { AgyError } from "../../shared/errors.ts";

export type ProcessIdentity = { readonly pid: number; readonly startTime: string };

type ProcessRow = ProcessIdentity & {
	readonly parentPid: number;
	readonly groupId: number;
	readonly isZombie: boolean;
};

const run = promisify(execFile);
const PS_TIMEOUT_MS = 5_000;
/** Files of the process table that one look has open: libuv reads four at a time, and sixty sessions may look at once. */
const READS_AT_ONCE = 4;
const NO_DESCRIPTOR_RETRY_MS = 20;
/** Longer than turns that start at once take descriptors from each other. */
const NO_DESCRIPTOR_TIMEOUT_MS = 5_000;

let own: ProcessIdentity | null = null;

/** This process. Constant for its life. Throws as `identify` the first time. */
export async function ownIdentity(): Promise<ProcessIdentity> {
	own ??= (await identify(process.pid)) ?? { pid: process.pid, startTime: "" };
	return own;
}

/** Whether a value read from a file has the shape of an identity. */
export function isIdentity(value: unknown): value is ProcessIdentity {
	const identity = value as Partial<ProcessIdentity> | null | undefined;
	return typeof identity?.pid === "number" && typeof identity.startTime === "string";
}

export function isSame(a: ProcessIdentity, b: ProcessIdentity): boolean {
	return a.pid === b.pid && a.startTime === b.startTime;
}

/**
 * The identity of a running process, or null when there is none. A zombie has ended. Throws `no-descriptors`, as everything
 * here that looks at processes, when this process has had too many files open for seconds.
 */
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
	if (process.platform === "linux") return parseStat(await readStat(pid));
	const { stdout } = await run("ps", ["-o", "pid=,ppid=,pgid=,stat=,lstart=", "-p", String(pid)], {
		timeout: PS_TIMEOUT_MS,
	}).catch(
		() => ({ stdout: "" }), // ps exits 1 when there is no such process.
	);
	return parsePsLine(stdout.trim());
}

/** "" when there is no such process. Without a free descriptor nothing can be said of it: one is waited for. */
async function readStat(pid: number): Promise<string> {
	const deadlineMs = performance.now() + NO_DESCRIPTOR_TIMEOUT_MS;
	for (;;) {
		try {
			return await readFile(`/proc/${pid}/stat`, "latin1");
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			if (code !== "EMFILE" && code !== "ENFILE") return ""; // Gone.
			if (performance.now() > deadlineMs) throw noDescriptors(error);
			await delay(NO_DESCRIPTOR_RETRY_MS);
		}
	}
}

function noDescriptors(cause: unknown): AgyError {
	return new AgyError(
		"no-descriptors",
		`pi-agy cannot look at processes: too many files are open, for ${NO_DESCRIPTOR_TIMEOUT_MS / 1000} s now (${(cause as Error).message}). Close some sessions, or raise the limit (ulimit -n).`,
		{ cause },
	);
}

let running: Promise<readonly ProcessRow[]> | null = null;
let next: Promise<readonly ProcessRow[]> | null = null;

/**
 * Dozens of sessions that end at once look at the same table: whoever asks while it is being read shares the reading after
 * that, for the one under way may have passed what they look for.
 */
function readAllRows(): Promise<readonly ProcessRow[]> {
	if (running === null) return read();
	next ??= running
		.catch(() => {}) // Told to those who asked for it.
		.then(() => {
			next = null;
			return read();
		});
	return next;
}

function read(): Promise<readonly ProcessRow[]> {
	const reading = readTable().finally(() => {
		if (running === reading) running = null;
	});
	running = reading;
	return reading;
}

async function readTable(): Promise<readonly ProcessRow[]> {
	if (process.platform === "win32") return []; // Nothing can be proven there, so nothing but our own child is signalled.
	if (process.platform === "linux") {
		const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
		const rows: ProcessRow[] = [];
		for (let first = 0; first < pids.length; first += READS_AT_ONCE) {
			const some = await Promise.all(pids.slice(first, first + READS_AT_ONCE).map((pid) => readRow(Number(pid))));
			rows.push(...some.filter((row) => row !== null));
		}
		return rows;
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
