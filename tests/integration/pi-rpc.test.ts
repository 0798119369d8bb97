/** `pi --mode rpc`: one long-lived pi on which several turns run, in this order. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { untilReaped } from "../support/process-table.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { Sandbox } from "../support/sandbox.ts";
import { answer, assistantMessages, cards, retries, streamedText, textOf } from "../support/transcript.ts";

const text = (said: string) => ({ kind: "text", text: said, deltaChars: 0 });
const RUNNING = { kind: "tool", name: "run_command", permission: "allowed", end: "open" };

const SCENARIO = {
	turns: [
		{
			match: "^numbers",
			steps: [
				{
					kind: "text",
					text: "",
					deltas: ["one ", "two ", "three ", "four"],
					pauseAfter: 2,
					marker: "two-said",
					gate: "go",
				},
			],
		},
		{
			match: "^hang",
			steps: [
				{ kind: "text", text: "half", finish: "none" },
				{ kind: "hang", marker: "hanging" },
			],
		},
		{
			match: "^run something",
			steps: [RUNNING, { kind: "touch", marker: "tool-runs" }, { kind: "wait", gate: "tool" }, text("ran")],
		},
		{
			match: "^long tool",
			steps: [RUNNING, { kind: "touch", marker: "long-runs" }, { kind: "wait", gate: "long" }, text("You may go on.")],
		},
		{ steps: [text("{{prompt}} by {{model}}")] },
	],
};

let sandbox: Sandbox;
let pi: RpcClient;

beforeAll(() => {
	sandbox = new Sandbox({ scenario: SCENARIO });
	sandbox.seedModels();
	pi = new RpcClient(sandbox);
});
afterAll(() => sandbox.close());

describe("pi --mode rpc", () => {
	it("streams tokens while agy still works", async () => {
		const from = await pi.begin("numbers");
		await sandbox.reached("two-said");
		await pi.pi.record("two words", () => streamedText(pi.records) === "one two ", from);
		expect(assistantMessages(pi.records)).toEqual([]);
		sandbox.openGate("go");
		const turn = await pi.settled(from);
		expect(textOf(answer(turn))).toBe("one two three four");
		expect(answer(turn).stopReason).toBe("stop");
	});

	it("uses the same process for the next turn", async () => {
		const turn = await pi.prompt("second");
		expect(textOf(answer(turn))).toBe("second by gemini-3.8-flash-medium");
		expect(sandbox.runs()).toMatchObject([{ prompts: ["numbers", "second"] }]);
		expect(sandbox.agyProcesses().map((row) => row.pid)).toEqual([sandbox.runs()[0]?.pid]);
	});

	it("ends a turn on abort, with its process, and resumes the conversation in the next", async () => {
		const from = await pi.begin("hang");
		await sandbox.reached("hanging");
		await pi.pi.record("half an answer", () => streamedText(pi.records.slice(from)) === "half", from);
		await pi.request("abort");
		const turn = await pi.settled(from);
		expect(answer(turn)).toMatchObject({ stopReason: "aborted" });
		expect(textOf(answer(turn))).toBe("half");
		await until("no agy runs", () => sandbox.agyProcesses().length === 0);
		await untilReaped(pi.pi.pid);

		expect(textOf(answer(await pi.prompt("third")))).toBe("third by gemini-3.8-flash-medium");
		const [before, after] = sandbox.runs();
		expect(after?.pid).not.toBe(before?.pid);
		expect(after?.argv.join(" ")).toContain("--conversation c0ffee00-0000-4000-8000-000000000001");
		expect(after?.prompts).toEqual(["third"]);
	});

	it("frees a turn that waits for a running tool on abort; the next prompt works at once", async () => {
		const from = await pi.begin("run something");
		await sandbox.reached("tool-runs");
		await pi.pi.record("the card", (record) => record.type === "tool_execution_start", from);
		const parked = sandbox.runs().at(-1)?.pid;
		await pi.request("abort");
		await pi.settled(from);
		await until("the parked process is gone", () => sandbox.agyProcesses().every((row) => row.pid !== parked));
		const turn = await pi.prompt("after the tool");
		expect(textOf(answer(turn))).toContain("after the tool by");
		expect(sandbox.runs().at(-1)?.pid).not.toBe(parked);
		expect(sandbox.prompts().filter((prompt) => prompt === "run something")).toHaveLength(1);
	});

	it("delivers what was said while a tool ran", async () => {
		const from = await pi.begin("long tool");
		await sandbox.reached("long-runs");
		await pi.pi.record("the card", (record) => record.type === "tool_execution_start", from);
		await pi.request("steer", { message: "and by the way" });
		sandbox.openGate("long");
		const turn = await pi.settled(from);
		expect(cards(turn)).toHaveLength(1);
		expect(sandbox.runs().at(-1)?.prompts.slice(-2)).toEqual(["long tool", "and by the way"]);
		expect(textOf(answer(turn))).toContain("and by the way by");
	});

	it("chooses the slug by the thinking level and keeps the conversation", async () => {
		for (const level of ["high", "low"]) {
			await pi.request("set_thinking_level", { level });
			const turn = await pi.prompt(`at ${level}`);
			expect(textOf(answer(turn))).toBe(`at ${level} by gemini-3.8-flash-${level}`);
			const argv = sandbox.runs().at(-1)?.argv.join(" ");
			expect(argv).toContain(`--model gemini-3.8-flash-${level}`);
			expect(argv).toContain("--conversation c0ffee00-0000-4000-8000-000000000001");
		}
		await until("one agy is left", () => sandbox.agyProcesses().length === 1);
	});

	it("ends with its input, silent on stderr and with records alone on stdout", async () => {
		expect(await pi.close()).toEqual({ code: 0, signal: null });
		expect(pi.pi.stderr).toBe("");
		expect(pi.pi.otherLines).toEqual([]);
		expect(retries(pi.records)).toBe(0);
		expect(sandbox.agyProcesses()).toEqual([]);
	});
});
