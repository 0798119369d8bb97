/** Sessions beside each other, calls beside a turn, and what a changed session makes of its process. */
import type { TranscriptContext } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage } from "../support/sdk-stage.ts";
import { answer, assistantMessages, cards, textOf } from "../support/transcript.ts";

const ECHO = { steps: [{ kind: "text", text: "heard: {{prompt}}", deltaChars: 0 }] };
const TOOL = { kind: "tool", name: "run_command", permission: "allowed", output: "ran" };
const SESSIONS = 8;

const stage = new SdkStage();

/** A turn that stays in a tool until its gate opens; `done` is a tool that has ended by then. */
function parkedTurn(name: string, end: "open" | "done" = "open") {
	return {
		match: "^work",
		steps: [
			{ ...TOOL, end },
			{ kind: "touch", marker: `${name}-parked` },
			{ kind: "wait", gate: `${name}-go` },
			{ kind: "text", text: `Done by ${name}.`, deltaChars: 0 },
		],
	};
}

/** A call that is no part of the session's conversation, as pi's own summaries and other extensions make it. */
async function askAside(session: SdkSession, question: string): Promise<string> {
	const { agent, model } = session.session;
	if (!model) throw new Error("no model");
	const messages = [{ role: "user", content: question, timestamp: Date.now() }];
	const context = { messages } as unknown as TranscriptContext;
	const stream = await agent.streamFunction(model, context, { cacheRetention: "none", sessionId: "of another call" });
	return textOf(await stream.result());
}

describe("eight sessions side by side", () => {
	it("are each in a turn of their own, end in any order, and keep their conversations", async () => {
		const numbers = Array.from({ length: SESSIONS }, (_, number) => number);
		const sessions: SdkSession[] = [];
		for (const number of numbers)
			sessions.push(await stage.open({ scenario: { turns: [parkedTurn(`session-${number}`, "done"), ECHO] } }));
		const turns = sessions.map((session) => session.turn("work"));
		await Promise.all(numbers.map((number) => stage.sandbox.reached(`session-${number}-parked`)));
		expect(stage.sandbox.agyProcesses()).toHaveLength(SESSIONS);
		for (const number of numbers.toReversed()) {
			stage.sandbox.openGate(`session-${number}-go`);
			expect(textOf(answer((await turns[number]) ?? []))).toBe(`Done by session-${number}.`);
		}
		const ids = sessions.map((session) => assistantMessages(session.records).at(-1)?.responseId);
		expect(new Set(ids).size).toBe(SESSIONS);
		for (const [number, session] of sessions.entries()) {
			expect(await session.ask(`next of ${number}`)).toBe(`heard: next of ${number}`);
			expect(session.prompts()).toEqual(["work", `next of ${number}`]);
			expect(assistantMessages(session.records).at(-1)?.responseId).toBe(ids[number]);
			expect(session.runs()).toHaveLength(1);
		}
	});
});

describe("while a turn is parked in a tool", () => {
	it("a call of another extension is answered by another process, and the turn goes on", async () => {
		const session = await stage.open({ scenario: { turns: [parkedTurn("aside"), ECHO] } });
		const turn = session.turn("work");
		await stage.sandbox.reached("aside-parked");
		expect(await askAside(session, "aside")).toBe("heard: aside");
		expect(session.session.isStreaming).toBe(true);
		stage.sandbox.openGate("aside-go");
		expect(textOf(answer(await turn))).toBe("Done by aside.");
		const [own, side] = session.runs();
		expect(own?.prompts).toEqual(["work"]);
		expect(side?.prompts).toEqual(["aside"]);
		for (const flag of ["--conversation", "--dangerously-skip-permissions", "--agent"])
			expect(side?.argv).not.toContain(flag);
	});

	it("a foreign system prompt reaches only the process of the call that brought it", async () => {
		let isParked = false;
		let mayGoOn = false;
		const work = { match: "^work", steps: [TOOL, { kind: "text", text: "Done.", deltaChars: 0 }] };
		const session = await stage.open({
			scenario: { turns: [work, ECHO] },
			extensions: [
				(pi: ExtensionAPI) => {
					pi.on("tool_call", async () => {
						isParked = true;
						await until("the card may go on", () => mayGoOn);
					});
				},
			],
		});
		const { modelRuntime, model } = session.session;
		const askForeign = async (question: string) => {
			if (!model) throw new Error("no model");
			const messages = [{ role: "user" as const, content: question, timestamp: Date.now() }];
			return textOf(await modelRuntime.completeSimple(model, { systemPrompt: "Be foreign.", messages }));
		};
		expect(await session.ask("before")).toBe("heard: before");
		expect(await askForeign("idle")).toBe("heard: Be foreign.\n\nidle");
		const turn = session.turn("work");
		await until("the card is parked", () => isParked);
		expect(await askForeign("parked")).toBe("heard: Be foreign.\n\nparked");
		mayGoOn = true;
		expect(textOf(answer(await turn))).toBe("Done.");
		expect(await session.ask("after")).toBe("heard: after");

		const [own, ...others] = session.runs();
		expect(own?.prompts).toEqual(["before", "work", "after"]);
		expect(others.map((run) => run.prompts)).toEqual([["Be foreign.\n\nidle"], ["Be foreign.\n\nparked"]]);
		for (const { argv } of others)
			for (const flag of ["--conversation", "--dangerously-skip-permissions", "--agent"])
				expect(argv).not.toContain(flag);
	});

	it("pi may compact behind its back: the summary does not wait, the turn goes on, and the next one is rebuilt", async () => {
		const usage = { inputTokens: 190_000, cacheReadTokens: 800_000 };
		const session = await stage.open({
			scenario: {
				turns: [
					{ match: "<conversation>|summar", steps: [{ kind: "text", text: "They worked.", deltaChars: 0 }] },
					{
						match: "^work",
						steps: [{ kind: "think", usage }, TOOL, { kind: "text", text: "Done.", deltaChars: 0, usage }],
					},
					ECHO,
				],
			},
			settings: { compaction: { keepRecentTokens: 1 } },
		});
		for (const word of ["one", "two"]) expect(await session.ask(word)).toBe(`heard: ${word}`);
		const turn = await session.turn("work");
		expect(cards(turn)).toMatchObject([{ output: "ran" }]);
		expect(textOf(answer(turn))).toBe("Done.");
		const compactions = () => session.records.filter((record) => record.type === "compaction_start").length;
		expect(compactions()).toBe(1);
		expect(answer(turn).usage.totalTokens).toBeLessThan(100_000);

		await session.ask("three");
		expect(compactions()).toBe(1);
		const last = session.runs().at(-1);
		expect(last?.argv).not.toContain("--conversation");
		expect(stage.sandbox.filesOf(last?.prompts[0]).join("")).toContain("They worked.");
	});
});

describe("a session that ends", () => {
	it("in the middle of a turn leaves no process behind and begins none", async () => {
		const session = await stage.open({ scenario: { turns: [parkedTurn("ended"), ECHO] } });
		const turn = session.turn("work").catch(() => []);
		await stage.sandbox.reached("ended-parked");
		await session.close();
		await turn;
		expect(stage.sandbox.agyProcesses()).toEqual([]);
		expect(session.prompts()).toEqual(["work"]);
	});

	it("while agy starts leaves no process behind", async () => {
		const session = await stage.open({
			scenario: { start: { marker: "ending-start", waitForGate: "ending-go" }, turns: [ECHO] },
		});
		const turn = session.turn("work").catch(() => []);
		await stage.sandbox.reached("ending-start");
		await session.close();
		await turn;
		expect(stage.sandbox.agyProcesses()).toEqual([]);
		expect(session.prompts()).toEqual([]);
	});
});

describe("a session whose process no longer fits", () => {
	it("resumes its conversation with another model and level in another process, one at a time", async () => {
		const session = await stage.open({ scenario: { turns: [ECHO] } });
		const { responseId } = answer(await session.turn("one"));
		const pids: number[] = [];
		for (const level of ["high", "low", "medium"] as const) {
			session.session.setThinkingLevel(level);
			expect(await session.ask(`at ${level}`)).toBe(`heard: at ${level}`);
			const run = session.runs().at(-1);
			expect(run?.argv.join(" ")).toMatch(
				new RegExp(`--model gemini-3.8-flash-${level} .*--conversation ${responseId}`),
			);
			expect(stage.sandbox.agyProcesses().map((row) => row.pid)).toEqual([run?.pid]);
			pids.push(run?.pid as number);
		}
		expect(new Set(pids).size).toBe(pids.length);
		expect(session.notices).toEqual([]);
	});

	it("asks a model without levels by its name alone", async () => {
		const levels = ["high", "medium", "low"].map((level) => `gemini-3.8-flash-${level}`);
		stage.sandbox.seedModels([...levels, "claude-sonnet-4-6"]);
		const session = await stage.open({ scenario: { turns: [ECHO] } });
		const fixed = session.session.modelRuntime.getModel("antigravity", "claude-sonnet-4-6");
		if (!fixed) throw new Error("the model is not listed");
		await session.session.setModel(fixed);
		session.session.setThinkingLevel("high");
		expect(await session.ask("one")).toBe("heard: one");
		const argv = session.runs()[0]?.argv ?? [];
		expect(argv.join(" ")).toContain("--model claude-sonnet-4-6 ");
		expect(argv).not.toContain("--effort");
	});

	it("keeps its process when nothing changed", async () => {
		const session = await stage.open({ scenario: { turns: [ECHO] } });
		for (const word of ["one", "two", "three"]) await session.ask(word);
		expect(session.runs()).toMatchObject([{ prompts: ["one", "two", "three"] }]);
	});
});
