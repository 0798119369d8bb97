/**
 * agy's commands that run, and those that it left to run: agy writes the output of each background task to a file of its
 * own, whose number is that of the step that began it. What was run is known for what this pi session has seen; whether it
 * still runs is told by whether a process holds the file open. Only looks.
 */

import { readdir, realpath } from "node:fs/promises";
import { lastLines } from "../file-tail.ts";
import { plainFilesIn } from "../plain-files.ts";
import { toPlainText } from "../plain-text.ts";
import type { CommandSeen } from "./session-activity.ts";

export type BackgroundTask = {
	/** The task's, or that of the step where there is no task yet. */
	readonly number: number;
	/** `unknown` where it cannot be seen who holds the output open. */
	readonly state: "running" | "ended" | "unknown";
	/** Null when this pi session has not seen it start. */
	readonly command: string | null;
	/** Milliseconds since it started. */
	readonly ageMs: number;
	/** Milliseconds since it printed something; null without an output file. */
	readonly quietMs: number | null;
	readonly bytes: number | null;
	/** Where its output is; null while agy has made no file. */
	readonly log: string | null;
};

export type TaskSources = {
	/** Where the outputs of the conversation's tasks are. */
	readonly directory: string;
	readonly commands: readonly CommandSeen[];
	/** Which of the files somebody holds open; null where that cannot be seen. */
	readonly heldOpen: (paths: readonly string[]) => Promise<ReadonlySet<string> | null>;
	/** Whether agy still works for the conversation: without it none of its steps goes on. */
	readonly isAgyThere: boolean;
	readonly nowMs: number;
};

const LOG = /^task-(\d{1,9})\.log$/;
/** agy's tasks of one conversation; of more, the newest are shown. */
const MAX_TASKS = 128;
const TAIL_LINES = 40;
/** 40 lines, even long ones. */
const TAIL_BYTES = 64 * 1024;

/** Newest first. */
export async function listTasks(sources: TaskSources): Promise<readonly BackgroundTask[]> {
	const { directory, commands, heldOpen, isAgyThere, nowMs } = sources;
	const logs = (await plainFilesIn(directory))
		.flatMap((file) => {
			const number = LOG.exec(file.name)?.[1];
			return number === undefined ? [] : [{ ...file, number: Number(number) }];
		})
		.toSorted((a, b) => b.number - a.number)
		.slice(0, MAX_TASKS);
	const held = await heldOpen(logs.map(({ path }) => path));
	const told = new Set<CommandSeen>();
	const tasks = logs.map(({ number, path, size, madeMs, changedMs }): BackgroundTask => {
		const seen =
			commands.find(({ task }) => task === number) ??
			commands.find(({ task, step }) => task === null && step === number);
		if (seen) told.add(seen);
		const isRunning = (seen?.state === "active" && isAgyThere) || held?.has(path);
		const state = isRunning ? "running" : held === null ? "unknown" : "ended";
		const startedAtMs = seen?.startedAtMs ?? (madeMs > 0 ? madeMs : changedMs);
		return {
			...{ number, state, bytes: size, log: path },
			command: seen === undefined ? null : toPlainText(seen.command),
			ageMs: Math.max(0, Math.round(nowMs - startedAtMs)),
			quietMs: Math.max(0, Math.round(nowMs - changedMs)),
		};
	});
	const others = commands
		.filter((seen) => seen.state === "active" && isAgyThere && !told.has(seen))
		.map(({ step, task, command, startedAtMs }): BackgroundTask => {
			const ageMs = Math.max(0, nowMs - startedAtMs);
			const text = toPlainText(command);
			return { number: task ?? step, state: "running", command: text, ageMs, quietMs: null, bytes: null, log: null };
		});
	return [...others, ...tasks].toSorted((a, b) => b.number - a.number);
}

/** The last lines of a task's output, with nothing in them that steers a terminal; null when it has no output file. */
export async function tailOfTask(directory: string, number: number): Promise<readonly string[] | null> {
	const log = (await plainFilesIn(directory)).find(({ name }) => Number(LOG.exec(name)?.[1]) === number);
	if (log === undefined) return null;
	const lines = await lastLines(log.path, TAIL_BYTES);
	return toPlainText(lines.slice(-TAIL_LINES).join("\n")).split("\n");
}

/** The numbers of the tasks that have an output file, newest first; for completion. */
export async function taskNumbers(directory: string): Promise<readonly number[]> {
	const root = await realpath(directory).catch(() => null); // agy started none.
	const names = root === null ? [] : await readdir(root).catch(() => []); // Gone in between.
	const numbers = names.map((name) => Number(LOG.exec(name)?.[1])).filter(Number.isFinite);
	return numbers.toSorted((a, b) => b - a).slice(0, MAX_TASKS);
}
