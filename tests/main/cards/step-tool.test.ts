import { stripVTControlCharacters } from "node:util";
import { type ExtensionAPI, initTheme, type ToolDefinition } from "@earendil-works/pi-coding-agent";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { registerStepTool, STEP_TOOL_NAME } from "../../../src/main/cards/step-tool.ts";
import { type StepOutcome, Steps } from "../../../src/main/steps.ts";

type AnyTool = ToolDefinition<never, { state: string; durationMs: number | null; diff?: string }>;

function register(): { readonly tool: AnyTool; readonly steps: Steps } {
	const steps = new Steps();
	let tool: AnyTool | undefined;
	registerStepTool({ registerTool: (definition: AnyTool) => (tool = definition) } as unknown as ExtensionAPI, steps);
	return { tool: tool as AnyTool, steps };
}

type Update = Parameters<AnyTool["execute"]>[3];

function execute(tool: AnyTool, callId: string, signal?: AbortSignal, onUpdate?: Update) {
	return tool.execute(callId, {} as never, signal, onUpdate, undefined as never);
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

	test("tells what the step prints until it ends", async () => {
		const { tool, steps } = register();
		const updates: unknown[] = [];
		steps.open("1");
		steps.report("1", "a");
		const result = execute(tool, "1", undefined, (update) => updates.push(update));
		steps.report("1", "ab");
		steps.settle("1", outcome());
		await result;
		steps.report("1", "abc");
		expect(updates).toStrictEqual(
			["a", "ab"].map((text) => ({
				content: [{ type: "text", text }],
				details: { state: "active", durationMs: null },
			})),
		);
	});

	test("returns what the step left in files beside its words", async () => {
		const { tool, steps } = register();
		const image = { type: "image" as const, data: "aGk=", mimeType: "image/png" };
		steps.open("1");
		const view = Promise.resolve({ summary: "a.ts: unchanged.", diff: "+1 a", images: [image] });
		steps.settle("1", outcome({ view }));
		expect(await execute(tool, "1")).toStrictEqual({
			content: [{ type: "text", text: "4 passed\na.ts: unchanged." }, image],
			details: { state: "done", durationMs: 640, diff: "+1 a" },
			isError: false,
		});
	});

	test("does not wait for files for ever", async () => {
		vi.useFakeTimers();
		try {
			const { tool, steps } = register();
			steps.open("1");
			steps.settle("1", outcome({ output: "", view: new Promise(() => {}) }));
			const result = execute(tool, "1");
			await vi.advanceTimersByTimeAsync(8_000);
			expect(await result).toMatchObject({ content: [{ text: "(its files could not be read in time)" }] });
		} finally {
			vi.useRealTimers();
		}
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
		[
			"an edit's file alone",
			{ tool: "write_to_file", args: { CodeContent: "x", TargetFile: "/a" } },
			"agy write_to_file /a",
		],
		[
			"what a sub-agent is and does",
			{ tool: "invoke_subagent", args: { agents: [{ type: "researcher", role: "Reads", prompt: "Find it" }] } },
			"agy invoke_subagent researcher (Reads): Find it",
		],
		[
			"several sub-agents of which little is known",
			{ tool: "invoke_subagent", args: { agents: [{ type: "browser" }, { prompt: "Go" }, null, 3] } },
			"agy invoke_subagent browser : Go",
		],
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

	test("says that the step runs, with the newest it has printed", () => {
		expect(result("", undefined, { isPartial: true })).toBe("running");
		const text = Array.from({ length: 12 }, (_, index) => `line ${index}`).join("\n");
		expect(result(text, undefined, { isPartial: true }).split("\n")).toStrictEqual([
			...Array.from({ length: 8 }, (_, index) => `line ${index + 4}`),
			"running",
		]);
		expect(result(text, undefined, { isPartial: true, expanded: true }).split("\n")).toHaveLength(13);
	});

	describe("of an edit", () => {
		beforeAll(() => initTheme("dark"));

		const plain = (text: string) => stripVTControlCharacters(text);

		test("has the diff as pi draws it", () => {
			const shown = result("a.ts: 1 added, 1 removed (lines).", {
				state: "done",
				durationMs: 640,
				diff: "-1 one\n+1 two",
			});
			expect(plain(shown).split("\n")).toStrictEqual([
				"a.ts: 1 added, 1 removed (lines).",
				"-1 one",
				"+1 two",
				"0.6 s",
			]);
			expect(shown).not.toBe(plain(shown));
		});

		test("shows the first lines of a long diff", () => {
			const diff = Array.from({ length: 30 }, (_, index) => `+${index + 1} x`).join("\n");
			const shown = plain(result("new", { state: "done", durationMs: null, diff })).split("\n");
			expect(shown).toHaveLength(1 + 24 + 1);
			expect(shown.at(-1)).toBe("… 6 more lines (ctrl+o to expand)");
			expect(plain(result("new", { diff }, { expanded: true })).split("\n")).toHaveLength(31);
		});
	});
});
