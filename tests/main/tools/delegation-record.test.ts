import { describe, expect, test } from "vitest";
import { DelegationRecord } from "../../../src/main/tools/delegation-record.ts";
import type { AgyEvent, ToolEvent } from "../../../src/shared/events.ts";

function text(step: number, piece: string, replaces?: true): AgyEvent {
	return { kind: "text", step, text: piece, ...(replaces && { replaces }) };
}

function tool(step: number, name: string, args: ToolEvent["args"], state: ToolEvent["state"] = "done"): AgyEvent {
	return { kind: "tool", step, state, name, args };
}

function record(...events: readonly AgyEvent[]): DelegationRecord {
	const made = new DelegationRecord("/repo");
	for (const event of events) made.note(event);
	return made;
}

describe("the answer", () => {
	test.each([
		["nothing", [], "", []],
		["pieces of one step", [text(1, "Hel"), text(1, "lo.\n")], "Hello.\n", ["Hello."]],
		["several steps", [text(1, "A\n"), text(4, "B")], "A\nB", ["A", "B"]],
		["a rest that came with the result", [text(1, "A")], "A and more", ["A and more"]],
		["all of it with the result", [], "A", ["A"]],
		[
			"a step that was rewritten",
			[text(1, "A "), text(3, "wrong"), text(3, "right", true)],
			"A wrongright",
			["A", "right"],
		],
		["the same with a rest", [text(3, "wrong"), text(3, "ri", true)], "wrongright", ["right"]],
		["blank steps", [text(1, " \n"), text(2, "B")], " \nB", ["B"]],
	] as const)("is made of %s", (_name, events, written, parts) => {
		expect(record(...events).answer(written)).toEqual(parts);
	});

	test("so far ends with a line that has something in it", () => {
		expect(record(text(1, "one\ntwo\n\n"), text(2, " ")).lastLine).toBe("two");
		expect(record().lastLine).toBe("");
		expect(record(text(1, `${"x".repeat(500)}end`)).lastLine).toMatch(/^x{157}end$/);
	});
});

describe("steps", () => {
	test("are told when they begin and when they end, and only then", () => {
		const made = record();
		expect(made.note(tool(1, "run_command", { CommandLine: "a\n b" }, "active"))).toBe(true);
		expect(made.note(tool(1, "run_command", { CommandLine: "a\n b" }, "active"))).toBe(false);
		expect(made.note(tool(1, "run_command", {}))).toBe(true);
		expect(made.note(text(2, "x"))).toBe(false);
		expect(made).toMatchObject({
			stepCount: 1,
			steps: [{ tool: "run_command", what: "a b", state: "done" }],
			commands: ["a\n b"],
		});
	});

	test("are counted all and kept as far as there is room", () => {
		const made = record();
		for (let step = 0; step < 250; step++) made.note(tool(step, "run_command", { CommandLine: `c${step}` }));
		expect(made.stepCount).toBe(250);
		expect([made.steps.length, made.commands.length]).toEqual([100, 100]);
		expect(made.commands.at(-1)).toBe("c249");
	});

	test("of sub-agents count too", () => {
		const agents = [{ type: "t", role: "Reader", prompt: "read" }];
		expect(record({ kind: "subagent", step: 1, state: "done", agents }).steps).toMatchObject([
			{ tool: "invoke_subagent" },
		]);
	});
});

describe("edited files", () => {
	test.each([
		["an absolute path", tool(1, "write_to_file", { TargetFile: "/a/b.txt" }), ["/a/b.txt"]],
		["a relative one", tool(1, "replace_file_content", { TargetFile: "b.txt" }), ["/repo/b.txt"]],
		["an address", tool(1, "multi_replace_file_content", { TargetFile: "file:///a/b%20c.txt" }), ["/a/b c.txt"]],
		["an address elsewhere", tool(1, "write_to_file", { TargetFile: "file://host/a%ZZ" }), []],
		["a failed edit", tool(1, "write_to_file", { TargetFile: "/a" }, "error"), []],
		["a file that was read", tool(1, "view_file", { AbsolutePath: "/a" }), []],
		["nothing", tool(1, "write_to_file", {}), []],
	])("are known from %s", (_name, event, files) => {
		expect(record(event).editedFiles).toEqual(files);
	});
});
