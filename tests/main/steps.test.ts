import { describe, expect, test } from "vitest";
import { type StepOutcome, Steps, toStepArguments, toStepOutcome } from "../../src/main/steps.ts";
import type { SubagentEvent, ToolEvent } from "../../src/shared/events.ts";
import { STEP_OUTPUT_CHARS } from "../../src/shared/limits.ts";
import { tool as anyTool, subagent } from "../support/agy-events.ts";

const DONE: StepOutcome = { state: "done", output: "4 passed", durationMs: 640 };
const ERROR: StepOutcome = { state: "error", output: "no", durationMs: null };

const tool = (more: Partial<ToolEvent>) =>
	anyTool(2, more.state ?? "done", { name: "view_file", args: { AbsolutePath: "/a" }, ...more });

describe("a step", () => {
	test("is waited for until it settles", async () => {
		const steps = new Steps();
		steps.open("1");
		expect(steps.isOpen("1")).toBe(true);
		const waiting = [steps.outcome("1"), steps.outcome("1")];
		steps.settle("1", DONE);
		expect(await Promise.all(waiting)).toStrictEqual([DONE, DONE]);
		expect(await steps.outcome("1")).toStrictEqual(DONE);
		expect(steps.isOpen("1")).toBe(false);
	});

	test("settles once", async () => {
		const steps = new Steps();
		steps.open("1");
		steps.settle("1", DONE);
		steps.settle("1", ERROR);
		expect(await steps.outcome("1")).toStrictEqual(DONE);
	});

	test("that was forgotten is lost for whoever waits", async () => {
		const steps = new Steps();
		steps.open("1");
		const waiting = steps.outcome("1");
		steps.forget("1");
		expect(await waiting).toMatchObject({ state: "lost" });
		expect(await steps.outcome("1")).toMatchObject({ state: "lost" });
	});

	test("that was settled and then forgotten keeps what it came to for whoever waits", async () => {
		const steps = new Steps();
		steps.open("1");
		const waiting = steps.outcome("1");
		steps.settle("1", DONE);
		steps.forget("1");
		steps.forget("1");
		expect(await waiting).toStrictEqual(DONE);
	});

	test("nobody knows is lost at once and settles nothing", async () => {
		const steps = new Steps();
		steps.settle("x", DONE);
		steps.forget("x");
		expect(steps.isOpen("x")).toBe(false);
		expect(await steps.outcome("x")).toMatchObject({ state: "lost" });
	});
});

describe("while a step runs", () => {
	test("what it has printed is told, at once to whoever comes later", () => {
		const steps = new Steps();
		const [early, late]: string[][] = [[], []];
		steps.open("1");
		steps.watch("1", (output) => early?.push(output));
		steps.report("1", "a");
		const leave = steps.watch("1", (output) => late?.push(output));
		steps.report("1", "a");
		steps.report("1", "ab");
		leave();
		steps.report("1", "abc");
		steps.settle("1", DONE);
		steps.report("1", "abcd");
		expect([early, late]).toStrictEqual([
			["a", "ab", "abc"],
			["a", "ab"],
		]);
	});

	test("the end of endless output is told", () => {
		const steps = new Steps();
		let told = "";
		steps.open("1");
		steps.watch("1", (output) => (told = output));
		steps.report("1", `${"x".repeat(100_000)}end`);
		expect(told).toMatch(/^…x+end$/);
		expect(told.length).toBeLessThan(10_000);
	});

	test.each<[string, StepOutcome, string]>([
		["an end without a word keeps it", { ...DONE, output: "" }, "so far"],
		["an end with words replaces it", DONE, "4 passed"],
		["a step left behind keeps it too", { ...DONE, state: "background", output: "goes on" }, "so far\ngoes on"],
	])("%s", async (_name, outcome, output) => {
		const steps = new Steps();
		steps.open("1");
		steps.report("1", "so far");
		steps.settle("1", outcome);
		expect((await steps.outcome("1")).output).toBe(output);
	});

	test("nobody hears of a step nobody knows", () => {
		const steps = new Steps();
		steps.report("x", "a");
		steps.watch("x", () => expect.unreachable())();
	});
});

describe("the outcome", () => {
	test.each<[string, ToolEvent | SubagentEvent, StepOutcome | null]>([
		["of an active step is none yet", tool({ state: "active" }), null],
		["of an active sub-agent is none yet", subagent(2, "active"), null],
		["with output", tool({ output: "4 passed", durationMs: 640 }), DONE],
		["without output", tool({}), { state: "done", output: "", durationMs: null }],
		[
			"of a failure is its message",
			tool({ state: "error", error: { type: "TOOL_ERROR", message: "no" }, output: "x" }),
			ERROR,
		],
		["of a failure without a message is its output", tool({ state: "error", output: "no" }), ERROR],
		[
			"of a failure without a word",
			tool({ state: "error", error: { type: "TOOL_ERROR", message: "" } }),
			{ state: "error", output: "The tool failed.", durationMs: null },
		],
		[
			"of a step that is done with an error is a failure",
			tool({ error: { type: "TOOL_ERROR", message: "no" } }),
			ERROR,
		],
		[
			"of a sub-agent is that it was started",
			subagent(2, "done", { durationMs: 21 }),
			{ state: "done", output: "Started; its result comes with a later answer.", durationMs: 21 },
		],
	])("%s", (_name, event, outcome) => {
		expect(toStepOutcome(event)).toStrictEqual(outcome);
	});

	test("of endless output is its beginning and how much is missing", () => {
		const outcome = toStepOutcome(tool({ output: "x".repeat(STEP_OUTPUT_CHARS + 7) }));
		expect(outcome?.output).toBe(`${"x".repeat(STEP_OUTPUT_CHARS)}\n[7 more characters are not shown]`);
		expect(toStepOutcome(tool({ output: "x".repeat(STEP_OUTPUT_CHARS) }))?.output).toHaveLength(STEP_OUTPUT_CHARS);
	});
});

test("a card is called with agy's tool and its arguments", () => {
	expect(toStepArguments(tool({}))).toStrictEqual({ tool: "view_file", args: { AbsolutePath: "/a" } });
	const agent = { type: "researcher", role: "Reads", prompt: "Find it" };
	expect(toStepArguments(subagent(2, "done", { agents: [{ ...agent, conversationId: "c" }] }))).toStrictEqual({
		tool: "invoke_subagent",
		args: { agents: [agent] },
	});
});
