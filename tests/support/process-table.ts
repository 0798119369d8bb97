/** The processes of the machine as a test sees them: families, zombies, threads, environment. Reads /proc (Linux). */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { until } from "./condition.ts";

export type ProcessRow = {
	readonly pid: number;
	readonly parentPid: number;
	readonly isZombie: boolean;
	readonly command: string;
};

/**
 * What a file of /proc is read into. Shared, because Node reads a file that states no size into 64 KiB of its own, and a
 * walk over the table, of which a test makes many, would take tens of megabytes.
 */
let page = Buffer.allocUnsafe(64 * 1024);

function allPids(): readonly number[] {
	return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []));
}

export function childrenOf(pid: number): readonly ProcessRow[] {
	return allPids().flatMap((child) => (readStat(child)?.parentPid === pid ? (readRow(child) ?? []) : []));
}

export function zombiesOf(pid: number): readonly ProcessRow[] {
	return childrenOf(pid).filter((row) => row.isZombie);
}

/** A child that has just ended is a zombie for the moment until its parent has heard of it; one that stays so fails this. */
export async function untilReaped(pid: number): Promise<void> {
	await until(
		() => `${pid} reaps its children: ${JSON.stringify(zombiesOf(pid))}`,
		() => zombiesOf(pid).length === 0,
	);
}

/** Running and not a zombie. */
export function isRunning(pid: number): boolean {
	return readStat(pid)?.isZombie === false;
}

/** Threads of the process, worker threads and V8's own alike. */
export function threadCount(pid: number): number {
	return readdirSync(`/proc/${pid}/task`).length;
}

/** Processes that were started with this variable in their environment. */
export function processesWithVariable(name: string, value: string): readonly ProcessRow[] {
	const wanted = `${name}=${value}\0`;
	const pids = allPids().filter((pid) => `\0${read(pid, "environ")}`.includes(`\0${wanted}`));
	return pids.flatMap((pid) => readRow(pid) ?? []).filter((row) => !row.isZombie);
}

/** The small shell that watches over the processes of `pid`; its environment is empty, so it has to be known by its parent. */
export function guardiansOf(pid: number): readonly number[] {
	return childrenOf(pid).flatMap((row) =>
		!row.isZombie && row.command.startsWith("/bin/sh -c") && row.command.includes("guarded=") ? [row.pid] : [],
	);
}

export function killQuietly(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
	try {
		process.kill(pid, signal);
	} catch {
		// gone already
	}
}

function readRow(pid: number): ProcessRow | undefined {
	const stat = readStat(pid);
	return stat && { ...stat, command: read(pid, "cmdline").replaceAll("\0", " ").trimEnd() };
}

function readStat(pid: number): Omit<ProcessRow, "command"> | undefined {
	const stat = read(pid, "stat");
	const [state, parentPid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	if (state === undefined || parentPid === undefined) return undefined;
	return { pid, parentPid: Number(parentPid), isZombie: state === "Z" || state === "X" };
}

function read(pid: number, file: string): string {
	let descriptor: number | undefined;
	try {
		descriptor = openSync(`/proc/${pid}/${file}`, "r");
		let length = 0;
		for (;;) {
			const count = readSync(descriptor, page, length, page.length - length, null);
			if (count === 0) return page.toString("latin1", 0, length);
			length += count;
			if (length === page.length) page = Buffer.concat([page], 2 * length);
		}
	} catch {
		return ""; // gone, or somebody else's
	} finally {
		if (descriptor !== undefined) closeSync(descriptor);
	}
}
