import type { ExtensionAPI, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { registerStepTool, STEP_TOOL_NAME } from "../../../src/main/cards/step-tool.ts";
import { type StepOutcome, Steps } from "../../../src/main/steps.ts";

type AnyTool = ToolDefinition<never, { state: string; durationMs: number | null }>;

function register(): { readonly tool: AnyTool; readonly steps: Steps } {
	const steps = new Steps();
	let tool: AnyTool | undefined;
	registerStepTool({ registerTool: (definition: AnyTool) => (tool = definition) } as unknown as ExtensionAPI, steps);
	return { tool: tool as AnyTool, steps };
}

function execute(tool: AnyTool, callId: string, signal?: AbortSignal) {
	return tool.execute(callId, {} as never, signal, undefined as never, undefined as never);
}

const outcome = (more: Partial<StepOutcome> = {}): StepOutcome => ({
	state: "done",
	output: "4 passed",
	durationMs: 640,
	...more,
});

test("pi runs it, and no model is told of it", () => {
	const { tool } = register();
	expect(tool.name).toBe(STEP_TOOL_NAME);
	expect(tool.prepareLoadout?.(undefined as never)).toStrictEqual({
		hiddenDeclarations: [STEP_TOOL_NAME],
	});
});

describe("running a call", () => {
	test("waits for agy's step and returns what it came to", async () => {
		const { tool, steps } = register();
		steps.open("1");
		const result = execute(tool, "1");
		steps.settle("1", outcome());
		expect(await result).toStrictEqual({
			content: [{ type: "text", text: "4 passed" }],
			details: { state: "done", durationMs: 640 },
			isError: false,
		});
	});

	test.each<[StepOutcome["state"], boolean]>([
		["done", false],
		["background", false],
		["error", true],
		["lost", true],
	])("of a step that is %s: an error is %s", async (state, isError) => {
		const { tool, steps } = register();
		steps.open("1");
		steps.settle("1", outcome({ state }));
		expect(await execute(tool, "1")).toMatchObject({ isError, details: { state } });
	});

	test("says that there was no output", async () => {
		const { tool, steps } = register();
		steps.open("1");
		steps.settle("1", outcome({ output: "" }));
		expect(await execute(tool, "1")).toMatchObject({ content: [{ type: "text", text: "(no output)" }] });
	});

	test("of an old session is lost, not waited for", async () => {
		expect(await execute(register().tool, "old")).toMatchObject({ isError: true, details: { state: "lost" } });
	});

	test("ends with the user's abort, and forgets the signal otherwise", async () => {
		const { tool, steps } = register();
		steps.open("1");
		const controller = new AbortController();
		const result = execute(tool, "1", controller.signal);
		controller.abort(new Error("stop"));
		await expect(result).rejects.toThrow("stop");
		await expect(execute(tool, "1", controller.signal)).rejects.toThrow("stop");
		steps.open("2");
		const calm = new AbortController();
		const second = execute(tool, "2", calm.signal);
		steps.settle("2", outcome());
		await second;
		calm.abort(new Error("late"));
		expect(await second).toMatchObject({ isError: false });
	});
});

describe("the card", () => {
	const theme = { fg: (_color: string, text: string) => text, bold: (text: string) => text };
	const context = { isError: false, keyHint: (_key: string, what: string) => `ctrl+o ${what}` };

	function call(args: object): string {
		const { tool } = register();
		return renderText(tool.renderCall?.(args as never, theme as never, context as never));
	}

	function result(
		text: string,
		details: object | undefined,
		options: { expanded?: boolean; isPartial?: boolean } = {},
	): string {
		const { tool } = register();
		return renderText(
			tool.renderResult?.(
				{ content: [{ type: "text", text }], details } as never,
				{ expanded: false, isPartial: false, ...options } as never,
				theme as never,
				context as never,
			),
		);
	}

	function renderText(component: { render(width: number): readonly string[] } | undefined): string {
		return (component?.render(400) ?? []).map((line) => line.trimEnd()).join("\n");
	}

	test.each([
		["one text", { tool: "run_command", args: { CommandLine: "make test" } }, "agy run_command make test"],
		["several values", { tool: "grep", args: { Query: "a", Limit: 3, Deep: { x: [1] } } }, 'agy grep a 3 {"x":[1]}'],
		["line ends", { tool: "run_command", args: { CommandLine: "a\n  b" } }, "agy run_command a b"],
		["nothing", { tool: "list", args: {} }, "agy list"],
	])("is titled by the arguments: %s", (_name, args, title) => {
		expect(call(args)).toBe(title);
	});

	test("has a short title", () => {
		expect(call({ tool: "t", args: { a: "x".repeat(500) } })).toBe(`agy t ${"x".repeat(160)}…`);
	});

	test("shows the first lines and how many more there are", () => {
		const text = Array.from({ length: 12 }, (_, index) => `line ${index}`).join("\r\n");
		expect(result(text, {}).split("\n")).toStrictEqual([
			...Array.from({ length: 8 }, (_, index) => `line ${index}`),
			"… 4 more lines (ctrl+o to expand)",
		]);
		expect(result(text, {}, { expanded: true }).split("\n")).toHaveLength(12);
	});

	test.each([
		["a time worth telling", { state: "done", durationMs: 640 }, "x\n0.6 s"],
		["a moment", { state: "done", durationMs: 12 }, "x"],
		["no time", { state: "done", durationMs: null }, "x"],
		["the background", { state: "background", durationMs: null }, "x\nin the background"],
		["details of an older version", { durationMs: "640" }, "x"],
		["no details", undefined, "x"],
	])("tells %s", (_name, details, text) => {
		expect(result("x", details)).toBe(text);
	});

	test("says that the step runs", () => {
		expect(result("", undefined, { isPartial: true })).toBe("running");
	});
});
