/** The end of pi in the middle of a turn, with an agy that ignores every polite request to stop. */
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { PiProcess, printPi } from "../support/pi-process.ts";
import { isRunning, killQuietly } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";

const DEAF = { kind: "hang", ignoreSignals: ["SIGINT", "SIGTERM", "SIGHUP"], marker: "hanging" };
const SCENARIO = {
	turns: [
		{ match: "^hang", steps: [{ kind: "text", text: "half", finish: "none" }, DEAF] },
		{ steps: [{ kind: "text", text: "{{prompt}}" }] },
	],
};

let sandbox: Sandbox;
afterEach(() => sandbox.close());

/** A pi whose agy hangs in the middle of a turn. */
async function hangingPi(): Promise<{ readonly pi: PiProcess; readonly guardian: number; readonly agy: number }> {
	sandbox = new Sandbox({ scenario: SCENARIO });
	sandbox.seedModels();
	const pi = new PiProcess(sandbox, ["-p", "hang"]);
	await sandbox.reached("hanging");
	const agy = sandbox.runs()[0]?.pid as number;
	expect(isRunning(agy)).toBe(true);
	expect(sandbox.leftInTemp()).toHaveLength(1);
	return { pi, guardian: await pi.guardian(), agy };
}

async function nothingIsLeft(...pids: number[]): Promise<void> {
	await until(
		() => `the end of ${pids.filter(isRunning)}; temp folder: ${sandbox.leftInTemp()}`,
		() => !pids.some(isRunning) && sandbox.agyProcesses().length === 0 && sandbox.leftInTemp().length === 0,
	);
}

describe("a pi in the middle of a turn", () => {
	it("leaves nothing running after SIGTERM, which it may handle", async () => {
		const { pi, guardian, agy } = await hangingPi();
		pi.kill("SIGTERM");
		expect((await pi.finished()).code).toBe(143);
		await nothingIsLeft(guardian, agy);
	});

	it.each(["SIGINT", "SIGKILL"] as const)("leaves nothing running after %s, which it cannot handle", async (signal) => {
		const { pi, guardian, agy } = await hangingPi();
		pi.kill(signal);
		await pi.finished();
		await nothingIsLeft(guardian, agy);
	});

	it("is cleaned up after by the next pi when its guardian was killed with it", async () => {
		const { pi, guardian, agy } = await hangingPi();
		killQuietly(guardian);
		pi.kill("SIGKILL");
		await pi.finished();
		await until("the end of the guardian", () => !isRunning(guardian));
		expect(isRunning(agy)).toBe(true);
		expect(sandbox.leftInTemp()).toHaveLength(1);

		const next = await printPi(sandbox, ["hello"]);
		expect(next.stdout.trimEnd()).toBe("hello");
		expect(next.stderr).toBe("");
		await nothingIsLeft(agy);
		expect(JSON.parse(sandbox.read("agent/pi-agy/processes.json")).processes).toEqual([]);
	});
});
