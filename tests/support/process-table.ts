/** The processes of the machine as a test sees them: families, zombies, threads, environment. Reads /proc (Linux). */
import { readdirSync, readFileSync } from "node:fs";
import { until } from "./condition.ts";

export type ProcessRow = {
	readonly pid: number;
	readonly parentPid: number;
	readonly isZombie: boolean;
	readonly command: string;
};

function allProcesses(): readonly ProcessRow[] {
	return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readRow(Number(name)) ?? []) : []));
}

export function childrenOf(pid: number): readonly ProcessRow[] {
	return allProcesses().filter((row) => row.parentPid === pid);
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
	return readRow(pid)?.isZombie === false;
}

/** Threads of the process, worker threads and V8's own alike. */
export function threadCount(pid: number): number {
	return readdirSync(`/proc/${pid}/task`).length;
}

/** Processes that were started with this variable in their environment. */
export function processesWithVariable(name: string, value: string): readonly ProcessRow[] {
	const wanted = `${name}=${value}\0`;
	return allProcesses().filter((row) => !row.isZombie && `\0${read(row.pid, "environ")}`.includes(`\0${wanted}`));
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
	const stat = read(pid, "stat");
	const [state, parentPid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	if (state === undefined || parentPid === undefined) return undefined;
	const command = read(pid, "cmdline").replaceAll("\0", " ").trimEnd();
	return { pid, parentPid: Number(parentPid), isZombie: state === "Z" || state === "X", command };
}

function read(pid: number, file: string): string {
	try {
		return readFileSync(`/proc/${pid}/${file}`, "latin1");
	} catch {
		return ""; // gone, or somebody else's
	}
}
