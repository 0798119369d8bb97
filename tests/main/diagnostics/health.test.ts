import { describe, expect, test } from "vitest";
import { type Findings, problemsOf } from "../../../src/main/diagnostics/health.ts";
import type { Mark } from "../../../src/main/diagnostics/lifecycle.ts";

const NOW = 1_800_000_000_000;
const FINE: Findings = {
	config: { problems: [], refusal: null },
	agyProblem: null,
	agyWarning: null,
	dataDirProblem: null,
	voiceProblems: [],
	lanes: [],
	kinds: { decode: { started: 1, crashes: 0, down: null } },
	quota: null,
	events: [],
	nowMs: NOW,
};
const bucket = (remaining: number, resetsAtMs: number | null) => ({ id: "g-5h", window: "5h", remaining, resetsAtMs });
const quota = (remaining: number, resetsAtMs: number | null) => ({
	groups: [{ name: "Gemini", buckets: [bucket(remaining, resetsAtMs)] }],
	fetchedAtMs: NOW,
});
const events = (...marks: readonly Mark[]) => marks.map((mark) => ({ timeMs: NOW - 120_000, mark }));

describe("what is wrong", () => {
	test.each<readonly [string, Partial<Findings>, string]>([
		["agy is missing", { agyProblem: "agy was not found. Install it." }, "agy was not found. Install it."],
		["agy is old", { agyWarning: "agy 1.1.16 has known defects." }, "agy 1.1.16 has known defects."],
		["a setting", { config: { problems: ["AGY_X is y."], refusal: null } }, "AGY_X is y."],
		[
			"the data folder",
			{ dataDirProblem: "/d cannot be written (EACCES)." },
			"/d cannot be written (EACCES). Make the folder writable.",
		],
		[
			"voice",
			{ voiceProblems: ["voiceFfmpeg is /x, which does not exist."] },
			"voiceFfmpeg is /x, which does not exist.",
		],
		[
			"a lane that is silent",
			{ lanes: [{ kind: "decode", number: 2, links: 1, stats: null }] },
			"The decode lane 2 does not answer. Wait for its turns or stop them; /reload starts new worker threads.",
		],
		[
			"lanes that stay down",
			{ kinds: { decode: { started: 3, crashes: 3, down: "The worker threads stay down. Run /reload." } } },
			"The worker threads stay down. Run /reload.",
		],
		[
			"a used up quota",
			{ quota: quota(0, NOW + 8_340_000) },
			"The quota of Gemini (5h) is used up. It resets in 2 h 19 min, or choose a model of another quota.",
		],
		[
			"one without a reset",
			{ quota: quota(0, null) },
			"The quota of Gemini (5h) is used up. Wait, or choose a model of another quota.",
		],
		[
			"the last turn",
			{
				events: events(
					{ event: "turn-end", kind: "complete" },
					{ event: "turn-error", kind: "auth" },
					{ event: "exit" },
				),
			},
			"The last turn failed 2 min ago: auth. Its message in the session says what to do.",
		],
		[
			"a turn that could not begin",
			{ events: events({ event: "turn-error", code: "agy-not-found" }) },
			"The last turn failed 2 min ago: agy-not-found. Its message in the session says what to do.",
		],
	])("is told with its remedy: %s", (_name, findings, expected) => {
		expect(problemsOf({ ...FINE, ...findings }).map(({ what, remedy }) => `${what} ${remedy}`.trim())).toStrictEqual([
			expected,
		]);
	});

	test.each<readonly [string, Partial<Findings>]>([
		["nothing was found", {}],
		["the quota has been reset since", { quota: quota(0, NOW - 1) }],
		["there is quota left", { quota: quota(0.001, NOW + 1) }],
		["a turn after the failed one went well", { events: events({ event: "timeout" }, { event: "turn-end" }) }],
		["the user stopped the last turn", { events: events({ event: "turn-end" }, { event: "abort" }) }],
	])("is nothing when %s", (_name, findings) => {
		expect(problemsOf({ ...FINE, ...findings })).toStrictEqual([]);
	});

	test("stands in the order in which it has to be mended", () => {
		const refusal = "AGY_MODE is x. No turn is run until it is corrected.";
		const problems = problemsOf({
			...FINE,
			config: { problems: ["AGY_DEBUG is x.", refusal], refusal },
			agyProblem: "no agy",
			quota: quota(0, null),
			lanes: [{ kind: "poll", number: 1, links: 0, stats: null }],
		});
		expect(problems.map(({ what }) => what.slice(0, 12))).toStrictEqual([
			...["no agy", "AGY_MODE is ", "The poll lan", "The quota of", "AGY_DEBUG is"],
		]);
	});
});
