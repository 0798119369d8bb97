import { describe, expect, test } from "vitest";
import { TurnRecord } from "../../src/main/turn-record.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import {
	failedTool,
	modelCall,
	notice,
	ready,
	subagent,
	text,
	thinking,
	tool,
	unknown,
} from "../support/agy-events.ts";

const LINK = { stderr: "", isReused: false, conversationId: "" };
const evidenceOf = (record: TurnRecord) => record.evidence("result", LINK, {});

describe("what counts as a sign of work", () => {
	test.each<[string, AgyEvent, boolean, boolean]>([
		["text", text("a"), true, true],
		["thinking", thinking("hm"), true, false],
		["a model call", modelCall(), true, false],
		["a tool", tool(2, "done"), true, false],
		["a sub-agent", subagent(1, "active"), true, false],
		["a notice", notice, false, false],
		["something unknown", unknown, false, false],
		["agy's introduction", ready, false, false],
	])("%s", (_name, event, sawOutput, sawText) => {
		const record = new TurnRecord();
		record.note(event);
		expect(evidenceOf(record)).toMatchObject({ sawOutput, sawText });
	});

	test("nothing at first", () => {
		expect(evidenceOf(new TurnRecord())).toMatchObject({
			sawOutput: false,
			sawText: false,
			deniedTools: [],
			toolErrors: [],
			rejected: null,
		});
	});
});

test("failures of tools are kept, and denied ones named once", () => {
	const record = new TurnRecord();
	const denied = "permission check failed for command: user denied permission";
	for (const message of [denied, "no such file", denied]) record.note(failedTool(2, message));
	record.note(tool(3, "done"));
	expect(evidenceOf(record)).toMatchObject({
		deniedTools: ["run_command"],
		toolErrors: [denied, "no such file", denied],
	});
});

test("the first bad line is kept", () => {
	const record = new TurnRecord();
	const bad = { kind: "lines-rejected", link: 1, count: 1, byteLength: 9 } as const;
	record.noteRejected({ ...bad, reason: "not-json", sample: "first" });
	record.noteRejected({ ...bad, reason: "too-long", sample: "second" });
	expect(evidenceOf(record).rejected).toStrictEqual({ reason: "not-json", sample: "first" });
});

test("the context is what the last call read that says what it used", () => {
	const record = new TurnRecord();
	record.note(modelCall({ input: 1, output: 2, thinking: 1, cacheRead: 4 }));
	record.note(modelCall({ input: 10, output: 20, thinking: 5, cacheRead: 40 }));
	record.note(modelCall());
	expect(record.contextTokens).toBe(50);
});

test("what the caller knows better wins", () => {
	const link = { stderr: "tail", isReused: true, conversationId: "c1" };
	expect(new TurnRecord().evidence("silent", link, { timeoutMin: 5, sawText: true })).toMatchObject({
		cause: "silent",
		...link,
		timeoutMin: 5,
		sawText: true,
		result: null,
		exit: null,
	});
});

test.each([
	["of the whole turn", "First. Second.\n", "\n"],
	["of the last step", "Second.\n", "\n"],
	["that says something else", "Third.", ""],
	["that is what was streamed", "First. Second.", ""],
])("a response %s is completed by what is missing", (_name, response, missing) => {
	const record = new TurnRecord();
	record.note(text("First. ", 1));
	record.note(text("Sec", 3));
	record.note(text("ond.", 3));
	expect(record.completeText(response)).toBe(missing);
});

describe("a second answer within the turn", () => {
	test("is completed on its own", () => {
		const record = new TurnRecord();
		record.note(text("First."));
		expect(record.completeText("First.")).toBe("");
		record.startAnswer();
		expect(evidenceOf(record)).toMatchObject({ sawText: false, sawOutput: true });
		expect(record.completeText("Second.")).toBe("Second.");
		expect(evidenceOf(record).sawText).toBe(true);
	});

	test("does not mistake the first for a part of itself", () => {
		const record = new TurnRecord();
		record.note(text("A", 1));
		record.startAnswer();
		record.note(text("B", 1));
		expect(record.completeText("BC")).toBe("C");
	});
});

describe("the last request of a turn", () => {
	test.each<[string, readonly AgyEvent[], number, boolean]>([
		["nothing", [], -1, false],
		["agy's introduction", [ready], -1, false],
		["the prompt", [{ ...notice, step: 3 }], 3, true],
		[
			"the prompt, tools and an answer",
			[{ ...notice, step: 3 }, tool(5, "active"), tool(4, "done"), text("a", 6)],
			5,
			true,
		],
		["a sub-agent", [subagent(8, "active")], 8, true],
		["an answer alone", [text("a", 6)], -1, true],
		["something unknown", [unknown], -1, false],
	])("after %s", (_name, events, step, wasRead) => {
		const record = new TurnRecord();
		for (const event of events) record.note(event);
		expect([record.lastRequestStep, record.wasRead]).toStrictEqual([step, wasRead]);
	});
});

describe("the steps of a turn", () => {
	test("are counted by tool once each, when they have ended", () => {
		const record = new TurnRecord();
		for (const event of [
			tool(2, "active"),
			tool(2, "done"),
			tool(2, "done"),
			failedTool(3, "no"),
			subagent(4, "done"),
		]) {
			record.note(event);
		}
		record.note(tool(5, "active"));
		expect([...evidenceOf(record).toolCounts]).toStrictEqual([
			["run_command", 2],
			["invoke_subagent", 1],
		]);
	});

	test("that have not ended keep the process from another prompt", () => {
		const record = new TurnRecord();
		record.note(tool(2, "active"));
		record.note(tool(3, "active"));
		record.note(tool(2, "done"));
		expect([record.hasActiveSteps, evidenceOf(record).leftToolsRunning]).toStrictEqual([true, true]);
		record.note(failedTool(3, "no"));
		expect([record.hasActiveSteps, evidenceOf(record).leftToolsRunning]).toStrictEqual([false, false]);
	});
});

describe("what agy's counters add", () => {
	const usage = (input: number, output = 0, cacheRead = 0) => ({ input, output, thinking: 0, cacheRead });

	test.each<[string, readonly AgyEvent[], number | null]>([
		["when no step said anything", [text("a"), modelCall()], 30],
		["when a model call did", [modelCall(usage(1))], null],
		["when a title did", [{ ...notice, usage: usage(1) }], null],
		["when something unknown did", [{ ...unknown, usage: usage(1) }], null],
		["when a call said that it cost nothing", [modelCall(usage(0))], null],
	])("%s", (_name, events, input) => {
		const record = new TurnRecord();
		for (const event of events) record.note(event);
		expect(record.unreportedUsage(usage(100), usage(70))?.input ?? null).toBe(input);
	});

	test.each([
		["without counters", undefined, usage(1)],
		["with unknown counters before", usage(100), null],
		["when they did not grow", usage(100), usage(100)],
		["when they shrank", usage(100), usage(200)],
	])("is nothing %s", (_name, counters, before) => {
		expect(new TurnRecord().unreportedUsage(counters, before)).toBeNull();
	});

	test("is never negative", () => {
		expect(new TurnRecord().unreportedUsage(usage(100, 5, 7), usage(200, 3, 7))).toStrictEqual(usage(0, 2, 0));
	});
});

describe("the whole text of a step", () => {
	test("adds what its pieces did not bring", () => {
		const record = new TurnRecord();
		record.note(text("First. ", 1));
		record.note(text("Sec", 3));
		expect(record.completeStep(3, "Second.")).toBe("ond.");
	});

	test("of a step that printed nothing is all of it, also when it begins like the text so far", () => {
		const record = new TurnRecord();
		record.note(text("Up.", 1));
		expect(record.completeStep(3, "Up. Again.")).toBe("Up. Again.");
		expect(evidenceOf(record).sawText).toBe(true);
	});
});
