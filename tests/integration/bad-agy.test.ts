/**
 * Everything that can be wrong with agy: each ends in one message that says what to do and exit code 1, the prompt is
 * sent at most once, nothing is left running. Side by side, because most of it is waiting.
 */
import { describe, expect, it } from "vitest";
import { printPi } from "../support/pi-process.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { Sandbox, type ScenarioData } from "../support/sandbox.ts";
import { SdkStage } from "../support/sdk-stage.ts";
import { answer, retries, textOf } from "../support/transcript.ts";

type BadAgy = {
	readonly name: string;
	readonly scenario?: string | ScenarioData;
	/** A script in place of the simulator. */
	readonly script?: string;
	readonly mode?: number;
	readonly version?: string;
	readonly env?: (sandbox: Sandbox) => Readonly<Record<string, string>>;
	/** Models pi believes in. */
	readonly models?: readonly string[];
	readonly model?: string;
	/** All of these stand in the message. */
	readonly says: readonly (string | RegExp)[];
	/** Asked through `pi -p`, where it also decides the exit code; the others through pi's SDK. */
	readonly inPrint?: true;
	/** It fails before it is given anything to do. */
	readonly isNotStarted?: true;
	/** Default: 1. The prompt is sent once more only where provably nothing was done. */
	readonly attempts?: 2;
};

const NOTHING_ON_PATH = (sandbox: Sandbox) => ({ AGY_BIN: "", PATH: sandbox.workspace });

const BAD_AGYS: readonly BadAgy[] = [
	{
		name: "is not installed",
		inPrint: true,
		env: NOTHING_ON_PATH,
		says: ["agy was not found: no `agy` on PATH", "Install Google's Antigravity CLI", "set AGY_BIN"],
		isNotStarted: true,
	},
	{
		name: "is not where AGY_BIN says",
		env: () => ({ AGY_BIN: "/nowhere/agy" }),
		says: ["AGY_BIN is /nowhere/agy, which does not exist", "Install"],
		isNotStarted: true,
	},
	{
		name: "may not be executed",
		script: "#!/bin/sh\n",
		mode: 0o600,
		says: ["which is not executable", "AGY_BIN"],
		isNotStarted: true,
	},
	{
		name: "exits at once with a reason",
		scenario: "exits-at-once",
		says: ["exited with code 1", "panic: no home"],
	},
	{ name: "exits at once without a word", scenario: "exits-silently", says: ["exited with code 1"] },
	{ name: "prints a web page", scenario: "html", says: ["not its protocol", "<!DOCTYPE html>", "AGY_BIN"] },
	{
		name: "never answers",
		scenario: "never-init",
		env: () => ({ AGY_INACTIVITY_TIMEOUT_MIN: "0.05" }),
		says: ["said nothing for 3 seconds", "AGY_INACTIVITY_TIMEOUT_MIN"],
	},
	{
		name: "hangs when asked for its version",
		script: "#!/bin/sh\nwhile :; do sleep 1; done\n",
		says: ["asked for its version", "no answer within 10 s", "--version"],
		isNotStarted: true,
	},
	{
		name: "is another program",
		script: "#!/bin/sh\necho usage: something else\n",
		says: ['does not look like agy: asked for its version, it printed "usage: something else"', "AGY_BIN"],
		isNotStarted: true,
	},
	{
		name: "is too old",
		version: "1.1.10",
		says: ["agy 1.1.10 is too old", "needs 1.1.15 or newer", "agy update"],
		isNotStarted: true,
	},
	{
		name: "does not take the arguments it is started with",
		env: () => ({ AGY_EXTRA_ARGS: "--bogus" }),
		says: ["does not take the arguments", "AGY_EXTRA_ARGS", "flags provided but not defined: -bogus"],
	},
	{
		name: "might be given more than its user allows, for a setting is misspelt,",
		env: () => ({ AGY_SKIP_PERMISSIONS: "of" }),
		says: ['AGY_SKIP_PERMISSIONS is "of", which is not understood', "on, off", "No turn is run"],
		isNotStarted: true,
	},
	{
		name: "might be given more than its user allows, for config.json is damaged,",
		inPrint: true,
		env: (sandbox) => {
			sandbox.write("agent/pi-agy/config.json", '{ "skipPermissions": false, }');
			return {};
		},
		says: ["config.json cannot be used", "No turn is run"],
		isNotStarted: true,
	},
	{ name: "is not signed in", scenario: "login-required", says: ["not signed in", "Run `agy` in a terminal"] },
	{ name: "has no quota left", scenario: "quota", says: ["quota is used up", "resets in 2h18m58s", "another quota"] },
	{
		name: "does not know the model",
		inPrint: true,
		models: ["gemini-9-imagined"],
		model: "antigravity/gemini-9-imagined",
		says: ["does not accept this model", "/model"],
	},
	{
		name: "crashes within the answer",
		inPrint: true,
		scenario: "crash",
		says: ["exited with code 1 in the middle of the turn", "answer above is incomplete", "resumes", "panic: simulated"],
	},
	{
		name: "reports success without an answer",
		scenario: "empty-success",
		says: ["without having done anything", "25 KB"],
		attempts: 2,
	},
];

const stage = new SdkStage();

/** The settings of a bad agy, in its sandbox. */
function settingsOf(bad: BadAgy, sandbox: Sandbox): Readonly<Record<string, string>> {
	const script =
		bad.script === undefined ? {} : { AGY_BIN: sandbox.write(`bin/${bad.name}`, bad.script, bad.mode ?? 0o700) };
	return { ...script, ...bad.env?.(sandbox) };
}

describe("an agy that", () => {
	it.concurrent.each(BAD_AGYS.filter((bad) => bad.inPrint))("$name", async (bad) => {
		const sandbox = new Sandbox({ ...(bad.scenario !== undefined && { scenario: bad.scenario }) });
		try {
			Object.assign(sandbox.env, settingsOf(bad, sandbox));
			sandbox.seedModels(bad.models);
			const pi = await printPi(sandbox, ["please answer"], { ...(bad.model !== undefined && { model: bad.model }) });
			expect(pi.exit).toEqual({ code: 1, signal: null });
			for (const words of bad.says) expect(pi.stderr).toMatch(words);
			const attempts = bad.attempts ?? 1;
			expect(sandbox.runs()).toHaveLength(bad.isNotStarted ? 0 : attempts);
			expect(sandbox.prompts().length).toBeLessThanOrEqual(attempts);
		} finally {
			await sandbox.close();
		}
	});

	it.each(BAD_AGYS.filter((bad) => !bad.inPrint))("$name", async (bad) => {
		const { scenario, version } = bad;
		const session = await stage.open({
			...(scenario !== undefined && { scenario }),
			...(version !== undefined && { version }),
			env: settingsOf(bad, stage.sandbox),
		});
		const turn = await session.turn("please answer");
		expect(answer(turn).stopReason).toBe("error");
		for (const words of bad.says) expect(answer(turn).errorMessage).toMatch(words);
		const attempts = bad.attempts ?? 1;
		expect(session.runs()).toHaveLength(bad.isNotStarted ? 0 : attempts);
		expect(session.prompts().length).toBeLessThanOrEqual(attempts);
	});
});

describe("an agy of 1.1.20 that", () => {
	const half = { kind: "text", text: "Half an answer", finish: "none" };
	const failures = [
		{ match: "^crash", steps: [half, { kind: "crash", exitCode: 7, stderr: "panic: simulated" }] },
		{ match: "^segfault", steps: [half, { kind: "crash", signal: "SIGSEGV" }] },
		{ match: "^overload", steps: [{ kind: "api-failure", attempts: 3, error: "UNAVAILABLE (code 503): No capacity" }] },
		{ match: "^break", steps: [{ kind: "api-failure", error: "Error 500, An internal error has occurred." }] },
		{ match: "^sign in", steps: [], result: { status: "ERROR", error: "authentication failed or timed out" } },
		{ steps: [{ kind: "text", text: "{{prompt}}" }] },
	];

	it("works is warned about once; its failures keep the text, name the remedy and are not tried again", async () => {
		const sandbox = new Sandbox({ scenario: { turns: failures }, env: { AGY_SIM_VERSION: "1.1.20" } });
		try {
			sandbox.seedModels();
			const pi = new RpcClient(sandbox);
			for (const prompt of ["one", "two"]) expect(textOf(answer(await pi.prompt(prompt)))).toBe(prompt);
			const warning = expect.stringMatching(/agy 1\.1\.20 has known defects.*agy update/);
			expect(pi.notices()).toEqual([warning]);

			for (const [prompt, text, words] of [
				["crash", "Half an answer", /exited with code 7 in the middle.*incomplete.*resumes[\s\S]*panic: simulated/],
				["segfault", "Half an answer", /ended by SIGSEGV in the middle.*incomplete.*resumes/],
				["overload", "", /no free capacity.*another model/],
				["break", "", /Google's service failed.*Send the prompt again/],
				["sign in", "", /not signed in. Run `agy`/],
			] as const) {
				const turn = await pi.prompt(prompt);
				expect(textOf(answer(turn))).toBe(text);
				expect(answer(turn)).toMatchObject({ stopReason: "error", errorMessage: expect.stringMatching(words) });
				expect(retries(turn)).toBe(0);
				expect(sandbox.prompts().filter((sent) => sent === prompt)).toHaveLength(1);
			}
			expect(textOf(answer(await pi.prompt("after all that")))).toBe("after all that");
			expect(pi.notices()).toEqual([warning]);
			await pi.close();
			expect(pi.pi.stderr).toBe("");
		} finally {
			await sandbox.close();
		}
	});
});
