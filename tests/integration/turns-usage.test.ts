/** What pi accounts for: the tokens of each turn, never those of the whole conversation. */
import type { AssistantMessage } from "@earendil-works/pi-ai";
import { describe, expect, it } from "vitest";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage } from "../support/sdk-stage.ts";
import { assistantMessages } from "../support/transcript.ts";

type Tokens = {
	readonly input: number;
	readonly output: number;
	readonly cacheRead: number;
	readonly reasoning: number;
};

const stage = new SdkStage();

/** Of all messages of one turn. */
async function costOf(session: SdkSession, prompt: string): Promise<Tokens> {
	const usages = assistantMessages(await session.turn(prompt)).map((message) => message.usage);
	const sum = (count: (usage: AssistantMessage["usage"]) => number | undefined) =>
		usages.reduce((total, usage) => total + (count(usage) ?? 0), 0);
	return {
		input: sum(({ input }) => input),
		output: sum(({ output }) => output),
		cacheRead: sum(({ cacheRead }) => cacheRead),
		reasoning: sum(({ reasoning }) => reasoning),
	};
}

const call = (inputTokens: number, outputTokens: number, cacheReadTokens: number, thinkingTokens: number) => ({
	usage: { inputTokens, outputTokens, cacheReadTokens, thinkingTokens },
});

describe("a turn costs what its model calls cost", () => {
	const TOOL = { kind: "tool", name: "run_command", permission: "allowed", output: "ran" };
	const turns = [
		{ match: "^one", steps: [{ kind: "text", text: "First.", ...call(12_000, 40, 0, 25) }] },
		{
			match: "^two",
			steps: [
				{ kind: "think", ...call(500, 70, 12_000, 60) },
				TOOL,
				{ kind: "text", text: "Second.", ...call(900, 30, 12_500, 10) },
			],
		},
		{ match: "^three", steps: [{ kind: "text", text: "Third.", ...call(700, 20, 13_000, 5) }] },
	];
	const COSTS = {
		one: { input: 12_000, output: 40, cacheRead: 0, reasoning: 25 },
		two: { input: 1_400, output: 100, cacheRead: 24_500, reasoning: 70 },
		three: { input: 700, output: 20, cacheRead: 13_000, reasoning: 5 },
	};

	it("over several turns of one process", async () => {
		const session = await stage.open({ scenario: { turns } });
		for (const [prompt, cost] of Object.entries(COSTS)) expect(await costOf(session, prompt)).toEqual(cost);
		expect(session.runs()).toHaveLength(1);
		expect(assistantMessages(session.records).at(-1)?.usage.totalTokens).toBe(13_700);
	});

	it("when the conversation is resumed by another process", async () => {
		const session = await stage.open({ scenario: { turns } });
		for (const [prompt, level] of [
			["one", "high"],
			["two", "low"],
			["three", "high"],
		] as const) {
			session.session.setThinkingLevel(level);
			expect(await costOf(session, prompt)).toEqual(COSTS[prompt]);
		}
		expect(session.runs()).toHaveLength(3);
		expect(session.session.getSessionStats().tokens).toMatchObject({ input: 14_100, output: 160, cacheRead: 37_500 });
	});
});

describe("a turn whose model calls say nothing", () => {
	it("costs the difference of agy's counters, over resume too", async () => {
		const silent = (match: string, inputTokens: number, outputTokens: number) => ({
			match,
			steps: [{ kind: "text", text: "Said.", finish: "none" }],
			result: { exactUsage: { inputTokens, outputTokens } },
		});
		const turns = [silent("^one", 1_000, 10), silent("^two", 2_500, 30), silent("^three", 2_600, 35)];
		const session = await stage.open({ scenario: { turns } });
		expect(await costOf(session, "one")).toMatchObject({ input: 1_000, output: 10 });
		expect(await costOf(session, "two")).toMatchObject({ input: 1_500, output: 20 });
		session.session.setThinkingLevel("high");
		expect(await costOf(session, "three")).toMatchObject({ input: 100, output: 5 });
		expect(session.runs()).toHaveLength(2);
	});
});
