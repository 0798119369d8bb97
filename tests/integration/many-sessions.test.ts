/** Several pi sessions in one process, as a host of sub-agents runs them. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { guardiansOf, untilReaped } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";
import { enterSandbox, hubs, SdkSession } from "../support/sdk-session.ts";

const SESSIONS = 8;

let sandbox: Sandbox;
let leave: () => void;
let sessions: SdkSession[];

beforeEach(() => {
	sandbox = new Sandbox();
	sandbox.seedModels();
	leave = enterSandbox(sandbox);
	sessions = [];
});
afterEach(async () => {
	for (const session of sessions) await session.close();
	leave();
	await sandbox.close();
});

async function openSessions(count: number): Promise<void> {
	for (let number = 0; number < count; number++) sessions.push(await SdkSession.open(sandbox));
}

function threads(): number {
	return hubs().reduce((sum, hub) => sum + hub.lanes.threads.length, 0);
}

describe("eight sessions side by side", () => {
	it("share one hub and its lanes, keep their answers apart, and end one by one", async () => {
		await openSessions(SESSIONS);
		expect(hubs()).toHaveLength(0); // nothing is started before a turn
		const numbers = sessions.map((_session, number) => number);
		const ask = (round: string, order: readonly number[]) =>
			Promise.all(order.map((number) => sessions[number]?.ask(`${round} of session ${number}`)));
		expect(await ask("first", numbers)).toEqual(numbers.map((number) => `first of session ${number}`));
		const backwards = numbers.toReversed();
		expect(await ask("second", backwards)).toEqual(backwards.map((number) => `second of session ${number}`));
		expect(hubs()).toHaveLength(1);
		expect(threads()).toBe(1); // eight links fit on one lane
		expect(guardiansOf(process.pid)).toHaveLength(1);
		const told = sandbox.runs().map((run) => run.prompts.join(", "));
		expect(told.toSorted()).toEqual(numbers.map((number) => `first of session ${number}, second of session ${number}`));
		expect(sandbox.agyProcesses()).toHaveLength(SESSIONS);

		const [first, ...others] = sessions;
		await first?.close();
		sessions = others;
		await until("the process of the closed session is gone", () => sandbox.agyProcesses().length === SESSIONS - 1);
		expect(await Promise.all(others.map((session, number) => session.ask(`third ${number}`)))).toEqual(
			others.map((_session, number) => `third ${number}`),
		);
		expect(sandbox.runs()).toHaveLength(SESSIONS); // nobody had to start anew

		for (const session of others) await session.close();
		sessions = [];
		expect(hubs()).toEqual([]);
		expect(sandbox.agyProcesses()).toEqual([]);
		expect(guardiansOf(process.pid)).toEqual([]);
		await untilReaped(process.pid);
		expect(sandbox.leftInTemp()).toEqual([]);
	});
});

describe("a worker thread that crashes in the middle of a turn", () => {
	it("fails the turn with what happened and is replaced; the next prompt goes on in the same conversation", async () => {
		sandbox.env.AGY_SIM_SCENARIO = sandbox.scenarioSetting({
			turns: [
				{
					match: "^hang",
					steps: [
						{ kind: "text", text: "half" },
						{ kind: "hang", marker: "hanging" },
					],
				},
				{ steps: [{ kind: "text", text: "{{prompt}}" }] },
			],
		});
		Object.assign(process.env, sandbox.env);
		await openSessions(1);
		const session = sessions[0] as SdkSession;
		const turn = session.ask("hang");
		await sandbox.reached("hanging");
		await until("half an answer", () => session.streamed === "half");
		const [hub] = hubs();
		expect(hub?.lanes.threads.length).toBe(1);
		for (const thread of hub?.lanes.threads ?? []) await thread.terminate();
		expect(await turn).toMatch(/^error: The worker thread that reads agy's output crashed .*resumes the conversation/);
		expect(sandbox.prompts()).toEqual(["hang"]);

		expect(await session.ask("go on")).toBe("go on");
		const [crashed, resumed] = sandbox.runs();
		expect(resumed?.argv.join(" ")).toContain("--conversation c0ffee00-0000-4000-8000-000000000001");
		await until("only the new process is left", () => sandbox.agyProcesses().length === 1);
		expect(sandbox.agyProcesses()[0]?.pid).not.toBe(crashed?.pid);
		await untilReaped(process.pid);
		await session.close();
		sessions = [];
		expect(threads()).toBe(0);
	});
});
