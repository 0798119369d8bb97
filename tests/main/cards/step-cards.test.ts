import { beforeEach, describe, expect, test } from "vitest";
import { StepCards } from "../../../src/main/cards/step-cards.ts";
import { type StepOutcome, Steps } from "../../../src/main/steps.ts";
import type { CardDisplay } from "../../../src/main/turn-contract.ts";
import { failedTool, subagent, tool } from "../../support/agy-events.ts";
import { PiMessage } from "../../support/pi-message.ts";

const nativeTools = new Set<string>();
const DISPLAY: CardDisplay = { as: "card", tool: "antigravity", nativeTools: () => nativeTools, cwd: "/srv/demo" };

let steps: Steps;
let cards: StepCards;
let message: PiMessage;

beforeEach(() => {
	nativeTools.clear();
	steps = new Steps();
	cards = new StepCards("agy-1", steps);
	message = new PiMessage();
});

const idsOf = () => message.toolCalls.map(({ id }) => id);

describe("a card", () => {
	test("is a call to the display tool, open until the step ends", async () => {
		cards.show(tool(2, "active"), message.stream, DISPLAY);
		expect(message.toolCalls).toStrictEqual([
			{
				type: "toolCall",
				id: "agy-1-2",
				name: "antigravity",
				arguments: { tool: "run_command", args: { CommandLine: "make" } },
			},
		]);
		expect([cards.isEmpty, cards.hasUnsettled, cards.hasLeftBehind]).toStrictEqual([false, true, true]);
		expect(cards.owns("agy-1-2")).toBe(true);
		expect(cards.settle(tool(2, "done", { output: "4 passed" }))).toBe(true);
		expect([cards.isEmpty, cards.hasUnsettled, cards.hasLeftBehind]).toStrictEqual([false, false, false]);
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "done", output: "4 passed" });
	});

	test("of a step that has ended already is settled at once", async () => {
		cards.show(failedTool(2, "no"), message.stream, DISPLAY);
		expect(cards.hasUnsettled).toBe(false);
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "error", output: "no" });
	});

	test("takes the news of its own step only", () => {
		cards.show(tool(2, "active"), message.stream, DISPLAY);
		expect(cards.settle(tool(2, "active"))).toBe(true);
		expect(cards.settle(tool(3, "done"))).toBe(false);
		expect(cards.hasUnsettled).toBe(true);
	});

	test("left behind is in the background, and a second one shows the end", async () => {
		cards.show(tool(2, "active"), message.stream, DISPLAY);
		cards.leaveBehind();
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "background" });
		expect(cards.hasLeftBehind).toBe(true);
		cards.release();
		expect(cards.isOldNews(tool(2, "active"))).toBe(true);
		expect(cards.isOldNews(tool(2, "done"))).toBe(false);
		cards.show(tool(2, "done"), message.stream, DISPLAY);
		expect(idsOf()).toStrictEqual(["agy-1-2", "agy-1-2-end"]);
		expect(cards.isOldNews(tool(2, "done"))).toBe(true);
		expect(cards.hasLeftBehind).toBe(false);
	});

	test("that was settled is not left behind", async () => {
		cards.show(tool(2, "done", { output: "x" }), message.stream, DISPLAY);
		cards.leaveBehind();
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "done", output: "x" });
	});

	test("released is nobody's, and whoever still waits learns that it is lost", async () => {
		cards.show(tool(2, "active"), message.stream, DISPLAY);
		const waiting = steps.outcome("agy-1-2");
		cards.release();
		cards.release();
		expect(await waiting).toMatchObject({ state: "lost" });
		expect([cards.isEmpty, cards.owns("agy-1-2")]).toStrictEqual([true, false]);
	});
});

describe("a step that only looks at files", () => {
	const view = (state: "active" | "done") => tool(2, state, { name: "view_file", args: { AbsolutePath: "/a.ts" } });
	const failed = tool(2, "error", { ...view("done"), state: "error", error: { type: "TOOL_ERROR", message: "no" } });

	beforeEach(() => void nativeTools.add("read"));

	test("is a call of pi's tool, once it has ended well", () => {
		cards.show(view("active"), message.stream, DISPLAY);
		expect([cards.isEmpty, cards.hasWaiting, message.toolCalls]).toStrictEqual([true, true, []]);
		cards.show(view("active"), message.stream, DISPLAY);
		cards.show(view("done"), message.stream, DISPLAY);
		expect(message.toolCalls).toStrictEqual([
			{ type: "toolCall", id: "agy-1-2", name: "read", arguments: { path: "/a.ts" } },
		]);
		expect([cards.isEmpty, cards.hasWaiting, cards.hasUnsettled]).toStrictEqual([false, false, false]);
		expect(cards.owns("agy-1-2")).toBe(true);
		expect(cards.isOldNews(view("done"))).toBe(true);
	});

	test("and failed is a card with agy's words", async () => {
		cards.show(view("active"), message.stream, DISPLAY);
		cards.show(failed, message.stream, DISPLAY);
		expect(message.toolCalls).toMatchObject([{ name: "antigravity", arguments: { tool: "view_file" } }]);
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "error", output: "no" });
		expect(cards.hasWaiting).toBe(false);
	});

	test("holds no other card back", () => {
		cards.show(view("active"), message.stream, DISPLAY);
		cards.show(tool(3, "active"), message.stream, DISPLAY);
		expect(idsOf()).toStrictEqual(["agy-1-3"]);
		expect(cards.hasWaiting).toBe(true);
	});

	test("is a card like any other when agy goes on without its end, which comes as pi's call", async () => {
		cards.show(view("active"), message.stream, DISPLAY);
		cards.showWaiting(message.stream, "antigravity");
		expect(message.toolCalls).toMatchObject([{ id: "agy-1-2", name: "antigravity" }]);
		expect([cards.hasWaiting, cards.hasUnsettled]).toStrictEqual([false, true]);
		cards.leaveBehind();
		cards.release();
		expect(cards.isOldNews(view("active"))).toBe(true);
		cards.show(view("done"), message.stream, DISPLAY);
		expect(message.toolCalls.at(-1)).toMatchObject({ id: "agy-1-2-end", name: "read" });
	});

	test.each([
		["pi has not got the tool", { args: { AbsolutePath: "/a.ts" } }, []],
		["pi has other tools", { args: { AbsolutePath: "/a.ts" } }, ["ls", "grep"]],
		["an argument means nothing to pi", { args: { AbsolutePath: "/a.ts", Offset: 3 } }, ["read"]],
	])("is a card like any other when %s", (_name, more, names) => {
		nativeTools.clear();
		for (const name of names) nativeTools.add(name);
		cards.show(tool(2, "active", { name: "view_file", ...more }), message.stream, DISPLAY);
		expect(message.toolCalls).toMatchObject([{ name: "antigravity" }]);
		expect(cards.hasUnsettled).toBe(true);
	});
});

describe("what a step shows beside its words", () => {
	const edit = { summary: "a.ts: 1 added, 0 removed (lines).", diff: "+1 a", images: [] };

	test("goes with its end", async () => {
		const files = { viewOf: (step: number) => (step === 2 ? Promise.resolve(edit) : null) };
		const withFiles = new StepCards("agy-1", steps, files);
		withFiles.show(tool(2, "active"), message.stream, DISPLAY);
		withFiles.settle(tool(2, "done"));
		withFiles.show(tool(3, "done"), message.stream, DISPLAY);
		expect(await (await steps.outcome("agy-1-2")).view).toBe(edit);
		expect("view" in (await steps.outcome("agy-1-3"))).toBe(false);
	});

	test("is what it has printed while it runs", async () => {
		const seen: string[] = [];
		cards.show(tool(2, "active", { output: "1" }), message.stream, DISPLAY);
		steps.watch("agy-1-2", (output) => seen.push(output));
		cards.settle(tool(2, "active", { output: "1\n2" }));
		cards.settle(tool(2, "active"));
		expect(seen).toStrictEqual(["1", "1\n2"]);
		cards.leaveBehind();
		const left: StepOutcome = await steps.outcome("agy-1-2");
		expect(left.output).toBe("1\n2\nStill running when agy went on.");
	});
});

describe("a line", () => {
	test.each([
		["an active step says nothing", tool(2, "active"), ""],
		["a step that is done", tool(2, "done", { output: "x" }), "[agy ran run_command]\n"],
		["a step that failed says why", failedTool(2, "no"), "[agy ran run_command: no]\n"],
		["a sub-agent", subagent(4, "done"), "[agy ran invoke_subagent]\n"],
	])("%s", (_name, event, line) => {
		cards.writeLine(event, message.stream);
		expect(message.thinking).toBe(line);
		expect(cards.isOldNews(event)).toBe(line !== "");
		expect(cards.isEmpty).toBe(true);
	});
});
