/** Ways a turn can end: statuses, denials, API failures, time-outs, and results that say less than they should. */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Scenario } from "../scenario/scenario.ts";
import type { Step, StepOf } from "../scenario/step.ts";

const ANSWER: Step = { kind: "text", text: "Done.\n", deltaChars: 0 };
const HALF: Step = { kind: "text", text: "The first half is", finish: "none" };
const QUOTA: StepOf<"api-failure"> = {
	kind: "api-failure",
	attempts: 5,
	error:
		"API error (attempt 5): RESOURCE_EXHAUSTED (code 429): Individual quota reached. " +
		"Please upgrade your subscription to increase your limits. Resets in 2h18m58s.",
	shortError: "RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h18m58s.",
};
const OVERLOADED: StepOf<"api-failure"> = {
	kind: "api-failure",
	attempts: 3,
	errorFields: { status: "UNAVAILABLE", code: 503, retryable: true, error_id: "simulated" },
	error: "API error (attempt 3): UNAVAILABLE (code 503): No capacity available for model {{model}}",
};
const SERVER_ERROR: StepOf<"api-failure"> = {
	kind: "api-failure",
	error:
		"agent executor error: generating and executing: Error 500, Message: An internal error has occurred., " +
		"Status: INTERNAL, Details: []",
};
const DENIED: Step = {
	kind: "tool",
	name: "run_command",
	parameters: { CommandLine: "echo probe" },
	end: "denied",
	durationSeconds: 0.019,
};

function withStatus(about: string, status: string): Scenario {
	return { about, turns: [{ steps: [ANSWER], result: { status } }] };
}

export const VERDICTS: ScenarioFamily = {
	"status-ok": withStatus("status OK, as in old material", "OK"),
	"status-canceled": withStatus("status CANCELED", "CANCELED"),
	"status-failure": withStatus("status FAILURE, never documented", "FAILURE"),
	"status-unknown": withStatus("a status nobody knows", "BEWILDERED"),
	"error-object": {
		about: "the error is an object, as some parsers expect",
		turns: [{ steps: [], result: { status: "ERROR", extra: { error: { type: "X", message: "object failure" } } } }],
	},
	"empty-success": {
		about: "SUCCESS without text, usage or model step: the model stream was dropped",
		turns: [{ steps: [], result: { usage: "zero" } }],
	},
	"silent-model": { about: "SUCCESS without text, but a model call was made", turns: [{ steps: [{ kind: "think" }] }] },
	"turn-usage": {
		about: "the result's usage is this turn's instead of the conversation's",
		turns: [{ steps: [ANSWER], result: { usage: "turn" } }],
	},
	"near-context-limit": {
		about: "usage close to a context window of a million tokens",
		turns: [{ steps: [{ kind: "text", text: "Long.\n", usage: { inputTokens: 190_000, cacheReadTokens: 800_000 } }] }],
	},
	denied: {
		about: "a denied command ends the turn: empty SUCCESS, denied_actions, note on stderr",
		turns: [{ steps: [{ kind: "think" }, DENIED] }],
	},
	"denied-done": {
		about: "the denied command shows as DONE without an error (1.1.22, 1.2.9)",
		behaviour: { deniedTool: "DONE" },
		turns: [{ steps: [{ kind: "think" }, DENIED] }],
	},
	"denied-canceled": {
		about: "a denied command ends the turn as CANCELED",
		behaviour: { deniedTool: "DONE", deniedRunStatus: "CANCELED", listsDeniedActions: false },
		turns: [{ steps: [{ kind: "think" }, DENIED] }],
	},
	"denied-goes-on": {
		about: "the agent answers after a denial",
		turns: [
			{
				steps: [
					{ ...DENIED, afterDenial: "go-on" },
					{ kind: "text", text: "I was not allowed to.\n" },
				],
			},
		],
	},
	quota: { about: "quota: five attempts, ERROR, AGY_ERROR on stderr, exit 3", turns: [{ steps: [QUOTA] }] },
	"quota-goes-on": {
		about: "quota, and the process lives on for the next turn",
		turns: [{ steps: [{ ...QUOTA, exits: false }] }, { steps: [ANSWER] }],
	},
	"quota-until-timeout": {
		about: "quota retried until --print-timeout, then ERROR and exit 0",
		turns: [{ steps: [{ ...QUOTA, attempts: 7, retriesUntilTimeout: true }] }],
	},
	overloaded: { about: "503 after three attempts", turns: [{ steps: [OVERLOADED] }] },
	"server-error": { about: "500 at the first attempt", turns: [{ steps: [SERVER_ERROR] }] },
	"partial-then-error": {
		about: "half an answer, then 503: ERROR with text (exit 3 since 1.2.10)",
		turns: [{ steps: [HALF, OVERLOADED] }],
	},
	"print-timeout": {
		about: "half an answer (marker `half`), then silence until --print-timeout: partial SUCCESS",
		turns: [{ steps: [HALF, { kind: "hang", marker: "half" }] }],
	},
	"print-timeout-old": {
		about: "the same before 1.1.28: ERROR timeout",
		version: "1.1.27",
		turns: [{ steps: [HALF, { kind: "hang", marker: "half" }] }],
	},
	structured: {
		about: "JSON as answer, for --json-schema",
		turns: [{ steps: [{ kind: "text", text: '{"ok":true}' }], result: { structuredOutput: { ok: true } } }],
	},
	parked: {
		about: "the answer is in the transcript, no result ever comes (marker `parked`)",
		turns: [
			{
				steps: [
					{ kind: "think" },
					{ kind: "transcript", text: "The parked answer.\n" },
					{ kind: "touch", marker: "parked" },
					{ kind: "hang" },
				],
			},
		],
	},
};
