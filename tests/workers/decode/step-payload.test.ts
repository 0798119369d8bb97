/** Long because it is a table: every kind of step, every status and every dialect of a result, one row each. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeStep, parseCallArgs, type Step, type StepRow } from "../../../src/workers/decode/step-payload.ts";
import { type Field, fixed64, group, message, tag, timestamp } from "../../support/protobuf-writer.ts";
import { CREATED_MS, call, metadata, planner, row, TRAJECTORY, toolRow, torn, usage } from "../../support/step-rows.ts";

function decoded(stepRow: StepRow): Step {
	const { kind, value } = decodeStep(stepRow);
	expect(kind).toBe("ok");
	return value;
}

function textOf(bytes: Uint8Array): string {
	return Buffer.from(bytes).toString();
}

const CALL = call("call_1", "run_command", { CommandLine: "make" });

describe("statuses", () => {
	test.each([
		[0, "unspecified", "active", true],
		[1, "pending", "active", true],
		[2, "running", "active", true],
		[3, "done", "done", true],
		[4, "invalid", "error", true],
		[5, "cleared", "error", true],
		[6, "canceled", "error", true],
		[7, "error", "error", true],
		[8, "generating", "active", true],
		[9, "waiting", "active", true],
		[10, "status-10", "active", false],
		[11, "queued", "active", true],
		[12, "interrupted", "error", true],
		[13, "status-13", "active", false],
		[-1, "status--1", "active", false],
	])("%d is %s: %s", (status, statusName, state, isStatusKnown) => {
		expect(decoded(row(1, 21, status))).toMatchObject({ status, statusName, state, isStatusKnown });
	});

	test("the column counts; the payload's own stands in for one that is not there", () => {
		expect(decoded({ ...row(1, 15, 3), status: 8 }).status).toBe(8);
		expect(decoded({ ...row(1, 15, 3), status: 0, type: 0 })).toMatchObject({ type: 15, status: 3 });
	});
});

describe("kinds", () => {
	const TOOL_TYPES = [
		...[5, 7, 8, 9, 21, 25, 28, 31, 32, 33, 38, 47, 65, 100, 112, 56, 61, 62, 63, 64, 66, 67, 68, 74, 75, 76, 77, 78],
		...[79, 80, 85, 88, 96, 97, 113, 120, 121, 122, 123, 124, 125, 81, 82, 86, 87, 92, 91, 102, 103, 126, 129, 134],
		...[132, 138, 140],
	];

	test.each([...TOOL_TYPES, 17, 101, 23, 90, 999])("type %d with a call is a tool", (type) => {
		expect(decoded(toolRow(2, type, 3, CALL))).toMatchObject({
			kind: "tool",
			call: { id: "call_1", name: "run_command", args: '{"CommandLine":"make"}' },
		});
	});

	test.each([...TOOL_TYPES, 999, -1])("type %d without a call is none", (type) => {
		expect(decoded(row(2, type, 3, [metadata(2)]))).toMatchObject({ kind: "other", call: null });
	});

	test.each([
		[14, "user-input", "user_input"],
		[15, "planner", "planner_response"],
		[17, "error-message", "error_message"],
		[23, "checkpoint", "checkpoint"],
		[90, "bookkeeping", "ephemeral_message"],
		[98, "bookkeeping", "conversation_history"],
		[99, "bookkeeping", "knowledge_artifacts"],
		[101, "bookkeeping", "system_message"],
		[139, "bookkeeping", "directory_rules"],
		[127, "subagent", "invoke_subagent"],
		[4711, "other", "type-4711"],
	])("type %d is %s", (type, kind, typeName) => {
		expect(decoded(row(2, type, 3))).toMatchObject({ kind, typeName });
	});

	test.each([14, 15])("type %d stays what it is, with a call too", (type) => {
		expect(decoded(toolRow(2, type, 3, CALL)).kind).toBe(type === 14 ? "user-input" : "planner");
	});

	test("a generic step that invokes a subagent is one", () => {
		expect(decoded(toolRow(2, 132, 3, call("c", "invoke_subagent", {}))).kind).toBe("subagent");
	});
});

describe("a model call", () => {
	const whole = planner(
		3,
		3,
		[
			[1, "Hello"],
			[3, "Thinking"],
			[6, "bot-1"],
			[7, CALL],
			[7, call("call_2", "view_file", "{}")],
			[8, "Hello"],
			[11, timestamp(1_500)],
			[12, 2],
			[14, message([2, message([1, Buffer.alloc(1_500, 0xff)])])],
		],
		[
			[7, timestamp(CREATED_MS + 4_000)],
			[8, timestamp(CREATED_MS + 4_250)],
			[9, usage("resp-1")],
			[26, message([1, message([1, 8])], [1, message([1, 3])])],
			[32, timestamp(CREATED_MS + 10)],
		],
	);

	test("with everything", () => {
		const step = decoded(whole);
		expect(textOf(step.text)).toBe("Hello");
		expect(textOf(step.thinking)).toBe("Thinking");
		expect(step).toMatchObject({
			idx: 3,
			kind: "planner",
			state: "done",
			noise: "none",
			stopReason: 2,
			declaredCalls: [
				{ id: "call_1", name: "run_command", args: '{"CommandLine":"make"}' },
				{ id: "call_2", name: "view_file", args: "{}" },
			],
			call: null,
			output: null,
			error: null,
			usage: { input: 12, output: 5, thinking: 2, cacheRead: 100 },
			responseId: "resp-1",
			trajectoryId: TRAJECTORY,
			executionId: "exec-1",
			createdMs: CREATED_MS,
			startedMs: CREATED_MS + 10,
			completedMs: CREATED_MS + 4_250,
			isDenied: false,
			isDamaged: false,
		});
	});

	test("the texts are views, not copies", () => {
		expect(decoded(whole).text.buffer).toBe((whole.payload as Uint8Array).buffer);
	});

	test.each([
		["F37 the modified text alone", 3, [[8, "modified"]], "modified"],
		[
			"F37 both, at the end",
			3,
			[
				[1, "first"],
				[8, "modified"],
			],
			"modified",
		],
		[
			"both, while it grows",
			8,
			[
				[1, "first"],
				[8, "modified"],
			],
			"first",
		],
		["the modified text alone, while it grows", 8, [[8, "modified"]], "modified"],
		[
			"an empty modified text",
			3,
			[
				[1, "first"],
				[8, ""],
			],
			"first",
		],
		[
			"the last of two",
			3,
			[
				[1, "first"],
				[1, "second"],
			],
			"second",
		],
		[
			"a text of another wire type behind it",
			3,
			[
				[1, "first"],
				[1, 7],
			],
			"first",
		],
	] as readonly (readonly [string, number, readonly Field[], string])[])("%s", (_name, status, fields, text) => {
		expect(textOf(decoded(planner(3, status, fields)).text)).toBe(text);
	});

	test("a payload that comes in two pieces is merged", () => {
		const twice = row(3, 15, 3, [
			[20, message([1, "Hello"])],
			[20, message([3, "Thinking"])],
			metadata(3),
			[5, message([9, usage("resp-1")])],
		]);
		const step = decoded(twice);
		expect([textOf(step.text), textOf(step.thinking), step.trajectoryId, step.responseId]).toStrictEqual([
			"Hello",
			"Thinking",
			TRAJECTORY,
			"resp-1",
		]);
	});

	test.each([
		["F40 the row's own", message([2, 5], [3, 1]), { input: 5, output: 1, thinking: 0, cacheRead: 0 }],
		["nothing but the model's number", message([1, 1016], [6, 24]), null],
		["no sum of the output", message([2, 5], [9, 2], [10, 3]), { input: 5, output: 5, thinking: 2, cacheRead: 0 }],
		["a cache read alone", message([5, 8]), { input: 0, output: 0, thinking: 0, cacheRead: 8 }],
		["counts of another wire type", message([2, "5"], [3, 7]), { input: 0, output: 7, thinking: 0, cacheRead: 0 }],
	])("usage with %s", (_name, bytes, tokens) => {
		expect(decoded(planner(3, 3, [], [[9, bytes]])).usage).toStrictEqual(tokens);
	});
});

describe("F15 noise", () => {
	test.each([
		["<SYSTEM_MESSAGE>\nDone.</SYSTEM_MESSAGE>", 3, "noise"],
		["  \n<SYSTEM_MESSAGE>", 8, "noise"],
		["[Message] timestamp=2026-06-28T10:00:00Z sender=agent", 3, "noise"],
		["<SYS", 8, "undecided"],
		["<", 8, "undecided"],
		["[Message] time", 8, "undecided"],
		["<SYS", 3, "none"],
		["<b>bold", 8, "none"],
		["[1] a source", 8, "none"],
		["[Message] from me", 8, "none"],
		["Hello <SYSTEM_MESSAGE>", 3, "none"],
		["", 8, "none"],
		["  ", 8, "none"],
	])("%j with status %d: %s", (text, status, noise) => {
		expect(decoded(planner(3, status, [[1, text]])).noise).toBe(noise);
	});
});

describe("user input", () => {
	test.each([
		["F16 its text", [[2, "hi"]], "hi"],
		[
			"its items first",
			[
				[1, "q"],
				[2, "b"],
				[3, message([1, "a"])],
				[3, message([1, "c"])],
				[3, message([2, "x"])],
			],
			"ac",
		],
		["an old query", [[1, "q"]], "q"],
		["nothing", [[4, message()]], ""],
	] as readonly (readonly [string, readonly Field[], string])[])("%s", (_name, fields, userText) => {
		expect(decoded(row(9, 14, 3, [[19, message(...fields)]]))).toMatchObject({ kind: "user-input", userText });
	});
});

type Result = readonly [name: string, type: number, fields: readonly Field[], expected: Partial<Step>];

const LINES_200 = "0123456789abcdefghi\n".repeat(10);

describe("results", () => {
	test.each<Result>([
		[
			"F10 the generic dialect",
			132,
			[[140, message([1, message([1, "type.url"])], [2, message([1, "result"])])]],
			{ output: "result" },
		],
		[
			"the generic text before the kind's own",
			21,
			[
				[140, message([2, message([1, "generic"])])],
				[28, message([21, message([1, "own"])])],
			],
			{ output: "generic" },
		],
		[
			"F9 a command's output is inside a message",
			21,
			[[28, message([21, message([1, LINES_200])])]],
			{ output: LINES_200 },
		],
		["a command's short output", 21, [[28, message([21, message([2, "short"])])]], { output: "short" }],
		[
			"a command's stdout and stderr",
			21,
			[[28, message([19, message([1, "out"])], [20, message([2, "err"])])]],
			{ output: "out\nerr" },
		],
		["a command's old outputs", 21, [[28, message([4, "out\n"], [5, "err"])]], { output: "out\nerr" }],
		[
			"F17 a command that a signal ended",
			21,
			[[28, message([6, -9], [21, message([1, ""])])]],
			{ exitCode: -9, output: null },
		],
		["a command that failed", 21, [[28, message([6, 2])]], { exitCode: 2, state: "done" }],
		["a command that the user refused", 21, [[28, message([14, 1])]], { isDenied: true }],
		["a command without anything", 21, [[28, message()]], { output: null, exitCode: null, isDenied: false }],
		["a search of files", 25, [[34, message([11, "./a.ts\n./b.ts"])]], { output: "./a.ts\n./b.ts" }],
		[
			"a failed search of files",
			25,
			[[34, message([8, "no such folder"])]],
			{ output: null, error: { message: "no such folder", isQuota: false } },
		],
		[
			"a search's raw output",
			7,
			[[13, message([1, "q"], [3, "a.ts:1:x"], [4, message([1, "b"])])]],
			{ output: "a.ts:1:x" },
		],
		[
			"a search's hits",
			7,
			[[13, message([4, message([1, "a.ts"], [2, 7], [3, "x"])], [4, message([4, "/b.ts"], [3, "y"])])]],
			{ output: "a.ts:7:x\n/b.ts:y" },
		],
		[
			"F18 a hit whose line is a text",
			7,
			[[13, message([4, message([1, "a.ts"], [2, "7"], [3, "x"])])]],
			{ output: "a.ts:x", isDamaged: false },
		],
		["a file", 8, [[14, message([1, "file:///a"], [2, 1], [4, "body"])]], { output: "body" }],
		["a file's raw body", 8, [[14, message([9, "raw"])]], { output: "raw" }],
		[
			"a listing",
			9,
			[[15, message([3, message([1, "src"], [2, 1])], [3, message([1, "a.ts"], [4, 12])], [2, "ignored"])]],
			{ output: "src/\na.ts" },
		],
		["a listing of names", 9, [[15, message([2, "a"], [2, "b"])]], { output: "a\nb" }],
		[
			"a folder that is not there",
			9,
			[[15, message([4, 1])]],
			{ error: { message: "There is no such directory.", isQuota: false } },
		],
		["an edit", 5, [[10, message([1, message([1, "x"])], [26, "changed 2 lines"])]], { output: "changed 2 lines" }],
		[
			"a page",
			31,
			[
				[
					40,
					message(
						[1, "http://x"],
						[2, message([4, "Title"], [6, message([3, message([2, "body"])], [3, message([2, "more"])])])],
					),
				],
			],
			{ output: "body\nmore" },
		],
		[
			"a page without a body",
			31,
			[[40, message([2, message([4, "Title"], [7, "About"])])]],
			{ output: "Title\nAbout" },
		],
		["a page that was saved", 31, [[40, message([6, "/tmp/page"])]], { output: "Saved at /tmp/page" }],
		["a web search", 33, [[42, message([1, "q"], [5, "summary"])]], { output: "summary" }],
		["an MCP call", 38, [[47, message([1, "calc"], [3, "42"])]], { output: "42" }],
		["an MCP call that was refused", 38, [[47, message([7, 1])]], { isDenied: true }],
		[
			"an ACP client's tool",
			103,
			[[116, message([4, message([1, "url"], [2, message([1, "tool"], [2, '{"a":1}'])])])]],
			{ output: '{"a":1}' },
		],
		[
			"F42 NUL, ANSI and CR",
			21,
			[[28, message([21, message([1, "a\u0000\u001b[31mb\r\n"])])]],
			{ output: "a\u0000\u001b[31mb\r\n" },
		],
		["a result that is a number", 21, [[28, 7]], { output: null, isDamaged: false }],
		[
			"a result that is broken",
			21,
			[
				[28, message([6, 1])],
				[28, Buffer.from([0xaa, 0x01, 0x7f])],
			],
			{ exitCode: 1, isDamaged: true },
		],
	])("%s", (_name, type, fields, expected) => {
		expect(decoded(toolRow(4, type, 3, CALL, fields))).toMatchObject({ kind: "tool", ...expected });
	});

	test("F42 an output of 3 MiB is cut to one, not inside a character", () => {
		const { output } = decoded(toolRow(4, 21, 3, CALL, [[28, message([21, message([1, "ä".repeat(1_600_000)])])]]));
		expect(output).toBe("ä".repeat(512 * 1024));
	});

	test("F42 of 12,000 hits 10,000 are kept", () => {
		const hits = Array.from({ length: 12_000 }, (_, line): Field => [4, message([1, "a"], [2, line + 1], [3, "x"])]);
		const { output } = decoded(toolRow(4, 7, 3, CALL, [[13, message(...hits)]]));
		expect(output?.split("\n")).toHaveLength(10_000);
	});
});

describe("calls", () => {
	test.each([
		["the second name", message([1, "c"], [9, "view_file"]), "view_file"],
		["a second name that is none", message([1, "c"], [9, '{"a":1}']), ""],
		["both names", message([1, "c"], [2, "first"], [9, "second"]), "first"],
	])("%s", (_name, bytes, name) => {
		expect(decoded(toolRow(4, 132, 3, bytes)).call).toMatchObject({ id: "c", name });
	});

	test.each([
		['{"a":1}', { a: 1 }],
		["", {}],
		["  ", {}],
		["[1]", {}],
		['"{\\"a\\":1}"', { a: 1 }],
		['{"a":"\\ud83d"}', { a: "\ud83d" }],
		['{"a":', null],
		["{oops", null],
	])("arguments %j", (args, expected) => {
		expect(parseCallArgs(args)).toStrictEqual(expected);
	});

	test("arguments nested deeper than any stack", () => {
		expect(() => JSON.stringify(parseCallArgs(`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`))).not.toThrow();
	});
});

const CHILD = "0a0b0c0d-0000-4000-8000-00000000000c";
const SPECS = { Subagents: [{ TypeName: "researcher", Role: "Looks up", Prompt: "Find it" }] };

describe("subagents", () => {
	test.each([
		["from the call", [], [{ type: "researcher", role: "Looks up", prompt: "Find it", conversationId: "" }]],
		[
			"with an id in field 5",
			[[127, message([1, "r"], [2, "p"], [5, CHILD])]],
			[{ type: "researcher", role: "Looks up", prompt: "Find it", conversationId: CHILD }],
		],
		[
			"with an id in front",
			[[127, message([1, CHILD], [2, "file:///log"], [3, "x"], [4, "y"])]],
			[{ type: "researcher", role: "Looks up", prompt: "Find it", conversationId: CHILD }],
		],
	] as readonly (readonly [string, readonly Field[], Step["agents"]])[])("%s", (_name, fields, agents) => {
		expect(decoded(toolRow(2, 127, 3, call("c", "invoke_subagent", SPECS), fields)).agents).toStrictEqual(agents);
	});

	test("several at once, one of them no object", () => {
		const specs = { subagents: [{ type_name: "a", initial_prompt: "b" }, "?"] };
		expect(decoded(toolRow(2, 132, 2, call("c", "invoke_subagent", specs))).agents).toStrictEqual([
			{ type: "a", role: "", prompt: "b", conversationId: "" },
			{ type: "", role: "", prompt: "", conversationId: "" },
		]);
	});

	test("without a call", () => {
		expect(decoded(row(2, 127, 3, [[127, message([1, "reviewer"], [2, "Look"], [5, CHILD])]])).agents).toStrictEqual([
			{ type: "reviewer", role: "", prompt: "Look", conversationId: CHILD },
		]);
	});
});

const QUOTA_JSON = JSON.stringify({
	error: {
		code: 429,
		status: "RESOURCE_EXHAUSTED",
		message: "You have exhausted your capacity on this model. Your quota will reset after 2h20m29s.",
		details: [{ reason: "QUOTA_EXHAUSTED" }],
	},
});

describe("errors", () => {
	test("F14 the quota, with the time of its reset", () => {
		const details = message([1, "Quota exhausted"], [2, "429"], [5, QUOTA_JSON]);
		expect(decoded(row(3, 17, 3, [[24, message([3, details])]]))).toMatchObject({
			kind: "error-message",
			error: {
				message: "RESOURCE_EXHAUSTED (code 429): Quota exhausted. Your quota will reset after 2h20m29s.",
				isQuota: true,
			},
		});
	});

	test.each([
		[
			"for the user",
			[
				[1, "For you"],
				[2, "short"],
				[3, "long\nstack"],
			],
			"For you",
			false,
		],
		[
			"final",
			[
				[2, "short"],
				[9, "Gave up"],
			],
			"Gave up",
			false,
		],
		[
			"short",
			[
				[2, "short"],
				[3, "long\nstack"],
			],
			"short",
			false,
		],
		["only as JSON", [[5, '{"error":{"message":"no access"}}']], "no access", false],
		["only as JSON that says nothing", [[5, "[1]"]], "[1]", false],
		["only as a stack", [[3, "panic: x\n at y"]], "panic: x\n at y", false],
		["a bare code", [[2, "500"]], "500", false],
		["the quota's code alone", [[2, "429"]], "RESOURCE_EXHAUSTED (code 429): 429", true],
		[
			"the quota, in the words of the printed error",
			[[1, "RESOURCE_EXHAUSTED (code 429): resets in 3h"]],
			"RESOURCE_EXHAUSTED (code 429): resets in 3h",
			true,
		],
		[
			"the quota in the final message",
			[
				[1, "Try later"],
				[9, "QUOTA_EXHAUSTED, resets in 5m"],
			],
			"RESOURCE_EXHAUSTED (code 429): Try later. QUOTA_EXHAUSTED, resets in 5m",
			true,
		],
	] as readonly (readonly [string, readonly Field[], string, boolean])[])("%s", (_name, fields, text, isQuota) => {
		expect(decoded(row(3, 15, 7, [[31, message(...fields)]])).error).toStrictEqual({ message: text, isQuota });
	});

	test("from the column, when the payload has none", () => {
		const errorDetails = message([1, "From the column"]);
		expect(decoded(row(3, 21, 7, [], { errorDetails })).error?.message).toBe("From the column");
		expect(decoded(row(3, 21, 7, [[31, message([1, "Own"])]], { errorDetails })).error?.message).toBe("Own");
		expect(decoded({ ...row(3, 21, 7), payload: null, errorDetails }).error?.message).toBe("From the column");
	});

	test("the reset is found in the line that says it, however long the text is", () => {
		const full = `${"x ".repeat(7_000)}\nBusy. It resets in 3h. Wait.\nstack`;
		const details = message([1, "Busy"], [2, "429"], [3, full]);
		expect(decoded(row(3, 17, 3, [[24, message([3, details])]])).error?.message).toBe(
			"RESOURCE_EXHAUSTED (code 429): Busy. It resets in 3h. Wait.",
		);
	});

	test("blank details are none", () => {
		expect(decoded(row(3, 17, 3, [[24, message([3, message([1, "  "], [5, " "])])]])).error).toBeNull();
	});

	test("an error row without details has none", () => {
		expect(decoded(row(3, 17, 3, [[24, message()]])).error).toBeNull();
	});
});

describe("permissions", () => {
	const refused = message([2, message([1, message([1, "command"], [2, "make"])])]);
	const granted = message([2, message([1, message([1, "command"])], [2, 1])]);

	test.each([
		["refused", 7, refused, true],
		["refused, and done all the same", 3, refused, true],
		["not decided yet", 9, refused, false],
		["granted", 3, granted, false],
		["one of two refused", 6, Buffer.concat([granted, refused]), true],
		["none", 3, null, false],
	])("%s", (_name, status, permissions, isDenied) => {
		expect(decoded(toolRow(4, 21, status, CALL, [], { permissions })).isDenied).toBe(isDenied);
	});

	test("as the error says it", () => {
		const denied = message([1, 'permission check failed for command "make": user denied permission']);
		expect(decoded(toolRow(4, 21, 7, CALL, [[31, denied]])).isDenied).toBe(true);
	});
});

describe("checkpoints", () => {
	test("the title is field 10, not the user's intent", () => {
		const step = decoded(row(4, 23, 3, [[30, message([4, "Basic Multiplication"], [10, "Sums"])]]));
		expect(step).toMatchObject({ kind: "checkpoint", title: "Sums" });
		expect(decoded(row(4, 23, 3, [[30, message([4, "Basic Multiplication"])]])).title).toBe("");
	});
});

describe("the payload's column", () => {
	test.each([
		["NULL", null],
		["empty", new Uint8Array(0)],
		["empty TEXT", ""],
	])("%s is a step without content", (_name, payload) => {
		expect(decoded({ idx: 1, type: 15, status: 8, payload })).toMatchObject({ kind: "planner", usage: null });
	});

	test("TEXT is read like bytes, as far as these were text", () => {
		const payload = message([1, 15], [4, 3], [5, message([12, "exec-1"])]).toString();
		expect(decoded({ ...planner(3, 3, []), payload }).executionId).toBe("exec-1");
	});

	test("fields out of order, unknown ones and ones of another wire type", () => {
		const payload = Buffer.concat([
			message(
				[20, message([9_999, 1], [1, "Hello"], [3, 5])],
				[500, group(500, [1, "x"])],
				[5, 3],
				[1, "x"],
				[4, fixed64(3n)],
			),
			message([20, 7], [31, 1], [24, "\u0001"], [1, 15]),
		]);
		const step = decoded({ idx: 3, type: 15, status: 3, payload });
		expect([textOf(step.text), step.thinking.length, step.error]).toStrictEqual(["Hello", 0, null]);
	});
});

describe("F2 a payload that is not whole", () => {
	const whole = planner(
		3,
		3,
		[
			[3, "Thinking"],
			[1, "Hello world"],
		],
		[[9, usage("resp-1")]],
	);
	const { length } = whole.payload as Uint8Array;
	const boundaries = [
		message([1, 15]),
		message([1, 15], [4, 3]),
		message([1, 15], [4, 3], metadata(3, [9, usage("resp-1")])),
	].map((bytes) => bytes.length);

	test("is torn at every byte inside a field, and keeps what it has", () => {
		for (let end = 1; end < length; end++) {
			const { kind, value } = decodeStep(torn(whole, length - end));
			expect([end, kind]).toStrictEqual([end, boundaries.includes(end) ? "ok" : "torn"]);
			expect("Hello world".startsWith(textOf(value.text))).toBe(true);
			expect(value).toMatchObject({ idx: 3, type: 15, status: 3, kind: "planner" });
		}
		expect(textOf(decodeStep(torn(whole, 4)).value.text)).toBe("Hello w");
	});

	test("is corrupt where it is no protobuf", () => {
		const payload = Buffer.concat([whole.payload as Uint8Array, tag(1, 7)]);
		const { kind, value } = decodeStep({ ...whole, payload });
		expect(kind).toBe("corrupt");
		expect(textOf(value.text)).toBe("Hello world");
	});

	test("one broken message inside costs itself", () => {
		const broken = row(3, 15, 3, [
			[5, Buffer.from([0x0a, 0x7f])],
			[31, Buffer.from([0x07])],
			[20, message([1, "Hello"])],
		]);
		const step = decoded(broken);
		expect([textOf(step.text), step.isDamaged, step.error]).toStrictEqual(["Hello", true, null]);
	});
});

test("whatever the columns hold, a step comes of it", () => {
	const anyBlob = fc.oneof(fc.uint8Array({ maxLength: 80 }), fc.string(), fc.constant(null));
	fc.assert(
		fc.property(fc.nat(200), fc.integer({ min: -1, max: 14 }), anyBlob, anyBlob, anyBlob, (type, status, ...blobs) => {
			const [payload, errorDetails, permissions] = blobs;
			const { kind, value } = decodeStep({ idx: 1, type, status, payload, errorDetails, permissions });
			expect(["ok", "torn", "corrupt"]).toContain(kind);
			expect(value.idx).toBe(1);
		}),
		{ numRuns: 2_000 },
	);
});
