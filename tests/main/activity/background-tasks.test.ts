import { closeSync, mkdirSync, openSync, realpathSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { listTasks, type TaskSources, tailOfTask, taskNumbers } from "../../../src/main/activity/background-tasks.ts";
import type { CommandSeen } from "../../../src/main/activity/session-activity.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const NOW_MS = Date.UTC(2026, 10, 1, 12);
let held: ReadonlySet<string> | null;
let directory: string;

beforeEach(() => {
	directory = realpathSync(folder.path);
	held = new Set();
});

function log(name: string, content = "out\n", ageS = 10): string {
	const path = folder.at(name);
	writeFileSync(path, content);
	utimesSync(path, NOW_MS / 1000 - ageS, NOW_MS / 1000 - ageS);
	return realpathSync(path);
}

function seen(step: number, more: Partial<CommandSeen> = {}): CommandSeen {
	return { step, command: `command ${step}`, task: null, state: "active", startedAtMs: NOW_MS - 60_000, ...more };
}

function list(commands: readonly CommandSeen[] = [], more: Partial<TaskSources> = {}) {
	return listTasks({ directory, commands, heldOpen: async () => held, isAgyThere: true, nowMs: NOW_MS, ...more });
}

describe("a task", () => {
	test.each<
		[
			string,
			{ readonly isHeld?: boolean | null; readonly command?: CommandSeen; readonly isAgyThere?: boolean },
			object,
		]
	>([
		["whose file is held open", { isHeld: true }, { state: "running", command: null, quietMs: 10_000, bytes: 4 }],
		["whose file nobody holds", { isHeld: false }, { state: "ended", command: null }],
		["where that cannot be seen", { isHeld: null }, { state: "unknown" }],
		["where its step goes on, though that cannot be seen", { isHeld: null, command: seen(7) }, { state: "running" }],
		["whose agy is gone", { isHeld: null, command: seen(7), isAgyThere: false }, { state: "unknown" }],
		[
			"of the step of its number",
			{ command: seen(7, { state: "done" }) },
			{ command: "command 7", ageMs: 60_000, state: "ended" },
		],
		["that another step names", { command: seen(5, { task: 7, state: "done" }) }, { command: "command 5" }],
		["whose number another task's step has", { command: seen(7, { task: 3, state: "done" }) }, { command: null }],
	])("%s", async (_name, { isHeld = false, command, isAgyThere = true }, expected) => {
		const path = log("task-7.log");
		held = isHeld === null ? null : new Set(isHeld ? [path] : []);
		expect(await list(command ? [command] : [], { isAgyThere })).toMatchObject([{ number: 7, log: path, ...expected }]);
	});

	test("that runs and has no file yet is listed, one that has ended is not", async () => {
		log("task-3.log");
		expect(await list([seen(9), seen(8, { state: "done" })])).toMatchObject([
			{ number: 9, state: "running", command: "command 9", log: null, bytes: null },
			{ number: 3 },
		]);
		expect(await list([seen(9)], { isAgyThere: false })).toMatchObject([{ number: 3 }]);
	});

	test("is one by its name, and only a plain file of the folder", async () => {
		log("task-1.log");
		log("task-x.log");
		log("other.log");
		mkdirSync(folder.at("task-2.log"));
		symlinkSync("/etc/hostname", folder.at("task-4.log"));
		expect((await list()).map(({ number }) => number)).toEqual([1]);
		expect(await tailOfTask(directory, 4)).toBeNull();
		expect(await list([], { directory: "/nowhere/at/all" })).toEqual([]);
	});

	test("has a command that steers no terminal", async () => {
		expect(await list([seen(9, { command: "a\u001b[2Jb" })])).toMatchObject([{ command: "ab" }]);
	});
});

test("the tail is the last 40 lines, without what steers a terminal, of a file of any size", async () => {
	const file = openSync(folder.at("task-12.log"), "w");
	for (let block = 0; block < 100; block++) writeFileSync(file, `${"x".repeat(9_999)}\n`);
	writeFileSync(file, Array.from({ length: 50 }, (_, line) => `\u001b[1mline ${line}\n`).join(""));
	closeSync(file);
	const lines = await tailOfTask(directory, 12);
	expect(lines).toHaveLength(40);
	expect([lines?.[0], lines?.at(-1)]).toEqual(["line 10", "line 49"]);
	expect(await tailOfTask(directory, 13)).toBeNull();
	log("task-2.log");
	expect(await taskNumbers(directory)).toEqual([12, 2]);
});
