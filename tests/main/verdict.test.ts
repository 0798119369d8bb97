/** Long because it is a table: every way a turn is known to end, one row each. */
import { type AssistantMessage, isContextOverflow, isRetryableAssistantError } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import { toErrorMessage } from "../../src/main/error-message.ts";
import { judge, type TurnEvidence, type Verdict, type VerdictKind } from "../../src/main/verdict.ts";
import { AgyError } from "../../src/shared/errors.ts";
import { turnEnd } from "../support/agy-events.ts";
import { bareEvidence, evidence } from "../support/turn-evidence.ts";

type Row = readonly [name: string, evidence: TurnEvidence, kind: VerdictKind, stop: Verdict["stop"]];

const JETSKI =
	'jetski: no output produced — a tool required the "command" permission that headless mode cannot prompt for, so it was auto-denied.\n';
const PRINT_TIMEOUT = "[agy] print timeout after 12s with turn in progress; returning partial output\n";
const DENIED = 'permission check failed for command "echo probe": user denied permission to run command:\necho probe';
const FETCH_FAILED = "Failed to fetch document content at http://127.0.0.1:1/";
const QUOTA = "RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h18m58s.";

function failed(error: string): TurnEvidence {
	return bareEvidence({ status: "ERROR", error });
}

function exited(more: Partial<TurnEvidence>): TurnEvidence {
	return evidence({ cause: "exited", result: null, exit: { code: 1, signal: null }, ...more });
}

const STATUSES: readonly Row[] = [
	["SUCCESS with text", evidence(), "complete", "stop"],
	["SUCCESS with text that was only streamed", evidence({ result: turnEnd() }), "complete", "stop"],
	[
		"SUCCESS with text that is only in the result",
		bareEvidence({ text: "Hi.\n" }, { sawText: true }),
		"complete",
		"stop",
	],
	["OK", evidence({ result: turnEnd({ status: "OK", text: "Hi." }) }), "complete", "stop"],
	["SUCCESS after work without a word", evidence({ result: turnEnd(), sawText: false }), "partial", "error"],
	["SUCCESS without anything: dropped", bareEvidence({}), "empty", "error"],
	["SUCCESS with only a line end: dropped", bareEvidence({ text: "\n" }), "empty", "error"],
	[
		"SUCCESS, empty, with denied actions",
		bareEvidence(
			{ deniedActions: [{ action: "command", displayName: "RunCommand" }] },
			{ sawOutput: true, stderr: JETSKI },
		),
		"denied",
		"error",
	],
	[
		"SUCCESS, empty, with a refusal that only stderr tells",
		bareEvidence({}, { sawOutput: true, stderr: JETSKI }),
		"denied",
		"error",
	],
	[
		"CANCELED, with a refusal that only stderr tells",
		bareEvidence({ status: "CANCELED" }, { sawOutput: true, stderr: JETSKI }),
		"denied",
		"error",
	],
	[
		"another process is on the conversation",
		failed('conversation "c1" is in use by another process (pid 7)'),
		"conversation-rejected",
		"error",
	],
	[
		"agy leaves because of the conversation",
		exited({ sawOutput: false, sawText: false, stderr: 'error: conversation "c1" not found\n' }),
		"conversation-rejected",
		"error",
	],
	[
		"a tool's words about a conversation",
		evidence({ result: turnEnd({ status: "ERROR", error: "conversation not found" }), sawText: false }),
		"failed",
		"error",
	],
	[
		"SUCCESS, empty, with denied tools only, as before 1.1.27",
		bareEvidence({}, { sawOutput: true, deniedTools: ["run_command"] }),
		"denied",
		"error",
	],
	[
		"SUCCESS with text in spite of a denied action",
		evidence({ result: turnEnd({ text: "I may not.", deniedActions: [{ action: "command", displayName: "" }] }) }),
		"complete",
		"stop",
	],
	["SUCCESS at the print timeout", evidence({ stderr: PRINT_TIMEOUT }), "partial", "error"],
	["SUCCESS at the print timeout without text", bareEvidence({}, { stderr: PRINT_TIMEOUT }), "partial", "error"],
	[
		"SUCCESS with a harmless sign-in line",
		evidence({ stderr: "You are not logged into Antigravity.\n" }),
		"complete",
		"stop",
	],
	["SUCCESS with a warning", evidence({ stderr: 'warning: conversation "x" not found\n' }), "complete", "stop"],
	["SUCCESS with exit 3", evidence({ exit: { code: 3, signal: null } }), "complete", "stop"],
	["CANCELED", evidence({ result: turnEnd({ status: "CANCELED" }) }), "cancelled", "error"],
	["CANCELLED", evidence({ result: turnEnd({ status: "CANCELLED" }) }), "cancelled", "error"],
	["INTERRUPTED", failedStatus("INTERRUPTED"), "failed", "error"],
	["INVALID", failedStatus("INVALID"), "failed", "error"],
	["WAITING", failedStatus("WAITING"), "failed", "error"],
	["RUNNING", failedStatus("RUNNING"), "failed", "error"],
	["a status nobody knows", failedStatus("HOLOGRAM"), "failed", "error"],
	["no status", failedStatus(""), "failed", "error"],
	["ERROR without a word", failedStatus("ERROR"), "failed", "error"],
	[
		"ERROR that copies a tool's error, with a full answer, as before 1.1.20",
		evidence({
			result: turnEnd({ status: "ERROR", text: "The page could not be fetched.\n", error: FETCH_FAILED }),
			toolErrors: ["other", FETCH_FAILED],
		}),
		"complete",
		"stop",
	],
	[
		"ERROR that copies a tool's error, without an answer",
		bareEvidence({ status: "ERROR", error: FETCH_FAILED }, { sawOutput: true, toolErrors: [FETCH_FAILED] }),
		"failed",
		"error",
	],
	[
		"ERROR without a word, with a full answer and a tool that failed without a word",
		evidence({ result: turnEnd({ status: "ERROR", text: "Hi." }), toolErrors: [""] }),
		"failed",
		"error",
	],
	[
		"ERROR after partial text",
		evidence({
			result: turnEnd({
				status: "ERROR",
				text: "The first half is",
				error: "API error (attempt 3): UNAVAILABLE (code 503)",
			}),
		}),
		"overloaded",
		"error",
	],
	[
		"ERROR whose words are only on stderr",
		bareEvidence({ status: "ERROR" }, { stderr: `AGY_ERROR: {"short_error":"${QUOTA}"}\n` }),
		"quota",
		"error",
	],
];

const ERRORS: readonly Row[] = (
	[
		[`API error (attempt 5): ${QUOTA}`, "quota"],
		["API error (attempt 7): Error 429, Message: x, Status: RESOURCE_EXHAUSTED, Details: []", "quota"],
		["You have exhausted your quota on this model.", "quota"],
		["Please check quota.", "quota"],
		["Your credits balance is too low", "quota"],
		["RESOURCE_EXHAUSTED, upstream UNAVAILABLE (code 503)", "quota"],
		[
			"API error (attempt 3): UNAVAILABLE (code 503): No capacity available for model gemini-3.8-flash-high",
			"overloaded",
		],
		["No capacity available for model x", "overloaded"],
		[
			"agent executor error: generating and executing: Error 500, Message: An internal error has occurred., Status: INTERNAL, Details: []",
			"server-error",
		],
		["authentication failed or timed out", "auth"],
		["authentication required", "auth"],
		["Print mode: not logged in and no controlling terminal; cannot complete interactive login", "auth"],
		["UNAUTHENTICATED (code 401)", "auth"],
		["Eligibility check failed: UNAVAILABLE (code 503): try later", "not-eligible"],
		["FAILED_PRECONDITION (code 400): User location is not supported for the API use.", "not-eligible"],
		[
			'invalid model selection (--model "nope-1" --effort ""): model nope-1 is not recognized\nAvailable models:\n  gemini-3.8-flash-low',
			"model-rejected",
		],
		["--model gemini-3.8-flash-high conflicts with --effort=low", "model-rejected"],
		['--effort is not supported for model "claude-sonnet-4-6"', "model-rejected"],
		["model gemini-3.8-flash requires --effort (available: low, high)", "model-rejected"],
		['stream input "user" message is missing the "message" field', "input-rejected"],
		['stream input content block type "image" is not supported (only "text")', "input-rejected"],
		["failed to decode stream input: invalid character 'h' looking for beginning of value", "input-rejected"],
		["timeout waiting for response", "partial"],
		[DENIED, "denied"],
		["user denied permission for read_url(https://example.com)", "denied"],
		["The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)", "context-overflow"],
		["model output error: invalid tool call error (invalid_args)", "failed"],
		["/srv/demo/a is not a valid artifact path", "failed"],
		["something new", "failed"],
	] as const
).map(([error, kind]) => [error.slice(0, 60), failed(error), kind, "error"] as const);

const ENDS: readonly Row[] = [
	["the user stopped it", evidence({ cause: "aborted", result: null }), "cancelled", "aborted"],
	["agy was interrupted", failed("interrupted"), "interrupted", "error"],
	[
		"an answer stands while a command still runs",
		evidence({ cause: "withheld-answer", result: null, leftToolsRunning: true }),
		"still-running",
		"stop",
	],
	[
		"a text about something interrupted is no interruption",
		failed("the download was interrupted by the server"),
		"failed",
		"error",
	],
	[
		"the lane was lost",
		evidence({
			cause: "lane-lost",
			result: null,
			laneError: new AgyError("worker-crashed", "The worker thread crashed."),
		}),
		"crashed",
		"error",
	],
	["the lane was lost without a reason", evidence({ cause: "lane-lost", result: null }), "crashed", "error"],
	["silence", evidence({ cause: "silent", result: null, timeoutMin: 5 }), "timed-out", "error"],
	["too long", evidence({ cause: "too-long", result: null, timeoutMin: 20 }), "timed-out", "error"],
	[
		"a hook of another extension failed",
		evidence({ cause: "hook-failed", result: null, hookError: "x is not a function" }),
		"hook-failed",
		"error",
	],
	["exit before anything", exited({ sawOutput: false, sawText: false }), "crashed", "error"],
	["exit 0 in the middle", exited({ exit: { code: 0, signal: null } }), "crashed", "error"],
	["killed", exited({ exit: { code: null, signal: "SIGKILL" } }), "crashed", "error"],
	["an end nobody saw", exited({ exit: null }), "crashed", "error"],
	[
		"exit 3 with an AGY_ERROR",
		exited({ exit: { code: 3, signal: null }, stderr: `AGY_ERROR: {"short_error":"${QUOTA}"}\n` }),
		"quota",
		"error",
	],
	["exit 1 with an error line", exited({ stderr: "error: authentication failed or timed out\n" }), "auth", "error"],
	[
		"exit 2 with a flag error",
		exited({
			exit: { code: 2, signal: null },
			stderr: "flags provided but not defined: -x\nUsage of agy:\n  --print-timeout duration\n",
			sawOutput: false,
			sawText: false,
		}),
		"flags-rejected",
		"error",
	],
	[
		"a crash in the middle that speaks of flags",
		exited({ stderr: "flag needs an argument: -p\n" }),
		"crashed",
		"error",
	],
	[
		"exit with nothing but the harmless sign-in line",
		exited({ exit: { code: 0, signal: null }, stderr: "You are not logged into Antigravity.\n" }),
		"crashed",
		"error",
	],
	[
		"another program",
		exited({ sawOutput: false, sawText: false, rejected: { reason: "not-json", sample: "usage: agy [file]" } }),
		"no-protocol",
		"error",
	],
	[
		"an error line on stdout in place of a frame",
		exited({
			sawOutput: false,
			sawText: false,
			rejected: { reason: "not-json", sample: "error: authentication required" },
		}),
		"auth",
		"error",
	],
	[
		"noise before a crash in the middle",
		exited({ rejected: { reason: "not-json", sample: "Opening in existing browser session." } }),
		"crashed",
		"error",
	],
];

const ALL = [...STATUSES, ...ERRORS, ...ENDS];

describe.each([
	["status", STATUSES],
	["error text", ERRORS],
	["end without a result", ENDS],
] as const)("%s", (_name, rows) => {
	test.each(rows)("%s", (_row, given, kind, stop) => {
		expect(judge(given)).toMatchObject({ kind, stop });
	});
});

test("every kind of verdict stands in a table above", () => {
	const KINDS = {
		complete: true,
		partial: true,
		empty: true,
		denied: true,
		cancelled: true,
		quota: true,
		overloaded: true,
		"server-error": true,
		auth: true,
		"not-eligible": true,
		"model-rejected": true,
		"context-overflow": true,
		"input-rejected": true,
		"flags-rejected": true,
		"conversation-rejected": true,
		failed: true,
		interrupted: true,
		"still-running": true,
		crashed: true,
		"hook-failed": true,
		"no-protocol": true,
		"timed-out": true,
	} satisfies Record<VerdictKind, true>;
	expect(new Set(ALL.map(([, , kind]) => kind))).toStrictEqual(new Set(Object.keys(KINDS)));
});

describe("what pi makes of the message", () => {
	const inPi = (errorMessage: string) => ({ role: "assistant", stopReason: "error", errorMessage }) as AssistantMessage;

	/** Words of others that pi takes for a passing failure, wherever they can get into a verdict. */
	const TRANSIENT: readonly Row[] = [
		"503 Service Unavailable",
		"terminated",
		"read ECONNRESET",
		"Worker terminated due to reaching memory limit: JS heap out of memory",
		"request timed out",
		"TIMEOUT",
		"rate limit",
	].flatMap((words): Row[] => [
		[`agy: ${words}`, failed(words), "failed", "error"],
		[`hook: ${words}`, evidence({ cause: "hook-failed", result: null, hookError: words }), "hook-failed", "error"],
		[`stderr: ${words}`, exited({ stderr: words }), "crashed", "error"],
		[`status: ${words}`, failedStatus(words), "failed", "error"],
		[
			`lane: ${words}`,
			evidence({
				cause: "lane-lost",
				result: null,
				laneError: new AgyError("worker-crashed", `It crashed (${words}).`),
			}),
			"crashed",
			"error",
		],
		[
			`noise: ${words}`,
			exited({ sawOutput: false, sawText: false, rejected: { reason: "not-json", sample: words } }),
			"no-protocol",
			"error",
		],
	]);

	test.each([...ALL, ...TRANSIENT])("never that it should be sent again: %s", (_name, given) => {
		expect(isRetryableAssistantError(inPi(toErrorMessage(judge(given))))).toBe(false);
	});

	test.each(ALL)("in words that need no such note: %s", (_name, given) => {
		expect(toErrorMessage(judge(given))).not.toContain("It is not sent again");
	});

	test.each(TRANSIENT)("still what happened and what to do: %s", (_name, given) => {
		const verdict = judge(given);
		expect(toErrorMessage(verdict)).toContain(verdict.summary);
	});

	test.each(ALL.filter(([, , kind]) => kind === "context-overflow"))("that the context is full: %s", (_name, given) => {
		expect(isContextOverflow(inPi(toErrorMessage(judge(given))))).toBe(true);
		expect(isContextOverflow(inPi(judge(given).summary))).toBe(true);
	});

	test.each(ALL.filter(([, , kind]) => kind !== "context-overflow"))(
		"not that the context is full: %s",
		(_name, given) => {
			expect(isContextOverflow(inPi(toErrorMessage(judge(given))))).toBe(false);
		},
	);
});

describe("what is kept", () => {
	test.each(ALL)("%s", (_name, given, kind) => {
		const { process, keepsConversation } = judge(given);
		expect(keepsConversation).toBe(kind !== "empty" && kind !== "conversation-rejected");
		expect(process).toBe(kind === "complete" ? "keep" : kind === "still-running" ? "drain" : "close");
	});
});

describe("what may be sent again", () => {
	const RETRIED: readonly (readonly [string, TurnEvidence, Verdict["retry"]])[] = [
		["a prompt that agy dropped", bareEvidence({}), "fresh"],
		["one whose conversation agy could not take up", failed('conversation "c1" is in use'), "fresh"],
		[
			"one that a process which served before never took",
			exited({ isReused: true, sawOutput: false, sawText: false }),
			"same",
		],
		["not one of a process that was made for it", exited({ sawOutput: false, sawText: false }), null],
		["not one that anything came of", exited({ isReused: true, sawText: false }), null],
		[
			"not one that was answered with a known error",
			exited({ isReused: true, sawOutput: false, sawText: false, stderr: "error: authentication required\n" }),
			null,
		],
		["not one of a lost lane", evidence({ cause: "lane-lost", result: null, isReused: true, sawOutput: false }), null],
		["not one that agy reported as denied", bareEvidence({ deniedActions: [{ action: "x", displayName: "" }] }), null],
	];

	test.each(RETRIED)("%s", (_name, given, retry) => {
		expect(judge(given).retry).toBe(retry);
	});

	test.each(ALL.filter(([, , kind]) => kind !== "empty" && kind !== "conversation-rejected"))(
		"nothing of these: %s",
		(_name, given) => {
			expect(judge(given).retry).toBeNull();
		},
	);
});

test.each([
	["a plain answer", evidence({ leftToolsRunning: true })],
	[
		"an answer with a tool's error",
		evidence({
			result: turnEnd({ status: "ERROR", error: FETCH_FAILED }),
			toolErrors: [FETCH_FAILED],
			leftToolsRunning: true,
		}),
	],
])("a process whose tools still run takes no other prompt after %s", (_name, given) => {
	expect(judge(given)).toMatchObject({ kind: "complete", process: "close", keepsConversation: true });
});

describe("what is said", () => {
	test.each(ALL.filter(([, , , stop]) => stop !== "stop"))("%s: something", (_name, given) => {
		expect(judge(given).summary).toMatch(/\S.*\.$/);
	});

	test.each(ALL.filter(([, , , stop]) => stop === "stop"))("%s: nothing", (_name, given) => {
		expect(judge(given)).toMatchObject({ summary: "", detail: "" });
	});

	test.each([
		["when a quota comes back", failed(QUOTA), "it resets in 2h18m58s"],
		["hours of a quota alone", failed("quota reached. Resets in 76h."), "it resets in 76h."],
		[
			"which tool was denied, once",
			bareEvidence(
				{
					deniedActions: [
						{ action: "command", displayName: "RunCommand" },
						{ action: "command", displayName: "RunCommand" },
					],
				},
				{ sawOutput: true },
			),
			"use RunCommand and",
		],
		["which limit was hit", evidence({ cause: "silent", result: null, timeoutMin: 5 }), "nothing for 5 minutes"],
		[
			"what was done until then, and where to go on",
			evidence({
				cause: "too-long",
				result: null,
				timeoutMin: 20,
				toolCounts: new Map([
					["run_command", 3],
					["view_file", 1],
				]),
				conversationId: "c0ffee",
			}),
			"The answer above is incomplete. Until then it ran: run_command (3), view_file. The conversation c0ffee is kept;",
		],
		[
			"that the conversation of a crash goes on",
			exited({ conversationId: "c1" }),
			"The next prompt resumes the conversation.",
		],
		[
			"what an interruption left",
			evidence({ result: turnEnd({ status: "ERROR", error: "interrupted" }) }),
			"incomplete",
		],
		["what agy cancelled by itself", failedStatus("CANCELED"), "Send the prompt again."],
		["one minute", evidence({ cause: "too-long", result: null, timeoutMin: 1 }), "longer than 1 minute."],
		["seconds", evidence({ cause: "silent", result: null, timeoutMin: 0.05 }), "nothing for 3 seconds"],
		["how agy ended", exited({ exit: { code: 3, signal: null } }), "exited with code 3"],
		["by what it was ended", exited({ exit: { code: null, signal: "SIGKILL" } }), "was ended by SIGKILL"],
		["that the answer is incomplete", exited({}), "The answer above is incomplete."],
		[
			"what another program printed",
			exited({ sawOutput: false, sawText: false, rejected: { reason: "not-json", sample: " usage: agy " } }),
			'("usage: agy")',
		],
	])("%s", (_name, given, words) => {
		expect(judge(given).summary).toContain(words);
	});

	test("nothing of an incomplete answer where there is none", () => {
		expect(judge(exited({ sawText: false })).summary).not.toContain("incomplete");
	});

	test("agy's own words, below ours", () => {
		expect(toErrorMessage(judge(failed("something new")))).toBe("agy ended the turn with ERROR.\nagy: something new");
	});

	test("which argument agy does not take", () => {
		const stderr = "flags provided but not defined: -bogus\nUsage of agy:\n  --print-timeout duration\n";
		const verdict = judge(exited({ exit: { code: 2, signal: null }, stderr, sawOutput: false, sawText: false }));
		expect(toErrorMessage(verdict)).toBe(
			"agy does not take the arguments it was started with. Check AGY_EXTRA_ARGS; if it is not set, run `agy update`.\n" +
				"agy: flags provided but not defined: -bogus",
		);
	});

	test("agy's words without the lines that pi would take for a transient failure", () => {
		const verdict = judge(exited({ stderr: "panic: no home\nconnection timeout\n" }));
		expect(toErrorMessage(verdict)).toMatch(/\nagy: panic: no home$/);
	});

	test.each([
		[2, "2 minutes"],
		[1, "1 minute"],
		[0.5, "30 seconds"],
		[0.02, "1 seconds"],
		[0.001, "0.06 seconds"],
	])("the limit that it broke as it was set: %s", (timeoutMin, words) => {
		expect(judge(evidence({ cause: "too-long", timeoutMin })).summary).toContain(`longer than ${words}.`);
	});

	test("that a conversation goes on only where there is one", () => {
		expect(judge(exited({ conversationId: "c1" })).summary).toContain("The next prompt resumes the conversation.");
		expect(judge(exited({ conversationId: "" })).summary).toContain("Send the prompt again.");
	});

	test("agy's words without its secrets, and only their end", () => {
		const detail = judge(exited({ stderr: `${"x".repeat(5_000)} Authorization: Bearer abcdefgh` })).detail;
		expect(detail).not.toContain("abcdefgh");
		expect(detail.length).toBeLessThanOrEqual(600);
		expect(detail).toContain("[secret]");
	});
});

function failedStatus(status: string): TurnEvidence {
	return bareEvidence({ status });
}
