/** The clocks of a turn: how long it may take, how long agy may be silent, and what stops them. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SdkStage } from "../support/sdk-stage.ts";
import { answer, assistantMessages, cards, streamedText, textOf } from "../support/transcript.ts";

const HALF = { kind: "text", text: "Half of it", finish: "none" };
const TOOL = { kind: "tool", name: "run_command", permission: "allowed", output: "ran" };
const ECHO = { steps: [{ kind: "text", text: "{{prompt}}", deltaChars: 0 }] };

const stage = new SdkStage();

/** Resolves when so much time has passed. */
function passed(seconds: number): Promise<boolean> {
	const fromMs = performance.now();
	return until(`${seconds} seconds`, () => performance.now() - fromMs > seconds * 1_000);
}

describe("a turn that takes longer than AGY_TURN_TIMEOUT_MIN", () => {
	it("ends with what it did and where it goes on; the next prompt resumes it", async () => {
		const session = await stage.open({
			scenario: { turns: [{ match: "^work", steps: [TOOL, TOOL, HALF, { kind: "hang" }] }, ECHO] },
			env: { AGY_TURN_TIMEOUT_MIN: "0.04" },
		});
		const turn = await session.turn("work");
		const last = answer(turn);
		expect(last.stopReason).toBe("error");
		expect(textOf(last)).toBe("Half of it");
		expect(cards(turn)).toHaveLength(2);
		expect(last.errorMessage).toMatch(/took longer than 2 seconds\. The answer above is incomplete\./);
		expect(last.errorMessage).toContain("Until then it ran: run_command (2).");
		expect(last.errorMessage).toContain(`The conversation ${last.responseId} is kept; your next prompt resumes it.`);
		expect(last.errorMessage).toContain("AGY_TURN_TIMEOUT_MIN");
		expect(await session.ask("next")).toBe("next");
		expect(session.runs().at(-1)?.argv.join(" ")).toContain(`--conversation ${last.responseId}`);
		expect(session.prompts()).toEqual(["work", "next"]);
	});
});

describe("an agy that is silent for AGY_INACTIVITY_TIMEOUT_MIN", () => {
	it("ends the turn with what it said; the next prompt resumes it", async () => {
		const session = await stage.open({
			scenario: { turns: [{ match: "^work", steps: [HALF, { kind: "hang" }] }, ECHO] },
			env: { AGY_INACTIVITY_TIMEOUT_MIN: "0.02" },
		});
		const last = answer(await session.turn("work"));
		expect(textOf(last)).toBe("Half of it");
		expect(last.errorMessage).toMatch(/said nothing for 1 seconds\. The answer above is incomplete\./);
		expect(last.errorMessage).toContain(`The conversation ${last.responseId} is kept`);
		expect(await session.ask("next")).toBe("next");
	});

	it("is given more time while what a tool of it started still runs", async () => {
		// It is given 12 times as much, within which the other turn has to begin and end on any machine.
		const env = { AGY_INACTIVITY_TIMEOUT_MIN: "0.05" };
		const patient = await stage.open({
			scenario: {
				turns: [
					{
						steps: [
							{ kind: "grandchild", gate: "child-may-end" },
							{ ...TOOL, end: "open" },
							{ kind: "touch", marker: "tool-with-child" },
							{ kind: "wait", gate: "tool-may-end" },
							{ kind: "text", text: "It took its time.", deltaChars: 0 },
						],
					},
				],
			},
			env,
		});
		const silent = await stage.open({
			scenario: { turns: [{ steps: [{ ...TOOL, end: "open" }, { kind: "hang" }] }] },
			env,
		});
		const turn = patient.turn("work");
		await stage.sandbox.reached("tool-with-child");
		// The same silence, begun later, ends a turn whose tool has nothing running.
		expect(await silent.ask("one")).toMatch(/said nothing for 3 seconds/);
		expect(assistantMessages(patient.records).at(-1)?.stopReason).toBe("toolUse");
		stage.sandbox.openGate("child-may-end");
		stage.sandbox.openGate("tool-may-end");
		expect(textOf(answer(await turn))).toBe("It took its time.");
		expect(answer(await turn).stopReason).toBe("stop");
	});
});

describe("the clocks of a turn", () => {
	it("stand still while it is pi that takes its time with a tool", async () => {
		const session = await stage.open({
			scenario: { turns: [{ steps: [TOOL, { kind: "text", text: "All of it", deltaChars: 0 }] }] },
			env: { AGY_INACTIVITY_TIMEOUT_MIN: "0.02", AGY_TURN_TIMEOUT_MIN: "0.04" },
			extensions: [(pi: ExtensionAPI) => void pi.on("tool_call", async () => void (await passed(2.6)))],
		});
		const turn = await session.turn("work");
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(textOf(answer(turn))).toBe("All of it");
		expect(cards(turn)).toMatchObject([{ output: "ran" }]);
		expect(session.runs()).toHaveLength(1);
	});
});

describe("agy's own time limit for a turn", () => {
	it("is out of the way", async () => {
		const session = await stage.open({
			scenario: {
				behaviour: { defaultPrintTimeoutSeconds: 1 },
				turns: [
					{
						steps: [
							HALF,
							{ kind: "touch", marker: "half-way" },
							{ kind: "wait", gate: "other-half" },
							{ kind: "text", text: " and the rest.", deltaChars: 0 },
						],
					},
				],
			},
		});
		const asked = session.turn("work");
		await stage.sandbox.reached("half-way");
		await passed(1.2);
		stage.sandbox.openGate("other-half");
		const turn = await asked;
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(streamedText(turn)).toBe("Half of it and the rest.");
		expect(session.runs()[0]?.argv.join(" ")).toContain("--print-timeout 24h");
	});
});

describe("config.json", () => {
	const path = join("agent", "pi-agy", "config.json");
	afterEach(() => rmSync(join(stage.sandbox.path, path), { force: true }));

	it("is read and never written: what the environment says instead is for one session", async () => {
		const content = '{ "mode":   "accept-edits" }';
		stage.sandbox.write(path, content);
		const modeOf = async (env: Record<string, string>) => {
			const session = await stage.open({ env });
			expect(await session.ask("go")).toBe("go");
			await session.close();
			const argv = session.runs()[0]?.argv ?? [];
			return argv.includes("--mode") ? argv[argv.indexOf("--mode") + 1] : null;
		};
		expect(await modeOf({ AGY_MODE: "default" })).toBeNull();
		expect(stage.sandbox.read(path)).toBe(content);
		expect(await modeOf({})).toBe("accept-edits");
		expect(stage.sandbox.read(path)).toBe(content);
	});
});
