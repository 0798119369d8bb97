/** Every way in which a turn of agy may end, from a real process to the message in pi's session. */
import { describe, expect, it } from "vitest";
import { until, within } from "../support/condition.ts";
import { isRunning } from "../support/process-table.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage, type StageOptions } from "../support/sdk-stage.ts";
import { answer, cards, retries, streamedText, textOf } from "../support/transcript.ts";

const HALF = { kind: "text", text: "The first half is", finish: "none" };
const TOOL = { kind: "tool", name: "run_command", permission: "allowed", end: "open" };
const MANY_TOOLS = Array.from({ length: 30 }, () => ({ ...TOOL, end: "done" }));
const ECHO = { steps: [{ kind: "text", text: "{{prompt}}", deltaChars: 0 }] };

const stage = new SdkStage();

type Ending = {
	readonly name: string;
	readonly options: StageOptions;
	/** Default: none. */
	readonly text?: string;
	/** All of these stand in the message. */
	readonly says: readonly RegExp[];
	readonly neverSays?: RegExp;
	/** agy leaves before it reads anything. */
	readonly isUnread?: true;
};

const ENDINGS: readonly Ending[] = [
	{
		name: "the status CANCELED",
		options: { scenario: "status-canceled" },
		text: "Done.\n",
		says: [/cancelled the turn by itself/, /answer above is incomplete/],
	},
	{
		name: "the status FAILURE",
		options: { scenario: "status-failure" },
		text: "Done.\n",
		says: [/ended the turn with FAILURE/],
	},
	{
		name: "a status nobody knows",
		options: { scenario: "status-unknown" },
		text: "Done.\n",
		says: [/ended the turn with BEWILDERED/],
	},
	{
		name: "agy's own time limit, with success and half an answer",
		options: { scenario: "print-timeout", env: { AGY_EXTRA_ARGS: "--print-timeout 1s" } },
		text: "The first half is",
		says: [/agy stopped at its own time limit; the answer is incomplete/],
	},
	{
		name: "a denied tool, with success and no answer",
		options: { scenario: "denied", env: { AGY_SKIP_PERMISSIONS: "off" } },
		says: [/not allowed to use/, /AGY_SKIP_PERMISSIONS=on/],
	},
	{
		name: "a denied tool that it reports as done, and the status CANCELED",
		options: { scenario: "denied-canceled", env: { AGY_SKIP_PERMISSIONS: "off" } },
		says: [/not allowed to use/, /AGY_SKIP_PERMISSIONS=on/],
	},
	{
		name: "a denied tool that it reports as done and does not list",
		options: {
			scenario: {
				behaviour: { deniedTool: "DONE", listsDeniedActions: false },
				turns: [{ steps: [{ kind: "think" }, { kind: "tool", name: "run_command", end: "denied" }] }],
			},
			env: { AGY_SKIP_PERMISSIONS: "off" },
		},
		says: [/not allowed to use/, /AGY_SKIP_PERMISSIONS=on/],
	},
	{
		name: "a missing sign-in at its start",
		options: { scenario: "login-required" },
		says: [/not signed in\. Run `agy` in a terminal/],
		isUnread: true,
	},
	{
		name: "a missing sign-in at the first prompt",
		options: { scenario: "init-signed-out" },
		says: [/not signed in\. Run `agy` in a terminal/],
	},
	{
		name: "the sign-in text of old versions",
		options: { scenario: "login-text" },
		says: [/not signed in\. Run `agy` in a terminal/],
		isUnread: true,
	},
	{
		name: "a crash behind the harmless notice of a silent sign-in refresh",
		options: {
			scenario: {
				turns: [
					{
						steps: [
							{ kind: "stderr", line: "You are not logged into Antigravity." },
							{ kind: "crash", exitCode: 1 },
						],
					},
				],
			},
		},
		says: [/exited with code 1/],
		neverSays: /not signed in/,
	},
	{ name: "no quota", options: { scenario: "quota" }, says: [/quota is used up; it resets in 2h18m58s/] },
	{
		name: "no quota until its own time limit",
		options: { scenario: "quota-until-timeout", env: { AGY_EXTRA_ARGS: "--print-timeout 1s" } },
		says: [/quota is used up; it resets in 2h18m58s/],
	},
	{
		name: "no quota, and silence behind it",
		options: {
			scenario: {
				turns: [
					{
						steps: [
							{
								kind: "stderr",
								line: 'AGY_ERROR: {"short_error":"RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h18m58s."}',
							},
							{ kind: "hang" },
						],
					},
				],
			},
			env: { AGY_INACTIVITY_TIMEOUT_MIN: "0.02" },
		},
		says: [/said nothing for 1 seconds/, /quota is used up; it resets in 2h18m58s/, /AGY_INACTIVITY_TIMEOUT_MIN/],
	},
	{
		name: "exit 0 without a result",
		options: { scenario: "no-result" },
		text: "This answer will not",
		says: [/exited with code 0 in the middle of the turn/, /answer above is incomplete/],
	},
	{
		name: "exit 1 without a word",
		options: { scenario: "crash-silent" },
		says: [/exited with code 1 without an answer/],
	},
	{
		name: "a closed stdin",
		options: { scenario: "stdin-closed" },
		says: [/exited with code|ended by SIG/],
		isUnread: true,
	},
	{
		name: "a stdin that is never read",
		options: { scenario: "stdin-ignored", env: { AGY_INACTIVITY_TIMEOUT_MIN: "0.02" } },
		says: [/said nothing for 1 seconds/, /AGY_INACTIVITY_TIMEOUT_MIN/],
		isUnread: true,
	},
	{
		name: "never a word",
		options: { scenario: "never-init", version: "1.1.30", env: { AGY_INACTIVITY_TIMEOUT_MIN: "0.05" } },
		says: [/said nothing for 3 seconds/, /AGY_INACTIVITY_TIMEOUT_MIN/],
	},
];

describe("a turn that ends with", () => {
	it.each(ENDINGS)("$name says so, keeps its text, and is not sent again", async (ending) => {
		const session = await stage.open(ending.options);
		const turn = await session.turn("go");
		expect(answer(turn).stopReason).toBe("error");
		for (const words of ending.says) expect(answer(turn).errorMessage).toMatch(words);
		if (ending.neverSays) expect(answer(turn).errorMessage).not.toMatch(ending.neverSays);
		expect(textOf(answer(turn))).toBe(ending.text ?? "");
		expect(session.prompts()).toEqual(ending.isUnread ? [] : ["go"]);
		expect(session.runs()).toHaveLength(1);
		expect(retries(turn)).toBe(0);
	});
});

describe("a crash after a tool ran", () => {
	it("shows the tool, and the next prompt resumes the conversation without the old one", async () => {
		const session = await stage.open({ scenario: "crash-after-tool" });
		const turn = await session.turn("go");
		expect(cards(turn)).toMatchObject([{ output: "installed\r\n" }]);
		expect(answer(turn).errorMessage).toMatch(/exited with code 1 in the middle of the turn/);
		expect(await session.ask("and now")).toBe("Back again.\n");
		const [crashed, resumed] = session.runs();
		expect(crashed?.prompts).toEqual(["go"]);
		expect(resumed?.prompts).toEqual(["and now"]);
		expect(resumed?.argv).toContain("--conversation");
	});
});

describe("a crash that leaves a daemon behind, which holds agy's output open", () => {
	it("ends the turn soon all the same, with its text", async () => {
		const session = await stage.open({ scenario: "grandchild-crash" });
		const turn = await within("the end of the turn", session.turn("go"), 20_000).finally(() =>
			stage.sandbox.openGate("release"),
		);
		expect(answer(turn).errorMessage).toMatch(/exited with code 1 in the middle of the turn/);
		expect(textOf(answer(turn))).toBe("This answer will not");
	});
});

describe("a process that served before and leaves without a word", () => {
	it("costs nothing: the prompt is sent once more, to another process on the same conversation", async () => {
		const leaves = { userInput: false, steps: [{ kind: "crash", exitCode: 1 }] };
		const session = await stage.open({ scenario: { turns: [ECHO, leaves, ECHO] } });
		const first = answer(await session.turn("one"));
		expect(await session.ask("two")).toBe("two");
		expect(session.runs().map((run) => run.prompts)).toEqual([["one", "two"], ["two"]]);
		expect(session.runs()[1]?.argv.join(" ")).toContain(`--conversation ${first.responseId}`);
	});
});

describe("thirty tools without an answer", () => {
	it.each([
		{ name: "the status CANCELED", result: { status: "CANCELED" }, says: /cancelled the turn by itself/ },
		{ name: "success", result: {}, says: /ended the turn without an answer.*run_command \(30\)/ },
	])("and $name are an error, are all shown, and are not sent again", async ({ result, says }) => {
		const session = await stage.open({ scenario: { turns: [{ steps: MANY_TOOLS, result }] } });
		const turn = await session.turn("go");
		expect(answer(turn)).toMatchObject({ stopReason: "error", errorMessage: expect.stringMatching(says) });
		expect(cards(turn)).toHaveLength(30);
		expect(session.prompts()).toEqual(["go"]);
	});
});

describe("a prompt that agy drops because it is too long", () => {
	it("is tried once more in a fresh conversation, with the history, then it is an error", async () => {
		const session = await stage.open({ scenario: { behaviour: { promptLimitBytes: 2_000 }, turns: [ECHO] } });
		expect(await session.ask("one")).toBe("one");
		const long = "a".repeat(3_000);
		expect(await session.ask(long)).toMatch(/^error: .*without having done anything/);
		const again = expect.stringMatching(/\n\na{3000}$/);
		expect(session.runs().map((run) => run.prompts)).toEqual([["one", long], [again]]);
		const [, fresh] = session.runs();
		expect(fresh?.argv).not.toContain("--conversation");
		expect(stage.sandbox.filesOf(fresh?.prompts[0])).toEqual([expect.stringContaining("one")]);

		// What was dropped stands in a file now: beside the next prompt it would be dropped again.
		const said = await session.ask("short");
		expect(said).toMatch(/\n\nshort$/);
		expect(session.runs()).toHaveLength(3);
		expect(stage.sandbox.filesOf(said)).toEqual([expect.stringMatching(/one[\s\S]*a{3000}/)]);
	});
});

describe("a sign-in", () => {
	it("that is only refreshed in silence is no error", async () => {
		const session = await stage.open({ scenario: "login-notice" });
		expect(await session.ask("go")).toBe("Done.\n");
	});

	it("that is waited for in vain is named", async () => {
		const session = await stage.open({ scenario: "login-timeout" });
		const asked = session.ask("go");
		await stage.sandbox.reached("starting");
		stage.sandbox.openGate("start");
		expect(await asked).toMatch(/^error: .*not signed in/);
		expect(session.prompts()).toEqual([]);
	});
});

describe("success without an answer, usage or model call", () => {
	it("is tried once more in a fresh conversation, then it is an error", async () => {
		const session = await stage.open({ scenario: "empty-success" });
		expect(await session.ask("go")).toMatch(
			/^error: .*without having done anything.*the next prompt starts a fresh one/,
		);
		expect(session.runs()).toMatchObject([{ prompts: ["go"] }, { prompts: ["go"] }]);
		for (const { argv } of session.runs()) expect(argv).not.toContain("--conversation");
	});

	it("gives the fresh conversation the session's history", async () => {
		const answered = { steps: [{ kind: "text", text: "Here.", deltaChars: 0 }] };
		const session = await stage.open({ scenario: { turns: [answered, { steps: [], result: { usage: "zero" } }] } });
		expect(await session.ask("first words")).toBe("Here.");
		const turn = await session.turn("second words");
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(textOf(answer(turn))).toBe("Here.");
		const [old, fresh] = session.runs();
		expect(old?.prompts).toEqual(["first words", "second words"]);
		expect(fresh?.argv).not.toContain("--conversation");
		expect(fresh?.prompts).toEqual([expect.stringMatching(/second words$/)]);
		expect(stage.sandbox.filesOf(fresh?.prompts[0])).toEqual([expect.stringMatching(/first words[\s\S]*Here\./)]);
	});
});

describe("an answer that agy wrote down and does not print", () => {
	it("arrives while a tool it started is still running", async () => {
		const session = await stage.open({
			scenario: {
				turns: [{ steps: [TOOL, { kind: "transcript", text: "The server is up.\n" }, { kind: "hang" }] }, ECHO],
			},
		});
		const turn = await session.turn("start the server");
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(textOf(answer(turn))).toBe("The server is up.\n");
		expect(cards(turn)).toMatchObject([{ details: { state: "background" } }]);
		expect(await session.ask("next")).toBe("next");
		expect(session.runs()).toHaveLength(2);
		expect(session.prompts()).toEqual(["start the server", "next"]);
	});

	it("arrives behind a success without one, and the process takes the next prompt", async () => {
		const session = await stage.open({ scenario: "transcript-only" });
		const turn = await session.turn("go");
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(textOf(answer(turn))).toBe("Written down, never said.\n");
		expect(session.runs()).toHaveLength(1);
	});

	it("arrives when nothing else comes for a while", async () => {
		const session = await stage.open({ scenario: "parked" });
		const turn = await session.turn("go");
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(textOf(answer(turn))).toBe("The parked answer.\n");
	});
});

describe("a turn that is stopped", () => {
	/** Begins a turn and stops it once agy is where `marker` says. */
	async function stopAt(session: SdkSession, marker: string): Promise<ReturnType<typeof answer>> {
		const turn = session.turn("go");
		await stage.sandbox.reached(marker);
		await session.session.abort();
		return answer(await turn);
	}

	it("while agy still starts, has told it nothing; the next prompt brings both", async () => {
		const session = await stage.open({
			scenario: { start: { marker: "slowly-starting", waitForGate: "slow-start" }, turns: [ECHO] },
		});
		expect(await stopAt(session, "slowly-starting")).toMatchObject({ stopReason: "aborted", content: [] });
		expect(session.runs()).toMatchObject([{ prompts: [] }]);
		stage.sandbox.openGate("slow-start");
		expect(await session.ask("once more")).toBe("go\n\nonce more");
		expect(session.prompts()).toEqual(["go\n\nonce more"]);
	});

	it("ends an agy that ignores every polite signal", async () => {
		const hang = { kind: "hang", ignoreSignals: ["SIGINT", "SIGTERM", "SIGHUP"], marker: "deaf" };
		const session = await stage.open({ scenario: { turns: [{ steps: [HALF, hang] }, ECHO] } });
		const turn = session.turn("go");
		await stage.sandbox.reached("deaf");
		// Stopped before pi has heard of it, the prompt would count as unread and start the script anew.
		await until("the half", () => streamedText(session.records) === "The first half is");
		await session.session.abort();
		expect(answer(await turn)).toMatchObject({ stopReason: "aborted" });
		const [deaf] = session.runs();
		expect(await session.ask("next")).toBe("next");
		expect(isRunning(deaf?.pid as number)).toBe(false);
	});

	it("ends what agy started in a group of its own", async () => {
		const grandchild = { kind: "grandchild", gate: "never", ignoreSignals: ["SIGTERM", "SIGINT", "SIGHUP"] };
		const session = await stage.open({
			scenario: { turns: [{ steps: [grandchild, { kind: "hang", marker: "with-grandchild" }] }] },
		});
		await stopAt(session, "with-grandchild");
		const [run] = session.runs();
		const [started] = stage.sandbox.journal("grandchild").filter(({ pid }) => pid === run?.pid);
		const childPid = Number(started?.childPid);
		expect(childPid).toBeGreaterThan(0);
		await until("both are gone", () => !isRunning(childPid) && !isRunning(run?.pid as number));
	});

	it("keeps what was streamed", async () => {
		const session = await stage.open({
			scenario: { turns: [{ steps: [HALF, { kind: "hang", marker: "half-said" }] }] },
		});
		const turn = session.turn("go");
		await stage.sandbox.reached("half-said");
		await until("the half", () => streamedText(session.records) === "The first half is");
		await session.session.abort();
		expect(textOf(answer(await turn))).toBe("The first half is");
	});
});
