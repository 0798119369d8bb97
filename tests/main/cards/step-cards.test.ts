import { beforeEach, describe, expect, test } from "vitest";
import { StepCards } from "../../../src/main/cards/step-cards.ts";
import { Steps } from "../../../src/main/steps.ts";
import { failedTool, subagent, tool } from "../../support/agy-events.ts";
import { PiMessage } from "../../support/pi-message.ts";

let steps: Steps;
let cards: StepCards;
let message: PiMessage;

beforeEach(() => {
	steps = new Steps();
	cards = new StepCards("agy-1", steps);
	message = new PiMessage();
});

const idsOf = () => message.toolCalls.map(({ id }) => id);

describe("a card", () => {
	test("is a call to the display tool, open until the step ends", async () => {
		cards.open(tool(2, "active"), message.stream, "antigravity");
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
		cards.open(failedTool(2, "no"), message.stream, "antigravity");
		expect(cards.hasUnsettled).toBe(false);
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "error", output: "no" });
	});

	test("takes the news of its own step only", () => {
		cards.open(tool(2, "active"), message.stream, "antigravity");
		expect(cards.settle(tool(2, "active"))).toBe(true);
		expect(cards.settle(tool(3, "done"))).toBe(false);
		expect(cards.hasUnsettled).toBe(true);
	});

	test("left behind is in the background, and a second one shows the end", async () => {
		cards.open(tool(2, "active"), message.stream, "antigravity");
		cards.leaveBehind();
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "background" });
		expect(cards.hasLeftBehind).toBe(true);
		cards.release();
		expect(cards.isOldNews(tool(2, "active"))).toBe(true);
		expect(cards.isOldNews(tool(2, "done"))).toBe(false);
		cards.open(tool(2, "done"), message.stream, "antigravity");
		expect(idsOf()).toStrictEqual(["agy-1-2", "agy-1-2-end"]);
		expect(cards.isOldNews(tool(2, "done"))).toBe(true);
		expect(cards.hasLeftBehind).toBe(false);
	});

	test("that was settled is not left behind", async () => {
		cards.open(tool(2, "done", { output: "x" }), message.stream, "antigravity");
		cards.leaveBehind();
		expect(await steps.outcome("agy-1-2")).toMatchObject({ state: "done", output: "x" });
	});

	test("released is nobody's, and whoever still waits learns that it is lost", async () => {
		cards.open(tool(2, "active"), message.stream, "antigravity");
		const waiting = steps.outcome("agy-1-2");
		cards.release();
		cards.release();
		expect(await waiting).toMatchObject({ state: "lost" });
		expect([cards.isEmpty, cards.owns("agy-1-2")]).toStrictEqual([true, false]);
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
