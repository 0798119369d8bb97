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
