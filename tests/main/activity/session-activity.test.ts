import { beforeEach, describe, expect, test } from "vitest";
import { SessionActivity } from "../../../src/main/activity/session-activity.ts";
import type { SubagentEvent, ToolEvent } from "../../../src/shared/events.ts";

const HERE = "c0ffee00-0000-4000-8000-000000000001";
let activity: SessionActivity;
beforeEach(() => {
	activity = new SessionActivity();
});

function command(step: number, state: ToolEvent["state"], more: Partial<ToolEvent> = {}): ToolEvent {
	return { kind: "tool", step, state, name: "run_command", args: { CommandLine: `command ${step}` }, ...more };
}

function subagent(step: number, state: SubagentEvent["state"], conversationId?: string): SubagentEvent {
	const agent = { type: "researcher", role: "Looks", prompt: "Find it" };
	return {
		kind: "subagent",
		step,
		state,
		agents: [conversationId === undefined ? agent : { ...agent, conversationId }],
	};
}

describe("commands", () => {
	test.each<[string, readonly ToolEvent[], readonly object[]]>([
		["one that runs and ends", [command(3, "active"), command(3, "done")], [{ step: 3, state: "done", task: null }]],
		[
			"one that became a task",
			[
				command(3, "active"),
				command(3, "done", { output: "background task with task id: some-id/task-7\nTask Description: x" }),
			],
			[{ step: 3, command: "command 3", task: 7 }],
		],
		[
			"one that only its task names",
			[
				command(3, "done", {
					args: {},
					output: "Tool is running as a background task with task id: a/task-3\r\nTask Description: make it",
				}),
			],
			[{ command: "make it", task: 3 }],
		],
		["a tool that is no command", [command(3, "done", { name: "view_file", args: { AbsolutePath: "/x" } })], []],
		[
			"a second one under a number that is counted anew",
			[
				command(3, "done", { output: "background task with task id: a/task-3" }),
				command(3, "active", { args: { CommandLine: "another" } }),
			],
			[{ command: "another", task: null, state: "active" }],
		],
	])("%s", (_name, events, expected) => {
		for (const event of events) activity.note(HERE, event);
		expect(activity.commands(HERE)).toMatchObject(expected);
		expect(activity.commands(HERE)).toHaveLength(expected.length);
		expect(activity.commands("another-conversation")).toEqual([]);
	});

	test("keep their start, and are bounded in number and length", () => {
		activity.note(HERE, command(0, "active", { args: { CommandLine: "x".repeat(10_000) } }));
		const [first] = activity.commands(HERE);
		activity.note(HERE, command(0, "done"));
		expect(activity.commands(HERE)[0]?.startedAtMs).toBe(first?.startedAtMs);
		expect(first?.command).toHaveLength(501);
		for (let step = 1; step <= 300; step++) activity.note(HERE, command(step, "done"));
		expect(activity.commands(HERE).map(({ step }) => step)).toEqual(
			Array.from({ length: 200 }, (_, index) => index + 101),
		);
		for (let other = 0; other < 30; other++) activity.note(`conversation-${other}`, command(1, "done"));
		expect(activity.commands(HERE)).toEqual([]);
	});
});

test("a sub-agent gets its conversation when agy names it, if it is an id", () => {
	activity.note(HERE, subagent(2, "active"));
	expect(activity.subagents(HERE)).toMatchObject([{ type: "researcher", state: "starting", conversationId: null }]);
	activity.note(HERE, subagent(2, "done", "../../etc/passwd"));
	expect(activity.subagents(HERE)).toMatchObject([{ state: "started", conversationId: null }]);
	activity.note(HERE, subagent(2, "done", "deadbeef-0000-4000-8000-000000000001"));
	activity.note(HERE, subagent(4, "error"));
	expect(activity.subagents(HERE)).toMatchObject([
		{ state: "started", conversationId: "deadbeef-0000-4000-8000-000000000001" },
		{ step: 4, state: "failed" },
	]);
});
