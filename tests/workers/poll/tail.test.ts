/** Long because it is a table: each documented way in which rows appear, change and end. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgyEvent } from "../../../src/shared/events.ts";
import { encode } from "../../../src/shared/frames.ts";
import { LIVE_OUTPUT_CHARS } from "../../../src/shared/limits.ts";
import type { StepRow } from "../../../src/workers/decode/step-payload.ts";
import { StepTail } from "../../../src/workers/poll/tail.ts";
import { subagent, text, thinking, tool } from "../../support/agy-events.ts";
import { type Field, message, tag, timestamp } from "../../support/protobuf-writer.ts";
import { CREATED_MS, call, metadata, planner, row, toolRow, torn, usage } from "../../support/step-rows.ts";

/** The events of each tick. */
function play(tail: StepTail, ...ticks: readonly (readonly StepRow[])[]): readonly (readonly AgyEvent[])[] {
	return ticks.map((rows) => tail.take(rows));
}

function modelCall(step: number, more: object = {}): AgyEvent {
	return { kind: "model-call", step, ...more };
}

function replaced(step: number, whole: string): AgyEvent {
	return { kind: "text", step, text: whole, replaces: true };
}

const MAKE = call("call_1", "run_command", { CommandLine: "make" });
const OUT: Field = [28, message([21, message([1, "4 passed"])])];
const USAGE = { input: 12, output: 5, thinking: 2, cacheRead: 100 };
const DONE_OUTPUT = { output: "4 passed" };

describe("a model call's row", () => {
	test("F1 thinking first, then text, then the end with its usage", () => {
		const tail = new StepTail();
		const done = [
			[7, timestamp(CREATED_MS + 2_000)],
			[9, usage("r1")],
		] as const;
		expect(
			play(
				tail,
				[planner(3, 8, [[3, "think"]])],
				[
					planner(3, 8, [
						[3, "think"],
						[1, "Hello wor"],
					]),
				],
				[
					planner(
						3,
						3,
						[
							[3, "think"],
							[1, "Hello world"],
							[8, "Hello world"],
						],
						done,
					),
				],
			),
		).toStrictEqual([
			[thinking("think", 3)],
			[text("Hello wor", 3)],
			[text("ld", 3), modelCall(3, { usage: USAGE, durationMs: 2_000 })],
		]);
		expect(tail.outcome()).toMatchObject({ hasAnswer: true, isPlannerOpen: false, lastError: null });
		expect(tail.openSteps).toStrictEqual([]);
	});

	test("thinking comes before text within a tick", () => {
		expect(
			new StepTail().take([
				planner(3, 8, [
					[1, "a"],
					[3, "hm"],
				]),
			]),
		).toStrictEqual([thinking("hm", 3), text("a", 3)]);
	});

	test("F2 torn, then whole", () => {
		const tail = new StepTail();
		const whole = planner(3, 8, [[1, "Hello"]]);
		expect(play(tail, [torn(whole, 4)])).toStrictEqual([[]]);
		expect(tail.openSteps).toStrictEqual([3]);
		expect(tail.outcome()).toMatchObject({ isPlannerOpen: true, unreadableSteps: [3] });
		expect(play(tail, [whole], [planner(3, 3, [[1, "Hello world"]])])).toStrictEqual([
			[text("Hello", 3)],
			[text(" world", 3), modelCall(3)],
		]);
		expect(tail.outcome().unreadableSteps).toStrictEqual([]);
	});

	test("F2 cut at every byte, then whole: nothing is lost and nothing comes twice", () => {
		const before = planner(3, 8, [
			[3, "hm"],
			[1, "Hello"],
		]);
		const whole = planner(
			3,
			3,
			[
				[3, "hmm"],
				[1, "Hello world"],
			],
			[[9, usage("r1")]],
		);
		for (let missing = 1; missing < (whole.payload as Uint8Array).length; missing++) {
			const tail = new StepTail();
			const events = play(tail, [before], [torn(whole, missing)], [whole], [whole]).flat();
			expect(said(events, "text")).toBe("Hello world");
			expect(said(events, "thinking")).toBe("hmm");
			expect(events.filter((event) => event.kind === "model-call" && event.usage)).toHaveLength(1);
		}
	});

	test("cut at every byte after its end: it is still the same step", () => {
		const whole = planner(3, 3, [[1, "Hello"]], [[9, usage("")]]);
		for (let missing = 1; missing < (whole.payload as Uint8Array).length; missing++) {
			const events = play(new StepTail(), [whole], [torn(whole, missing)], [whole]).flat();
			expect(events.filter((event) => event.kind === "model-call")).toHaveLength(1);
			expect(said(events, "text")).toBe("Hello");
		}
	});

	test("F3 rewritten", () => {
		expect(
			play(
				new StepTail(),
				[planner(3, 8, [[1, "I will look at the file first"]])],
				[planner(3, 3, [[1, "The answer is 42. Nothing else."]])],
			),
		).toStrictEqual([
			[text("I will look at the file first", 3)],
			[replaced(3, "The answer is 42. Nothing else."), modelCall(3)],
		]);
	});

	test("F4 shortened", () => {
		expect(
			play(new StepTail(), [planner(3, 8, [[1, "I will look"]])], [planner(3, 3, [[1, "42"]])]).flat(),
		).toStrictEqual([text("I will look", 3), replaced(3, "42"), modelCall(3)]);
	});

	test("F5 half a character heals", () => {
		expect(
			play(new StepTail(), [planner(3, 8, [[1, "ab\ufffd"]])], [planner(3, 8, [[1, "ab修改"]])]).flat(),
		).toStrictEqual([text("ab", 3), text("修改", 3)]);
	});

	test("F6 two at once, both grow on", () => {
		expect(
			play(
				new StepTail(),
				[planner(3, 8, [[1, "a"]]), planner(4, 8, [[1, "x"]])],
				[planner(3, 3, [[1, "ab"]]), planner(4, 8, [[1, "xy"]])],
				[planner(4, 3, [[1, "xyz"]])],
			),
		).toStrictEqual([
			[text("a", 3), text("x", 4)],
			[text("b", 3), modelCall(3), text("y", 4)],
			[text("z", 4), modelCall(4)],
		]);
	});

	test("F37 the modified text counts at the end", () => {
		expect(
			play(
				new StepTail(),
				[planner(3, 8, [[1, "draft"]])],
				[
					planner(3, 3, [
						[1, "draft"],
						[8, "final"],
					]),
				],
				[planner(4, 3, [[8, "only here"]])],
			).flat(),
		).toStrictEqual([text("draft", 3), replaced(3, "final"), modelCall(3), text("only here", 4), modelCall(4)]);
	});

	test("a placeholder stays open until it has something", () => {
		const tail = new StepTail();
		expect(play(tail, [planner(3, 3, [])])).toStrictEqual([[]]);
		expect(tail.outcome()).toMatchObject({ isPlannerOpen: true, hasAnswer: false });
		expect(tail.openSteps).toStrictEqual([3]);
		expect(play(tail, [planner(3, 3, [[1, "Hi"]])])).toStrictEqual([[text("Hi", 3), modelCall(3)]]);
	});

	test("an empty answer that cost something has ended", () => {
		const tail = new StepTail();
		expect(tail.take([planner(3, 3, [], [[9, usage("r1")]])])).toStrictEqual([modelCall(3, { usage: USAGE })]);
		expect(tail.outcome()).toMatchObject({ isPlannerOpen: false, hasAnswer: false });
	});

	test("that asked for tools is no end", () => {
		const tail = new StepTail();
		expect(
			tail.take([
				planner(3, 3, [
					[1, "I run it."],
					[7, MAKE],
				]),
			]),
		).toStrictEqual([text("I run it.", 3), modelCall(3)]);
		expect(tail.outcome()).toMatchObject({ hasAnswer: true, declaredCallCount: 1 });
	});

	test("the same version twice says nothing", () => {
		const tail = new StepTail();
		const open = planner(3, 8, [[1, "a"]]);
		const done = planner(3, 3, [[1, "ab"]], [[9, usage("r1")]]);
		expect(play(tail, [open], [open], [done], [done]).map((events) => events.length)).toStrictEqual([1, 0, 2, 0]);
	});

	test("text that comes behind the end, and usage too", () => {
		expect(
			play(
				new StepTail(),
				[planner(3, 3, [[1, "a"]])],
				[planner(3, 3, [[1, "ab"]])],
				[planner(3, 3, [[1, "ab"]], [[9, usage("r1")]])],
			).flat(),
		).toStrictEqual([text("a", 3), modelCall(3), text("b", 3), modelCall(3, { usage: USAGE })]);
	});

	test.each([4, 5, 6, 7, 12])("F12 status %d ends it, without an answer", (status) => {
		const tail = new StepTail();
		expect(tail.take([planner(3, status, [[1, "half"]])])).toStrictEqual([text("half", 3), modelCall(3)]);
		expect(tail.outcome()).toMatchObject({ hasAnswer: false, isPlannerOpen: false });
	});

	test("a number that is used again by another trajectory is another step", () => {
		const tail = new StepTail();
		tail.take([planner(3, 3, [[1, "old"]], [[9, usage("r1")]])]);
		const other = row(3, 15, 3, [
			[5, message([9, usage("r2")], [20, message([1, "other-trajectory"])])],
			[20, message([1, "new"])],
		]);
		expect(tail.take([other])).toStrictEqual([replaced(3, "new"), modelCall(3, { usage: USAGE })]);
	});
});

describe("F15 noise", () => {
	const envelope = "<SYSTEM_MESSAGE>\nTask done.</SYSTEM_MESSAGE>";

	test("an envelope that grows char by char says nothing", () => {
		const tail = new StepTail();
		const events = [...envelope].flatMap((_, end) => tail.take([planner(3, 8, [[1, envelope.slice(0, end + 1)]])]));
		expect(events).toStrictEqual([]);
		expect(tail.take([planner(3, 3, [[1, envelope]])])).toStrictEqual([
			{ kind: "notice", step: 3, type: "system_message" },
		]);
		expect(tail.outcome()).toMatchObject({ hasAnswer: false, isPlannerOpen: false });
	});

	test("what begins like one is released when it goes on otherwise", () => {
		expect(
			play(
				new StepTail(),
				[planner(3, 8, [[1, "<SYS"]])],
				[planner(3, 8, [[1, "<SYSTEM>"]])],
				[planner(3, 3, [[1, "<SYSTEM> ok"]])],
			),
		).toStrictEqual([[], [text("<SYSTEM>", 3)], [text(" ok", 3), modelCall(3)]]);
	});

	test("and when it ends there", () => {
		expect(play(new StepTail(), [planner(3, 8, [[1, "<"]])], [planner(3, 3, [[1, "<"]])])).toStrictEqual([
			[],
			[text("<", 3), modelCall(3)],
		]);
	});

	test("a text that becomes one is taken back", () => {
		expect(play(new StepTail(), [planner(3, 8, [[1, "Hi"]])], [planner(3, 3, [[1, envelope]])]).flat()).toStrictEqual([
			text("Hi", 3),
			replaced(3, ""),
			{ kind: "notice", step: 3, type: "system_message" },
		]);
	});
});

describe("a tool's row", () => {
	test("F8 first without a call, then done: the call and its result, once each", () => {
		const tail = new StepTail();
		const done = toolRow(4, 21, 3, MAKE, [OUT]);
		expect(play(tail, [row(4, 21, 1)], [done], [done])).toStrictEqual([
			[],
			[tool(4, "active"), tool(4, "done", DONE_OUTPUT)],
			[],
		]);
	});

	test("active, and again with each more that it has printed, of which the end is enough", () => {
		const running = (output: string) => toolRow(4, 21, 2, MAKE, [[28, message([21, message([1, output])])]]);
		const long = "x".repeat(LIVE_OUTPUT_CHARS);
		const outputs = ["", "1 ", "1 ", "1 2 ", `1 2 ${long}`];
		const tail = new StepTail();
		expect(play(tail, ...outputs.map((output) => [running(output)]), [toolRow(4, 21, 3, MAKE, [OUT])])).toStrictEqual([
			[tool(4, "active")],
			[tool(4, "active", { output: "1 " })],
			[],
			[tool(4, "active", { output: "1 2 " })],
			[tool(4, "active", { output: long })],
			[tool(4, "done", DONE_OUTPUT)],
		]);
	});

	test("F10 the generic dialect", () => {
		const generic: Field = [140, message([2, message([1, "4 passed"])])];
		expect(play(new StepTail(), [toolRow(4, 132, 2, MAKE)], [toolRow(4, 132, 3, MAKE, [generic])])).toStrictEqual([
			[tool(4, "active")],
			[tool(4, "done", DONE_OUTPUT)],
		]);
	});

	test.each([0, 1, 2, 8, 9, 11])("F11 status %d is active", (status) => {
		const tail = new StepTail();
		expect(tail.take([toolRow(4, 21, status, MAKE)])).toStrictEqual([tool(4, "active")]);
		expect(tail.openSteps).toStrictEqual([4]);
	});

	test.each([
		[4, "INVALID", "The step was invalid."],
		[5, "CLEARED", "The step was cleared."],
		[6, "CANCELED", "The step was canceled."],
		[7, "TOOL_ERROR", "The tool failed."],
		[12, "INTERRUPTED", "The step was interrupted."],
	])("F12 status %d ends it as %s, with the output it had", (status, type, errorMessage) => {
		const tail = new StepTail();
		expect(tail.take([toolRow(4, 21, status, MAKE, [OUT])])).toStrictEqual([
			tool(4, "active"),
			tool(4, "error", { ...DONE_OUTPUT, error: { type, message: errorMessage } }),
		]);
		expect(tail.openSteps).toStrictEqual([]);
	});

	test("with an error of its own", () => {
		const failed = toolRow(4, 8, 7, call("c", "view_file", {}), [[31, message([1, "no such file"])]]);
		expect(new StepTail().take([failed]).at(-1)).toStrictEqual({
			kind: "tool",
			step: 4,
			state: "error",
			name: "view_file",
			args: {},
			error: { type: "TOOL_ERROR", message: "no such file" },
		});
	});

	test("how long it took", () => {
		const times: readonly Field[] = [
			[8, timestamp(CREATED_MS + 640)],
			[4, MAKE],
			[32, timestamp(CREATED_MS + 140)],
		];
		expect(new StepTail().take([row(4, 21, 3, [metadata(4, ...times), OUT])]).at(-1)).toStrictEqual(
			tool(4, "done", { ...DONE_OUTPUT, durationMs: 500 }),
		);
	});

	test("F13 one that stays open does not hold up the others", () => {
		const tail = new StepTail();
		expect(
			play(
				tail,
				[toolRow(4, 21, 2, MAKE), toolRow(5, 21, 3, MAKE, [OUT]), planner(6, 3, [[1, "ok"]])],
				[toolRow(4, 21, 3, MAKE, [OUT])],
			),
		).toStrictEqual([
			[tool(4, "active"), tool(5, "active"), tool(5, "done", DONE_OUTPUT), text("ok", 6), modelCall(6)],
			[tool(4, "done", DONE_OUTPUT)],
		]);
	});

	test("F18 a field of another type costs that field", () => {
		const hit = message([1, "a.ts"], [2, "seven"], [3, "x"]);
		const events = new StepTail().take([toolRow(4, 7, 3, call("c", "grep", {}), [[13, message([4, hit])]])]);
		expect(events.at(-1)).toMatchObject({ kind: "tool", state: "done", output: "a.ts:x" });
	});

	test("F38 a call that is being written waits", () => {
		const half = (args: string, status: number) => toolRow(4, 21, status, call("c", "run_command", args));
		expect(
			play(
				new StepTail(),
				[planner(3, 8, [[7, call("c", "run_command", '{"Comma')]])],
				[half("", 1)],
				[half('{"Comma', 1)],
				[half('{"CommandLine":"make"}', 2)],
			),
		).toStrictEqual([[], [], [], [tool(4, "active")]]);
	});

	test("F38 a call that never became whole has no arguments", () => {
		expect(new StepTail().take([toolRow(4, 21, 3, call("c", "run_command", '{"Comma'), [OUT])])).toStrictEqual([
			tool(4, "active", { args: {} }),
			tool(4, "done", { args: {}, ...DONE_OUTPUT }),
		]);
	});

	test("the declaration and the executing step are one call", () => {
		const events = play(
			new StepTail(),
			[planner(3, 3, [[7, MAKE]], [[9, usage("r1")]])],
			[toolRow(4, 21, 2, message([1, "call_1"]))],
			[toolRow(4, 21, 3, message([1, "call_1"]), [OUT])],
		).flat();
		expect(events).toStrictEqual([modelCall(3, { usage: USAGE }), tool(4, "active"), tool(4, "done", DONE_OUTPUT)]);
	});

	test("an id that a later model call uses again is another call", () => {
		const events = play(
			new StepTail(),
			[planner(3, 3, [[7, MAKE]]), toolRow(4, 21, 3, MAKE, [OUT])],
			[planner(5, 3, [[7, MAKE]]), toolRow(6, 21, 3, MAKE, [OUT])],
		).flat();
		expect(events.filter((event) => event.kind === "tool").map(({ step, state }) => [step, state])).toStrictEqual([
			[4, "active"],
			[4, "done"],
			[6, "active"],
			[6, "done"],
		]);
	});

	test("a refusal", () => {
		const tail = new StepTail();
		const permissions = message([2, message([1, message([1, "command"])])]);
		tail.take([toolRow(4, 21, 9, MAKE, [], { permissions })]);
		expect(tail.outcome().denied).toStrictEqual([]);
		tail.take([toolRow(4, 21, 3, MAKE, [], { permissions })]);
		expect(tail.outcome().denied).toStrictEqual([{ step: 4, name: "run_command" }]);
	});

	test("F42 control characters and a huge output", () => {
		const events = new StepTail().take([
			toolRow(4, 21, 3, MAKE, [[28, message([21, message([1, `\u0000\u001b[2K\r\n${"x".repeat(2 * 1024 * 1024)}`])])]]),
		]);
		const output = (events.at(-1) as { output: string }).output;
		expect(output).toHaveLength(1024 * 1024);
		expect(output.slice(0, 8)).toBe("\u0000\u001b[2K\r\nx");
	});
});

describe("a subagent", () => {
	const specs = { Subagents: [{ TypeName: "researcher", Role: "", Prompt: "Find it" }] };
	const child = "0a0b0c0d-0000-4000-8000-00000000000c";
	const invoke = call("c", "invoke_subagent", specs);

	test("is told when it starts and when it was launched", () => {
		const launched = toolRow(2, 127, 3, invoke, [[127, message([5, child])]]);
		const agents = [{ type: "researcher", role: "", prompt: "Find it", conversationId: child }];
		expect(play(new StepTail(), [toolRow(2, 127, 2, invoke)], [launched], [launched])).toStrictEqual([
			[subagent(2, "active")],
			[subagent(2, "done", { agents })],
			[],
		]);
	});
});

describe("rows without content for a person", () => {
	test.each([
		[14, "user_input", [[19, message([2, "hi"])]]],
		[23, "checkpoint", [[30, message([4, "x"])]]],
		[17, "error_message", [[24, message()]]],
		[101, "system_message", [[114, message([1, "Task finished"])]]],
		[90, "unknown", [[103, message([1, "reminder"])]]],
		[98, "unknown", []],
		[99, "unknown", []],
		[139, "unknown", []],
	] as readonly (readonly [number, string, readonly Field[]])[])(
		"F16 type %d is a notice, once",
		(type, name, fields) => {
			const ticks = [1, 2, 3, 3].map((status) => [row(7, type, status, fields)]);
			expect(play(new StepTail(), ...ticks).flat()).toStrictEqual([{ kind: "notice", step: 7, type: name }]);
		},
	);

	test("F41 the tokens of a checkpoint do not count", () => {
		expect(new StepTail().take([row(7, 23, 3, [metadata(7, [9, usage("helper")])])])).toStrictEqual([
			{ kind: "notice", step: 7, type: "checkpoint" },
		]);
	});

	test("F41 each model call counts once, by its response", () => {
		const events = play(
			new StepTail(),
			[planner(3, 3, [[7, MAKE]], [[9, usage("r1", 10)]])],
			[planner(5, 3, [[1, "copy"]], [[9, usage("r1", 10)]])],
			[planner(6, 3, [[1, "ok"]], [[9, usage("r2", 20)]])],
			[planner(7, 3, [[1, "no id"]], [[9, usage("", 30)]]), planner(8, 3, [[1, "nor here"]], [[9, usage("", 30)]])],
		).flat();
		const inputs = events.flatMap((event) => (event.kind === "model-call" ? [event.usage?.input ?? null] : []));
		expect(inputs).toStrictEqual([10, null, 20, 30, 30]);
	});

	test("an unknown type survives, with its usage", () => {
		expect(
			play(new StepTail(), [row(7, 999, 2)], [row(7, 999, 3, [metadata(7, [9, usage("r")])])]).flat(),
		).toStrictEqual([{ kind: "unknown", what: "step-type", name: "type-999", usage: USAGE }]);
	});

	test("a tool's type without any call is told by its name", () => {
		expect(new StepTail().take([row(7, 28, 3)])).toStrictEqual([
			{ kind: "unknown", what: "step-type", name: "command_status" },
		]);
	});

	test("an unknown status is told once and counts as open", () => {
		const tail = new StepTail();
		const odd = planner(3, 10, [[1, "a"]]);
		expect(play(tail, [odd], [odd])).toStrictEqual([
			[{ kind: "unknown", what: "step-state", name: "status-10" }, text("a", 3)],
			[],
		]);
		expect(tail.openSteps).toStrictEqual([3]);
	});

	test("rows of earlier turns say nothing", () => {
		const tail = new StepTail(5);
		expect(tail.take([planner(4, 3, [[1, "old"]]), row(5, 14, 3)])).toStrictEqual([
			{ kind: "notice", step: 5, type: "user_input" },
		]);
	});
});

describe("errors", () => {
	const quota = message([1, "Quota exhausted"], [2, "429"], [5, '{"error":{"code":429}}']);

	test("F14 an error row is what the turn ended with", () => {
		const tail = new StepTail();
		expect(tail.take([row(3, 17, 3, [[24, message([3, quota])]])])).toStrictEqual([
			{ kind: "notice", step: 3, type: "error_message" },
		]);
		expect(tail.outcome()).toMatchObject({
			lastError: { step: 3, message: "RESOURCE_EXHAUSTED (code 429): Quota exhausted", isQuota: true },
			hasAnswer: false,
		});
	});

	test("an answer after it makes up for it", () => {
		const tail = new StepTail();
		tail.take([row(3, 17, 3, [[24, message([3, quota])]]), planner(4, 3, [[1, "ok"]])]);
		expect(tail.outcome()).toMatchObject({ lastError: null, hasAnswer: true });
		tail.take([row(5, 17, 3, [[24, message([3, quota])]])]);
		expect(tail.outcome().lastError).toMatchObject({ step: 5 });
	});

	test("a model call that failed and was tried again in its row", () => {
		const tail = new StepTail();
		tail.take([row(3, 15, 7, [[31, message([1, "overloaded"])]])]);
		expect(tail.outcome().lastError).toStrictEqual({ step: 3, message: "overloaded", isQuota: false });
		tail.take([planner(3, 8, [[1, "ok"]])]);
		expect(tail.outcome().lastError).toBeNull();
	});

	test("a tool's error is not the turn's", () => {
		const tail = new StepTail();
		tail.take([toolRow(4, 21, 7, MAKE, [[31, message([1, "no"])]])]);
		expect(tail.outcome().lastError).toBeNull();
	});
});

describe("the end of agy", () => {
	test("F39 an open answer is said as far as it goes, and marked", () => {
		const tail = new StepTail();
		tail.take([planner(3, 8, [[1, "Hello wor\ufffd"]])]);
		expect(tail.close()).toStrictEqual([text("\ufffd", 3), modelCall(3)]);
		expect(tail.outcome()).toMatchObject({ isPlannerOpen: true, hasAnswer: false, incompleteSteps: [3] });
		expect(tail.close()).toStrictEqual([]);
		expect(tail.take([planner(3, 3, [[1, "late"]])])).toStrictEqual([]);
	});

	test("F39 a text that was held as noise is said", () => {
		const tail = new StepTail();
		tail.take([planner(3, 8, [[1, "<SYS"]])]);
		expect(tail.close()).toStrictEqual([text("<SYS", 3), modelCall(3)]);
	});

	test("F13 an open tool ends with the output it has", () => {
		const tail = new StepTail();
		tail.take([toolRow(4, 21, 2, MAKE, [OUT]), toolRow(5, 21, 1, message([1, "c"], [2, "run_command"]))]);
		const error = { type: "INCOMPLETE", message: "agy ended before this step did." };
		expect(tail.close()).toStrictEqual([
			tool(4, "error", { ...DONE_OUTPUT, error }),
			tool(5, "active", { args: {} }),
			tool(5, "error", { args: {}, error }),
		]);
		expect(tail.outcome().incompleteSteps).toStrictEqual([4, 5]);
	});

	test("a placeholder was an empty answer", () => {
		const tail = new StepTail();
		tail.take([planner(3, 3, [])]);
		expect(tail.close()).toStrictEqual([modelCall(3)]);
		expect(tail.outcome()).toMatchObject({ isPlannerOpen: false, hasAnswer: false, incompleteSteps: [] });
	});

	test("a row that stayed torn gives what it has, and is reported once", () => {
		const tail = new StepTail();
		tail.take([torn(planner(3, 3, [[1, "Hello world"]]), 4)]);
		expect(tail.close()).toStrictEqual([
			{ kind: "unknown", what: "event", name: "unreadable-step" },
			text("Hello w", 3),
			modelCall(3),
		]);
		expect(tail.outcome()).toMatchObject({ unreadableSteps: [3], incompleteSteps: [3], isPlannerOpen: true });
	});

	test("a torn version takes nothing back", () => {
		const tail = new StepTail();
		const whole = planner(3, 8, [[1, "Hello world"]]);
		tail.take([whole]);
		tail.take([torn(whole, 8)]);
		expect(tail.close().filter((event) => event.kind === "text")).toStrictEqual([]);
	});

	test("a checkpoint that is left open is no loss", () => {
		const tail = new StepTail();
		tail.take([planner(3, 3, [[1, "ok"]]), row(4, 23, 2)]);
		expect(tail.close()).toStrictEqual([]);
		expect(tail.outcome()).toMatchObject({ hasAnswer: true, incompleteSteps: [] });
	});

	test("nothing happened", () => {
		const tail = new StepTail();
		expect(tail.close()).toStrictEqual([]);
		expect(tail.outcome()).toStrictEqual({
			lastError: null,
			isPlannerOpen: false,
			hasAnswer: false,
			declaredCallCount: 0,
			denied: [],
			incompleteSteps: [],
			unreadableSteps: [],
		});
	});
});

describe("a row that is no protobuf", () => {
	const corrupt = (stepRow: StepRow): StepRow => ({
		...stepRow,
		payload: Buffer.concat([stepRow.payload as Uint8Array, tag(1, 7)]),
	});

	test("waits while it is open, and gives what it has at its end", () => {
		const tail = new StepTail();
		expect(play(tail, [corrupt(planner(3, 8, [[1, "Hello"]]))])).toStrictEqual([[]]);
		expect(play(tail, [corrupt(planner(3, 3, [[1, "Hello"]]))])).toStrictEqual([[text("Hello", 3), modelCall(3)]]);
		expect(tail.outcome().unreadableSteps).toStrictEqual([3]);
		expect(tail.openSteps).toStrictEqual([3]);
	});

	test("does not end a tool twice when it is whole again", () => {
		const tail = new StepTail();
		const done = toolRow(4, 21, 3, MAKE, [OUT]);
		const events = play(tail, [done], [corrupt(done)], [torn(done, 3)], [done]).flat();
		expect(events).toStrictEqual([tool(4, "active"), tool(4, "done", DONE_OUTPUT)]);
		expect(tail.close()).toStrictEqual([]);
	});
});

function said(events: readonly AgyEvent[], kind: "text" | "thinking", step = 3): string {
	let whole = "";
	for (const event of events) {
		if (event.kind === kind && event.step === step) whole = event.replaces ? event.text : whole + event.text;
	}
	return whole;
}

describe("whatever rows do", () => {
	const anyText = fc.string({ unit: fc.constantFrom("a", "ä", "修", "😀", "<", " ", "\u0000"), maxLength: 12 });
	const anyChange = fc.record({ step: fc.nat(2), text: anyText, thinking: anyText, isAppended: fc.boolean() });

	test("what was said is the text at the end", () => {
		fc.assert(
			fc.property(fc.array(anyChange, { maxLength: 20 }), fc.nat(3), (changes, doneCount) => {
				const tail = new StepTail();
				const texts = ["", "", ""];
				const thoughts = ["", "", ""];
				const events: AgyEvent[] = [];
				for (const { step, text: piece, thinking: thought, isAppended } of changes) {
					texts[step] = isAppended ? texts[step] + piece : piece;
					thoughts[step] = isAppended ? thoughts[step] + thought : thought;
					events.push(
						...tail.take([
							planner(step, 8, [
								[3, thoughts[step] ?? ""],
								[1, texts[step] ?? ""],
							]),
						]),
					);
				}
				const open = new Set(changes.map(({ step }) => step));
				for (let step = 0; step < doneCount; step++) {
					open.add(step);
					events.push(
						...tail.take([
							planner(step, 3, [
								[3, thoughts[step] ?? ""],
								[1, texts[step] ?? ""],
							]),
						]),
					);
				}
				events.push(...tail.close());
				for (const step of [0, 1, 2]) {
					expect(said(events, "text", step)).toBe(texts[step]);
					expect(said(events, "thinking", step)).toBe(thoughts[step]);
				}
				const ends = events.flatMap((event) => (event.kind === "model-call" ? [event.step] : []));
				expect(ends.sort()).toStrictEqual([...open].sort());
			}),
			{ numRuns: 1_000 },
		);
	});

	test("a tool is active once and ends once, and every event can be put into a frame", () => {
		const anyStatus = fc.integer({ min: 0, max: 13 });
		const anyRow = fc.tuple(fc.nat(2), anyStatus, fc.constantFrom('{"a":1}', '{"a', ""), fc.nat(30));
		fc.assert(
			fc.property(fc.array(anyRow, { maxLength: 20 }), (rows) => {
				const tail = new StepTail();
				const events = rows.flatMap(([step, status, args, missing]) => {
					const whole = toolRow(step, 21, status, call("c", "run_command", args), [OUT]);
					return tail.take([missing < 10 ? torn(whole, missing) : whole]);
				});
				events.push(...tail.close());
				for (const step of new Set(rows.map(([index]) => index))) {
					const states = events.flatMap((event) => (event.kind === "tool" && event.step === step ? [event.state] : []));
					expect(states).toHaveLength(2);
					expect([states[0], states[1] === "active"]).toStrictEqual(["active", false]);
				}
				for (const event of events) expect(encode(event).length).toBeGreaterThan(0);
				expect(JSON.parse(JSON.stringify(events))).toStrictEqual(events);
			}),
			{ numRuns: 1_000 },
		);
	});
});

test("a long text that grows costs its new part, not itself", () => {
	const grow = (bytes: number) => {
		const tail = new StepTail();
		const rows = Array.from({ length: 60 }, (_, tick) =>
			planner(3, 8, [
				[1, "x".repeat(bytes + tick * 100)],
				[8, "x".repeat(bytes + tick * 100)],
			]),
		);
		const texts = rows.flatMap((stepRow) => tail.take([stepRow]));
		return texts.slice(1).map((event) => (event.kind === "text" ? event.text.length : -1));
	};
	expect(grow(1_000_000)).toStrictEqual(Array.from({ length: 59 }, () => 100));
});
