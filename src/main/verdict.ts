/**
 * The one function that judges the end of a turn. Pure: everything it looks at is in the evidence. Order and wording of
 * agy's errors: docs/protocols/agy-stream-json.md, "Errors".
 *
 * The summaries are written so that pi does not take them for transient failures: pi would send the same prompt again,
 * and agy's conversation already holds it. ("out of budget" is pi's own word for a failure that is not.)
 */

import type { AgyError } from "../shared/errors.ts";
import type { TurnEndEvent } from "../shared/events.ts";
import type { RejectReason } from "../shared/messages.ts";
import { redact } from "../shared/redact.ts";
import type { Exit } from "./processes/piped-process.ts";

export type TurnEvidence = {
	/** What made the turn end. */
	readonly cause:
		| "result"
		| "withheld-answer"
		| "exited"
		| "lane-lost"
		| "aborted"
		| "silent"
		| "too-long"
		| "hook-failed";
	readonly result: TurnEndEvent | null;
	/** agy said or did anything: text, a tool, a model call. */
	readonly sawOutput: boolean;
	readonly sawText: boolean;
	/** The process had served a turn before. */
	readonly isReused: boolean;
	/** How often each tool ran. */
	readonly toolCounts: ReadonlyMap<string, number>;
	/** "" when agy has not named it. */
	readonly conversationId: string;
	/** Tools agy was not allowed to use. */
	readonly deniedTools: readonly string[];
	/** What tools of this turn failed with. */
	readonly toolErrors: readonly string[];
	readonly stderr: string;
	readonly exit: Exit | null;
	readonly laneError: AgyError | null;
	/** The first line that was not agy's protocol. */
	readonly rejected: { readonly reason: RejectReason; readonly sample: string } | null;
	/** What an extension's hook failed with; "" for the other causes. */
	readonly hookError: string;
	/** A tool of agy has not ended: what the process reports next may belong to it. */
	readonly leftToolsRunning: boolean;
	/** Minutes of the timer that ended the turn; 0 for the others. */
	readonly timeoutMin: number;
};

export type VerdictKind =
	| "complete"
	| "partial"
	| "empty"
	| "denied"
	| "cancelled"
	| "quota"
	| "overloaded"
	| "server-error"
	| "auth"
	| "not-eligible"
	| "model-rejected"
	| "context-overflow"
	| "input-rejected"
	| "conversation-rejected"
	| "flags-rejected"
	| "failed"
	| "interrupted"
	| "still-running"
	| "crashed"
	| "hook-failed"
	| "no-protocol"
	| "timed-out";

export type Verdict = {
	readonly kind: VerdictKind;
	/** How the pi message ends. */
	readonly stop: "stop" | "error" | "aborted";
	/** What happened and what to do; "" when all is well. */
	readonly summary: string;
	/** agy's own words. */
	readonly detail: string;
	/** What becomes of the process: it takes another prompt, is ended, or ends by itself when its last command is done. */
	readonly process: "keep" | "close" | "drain";
	/** agy's conversation can be taken up again. */
	readonly keepsConversation: boolean;
	/** Nothing was done for the prompt, provably: it can be sent once more, in the same or in a fresh conversation. */
	readonly retry: "same" | "fresh" | null;
};

type ErrorClass = { readonly kind: VerdictKind; readonly pattern: RegExp; readonly summary: (error: string) => string };

const HOW_TO_ALLOW = "Allow it in agy's settings; AGY_SKIP_PERMISSIONS=on allows everything.";

/** In this order: an eligibility text may contain UNAVAILABLE, a quota text a code that looks like overload. */
const ERROR_CLASSES: readonly ErrorClass[] = [
	{
		kind: "denied",
		pattern: /permission check failed|user denied permission/i,
		summary: () => `agy was not allowed to use a tool and stopped there. ${HOW_TO_ALLOW}`,
	},
	{
		kind: "not-eligible",
		pattern: /eligibility check failed|FAILED_PRECONDITION|location is not supported/i,
		summary: () => "Google does not offer Antigravity to this account or in this region. Check the account with `agy`.",
	},
	{
		kind: "context-overflow",
		pattern: /input token count.*exceeds|context.?(?:window|length).*exceed|exceeds.*context.?(?:window|length)/i,
		summary: () => "The conversation no longer fits the model (context_length_exceeded).",
	},
	{
		kind: "quota",
		pattern:
			/RESOURCE_EXHAUSTED|code 429|error 429|quota reached|exhausted your quota|check quota|credits balance is too low/i,
		summary: (error) => {
			const reset = /resets in ((?:\d+[dhms])+)/i.exec(error)?.[1];
			return `The Antigravity quota is used up${reset ? `; it resets in ${reset}` : ""}. Wait, or choose a model of another quota.`;
		},
	},
	{
		kind: "auth",
		pattern: /authentication failed|authentication required|not logged in|UNAUTHENTICATED/i,
		summary: () => "agy is not signed in. Run `agy` in a terminal once and sign in.",
	},
	{
		kind: "model-rejected",
		pattern: /invalid model selection|conflicts with --effort|--effort is not supported|requires --effort/i,
		summary: () => "agy does not accept this model or thinking level. Choose another one with /model.",
	},
	{
		kind: "input-rejected",
		pattern: /stream input/i,
		summary: () => "agy did not understand the prompt it was sent. Please report this with the log.",
	},
	{
		kind: "overloaded",
		pattern: /UNAVAILABLE|code 503|error 503|no capacity available/i,
		summary: () =>
			"Google has no free capacity for this model now; agy tried several times. Try again later or choose another model.",
	},
	{
		kind: "server-error",
		pattern: /\bINTERNAL\b|error 500|an internal error has occurred/i,
		summary: () => "Google's service failed while it worked on this. Send the prompt again.",
	},
	{
		kind: "partial",
		pattern: /timeout waiting for response/i,
		summary: () => "agy gave up waiting for the model. Send the prompt again.",
	},
];

/** The one sign of a refusal where agy lists none and reports the tool as done (1.1.22, 1.2.9). */
const DENIED_NOTE = /a tool required the "([^"]+)" permission that headless mode cannot prompt for/i;
const PRINT_TIMEOUT = /print timeout after|returning partial output/i;
/** How agy words it is not known; observed are only that another process on the conversation, or an unknown id, is an error. */
const CONVERSATION_ERROR =
	/\b(?:conversation|session)\b.*\b(?:in use|locked?|busy|held|not found|unknown|does not exist)\b/i;
const FLAG_ERROR = /^(?:flags? provided but not defined|flag needs an argument|invalid (?:boolean )?value).*$/im;
const STDERR_ERROR = /^(?:AGY_ERROR:|error:)\s*(.+)$/im;
const DETAIL_CHARS = 600;
/** How the error of a dropped prompt begins. */
export const DROPPED_PROMPT = "agy reported success without having done anything";
const OVER_LIMIT = `${DROPPED_PROMPT}; it drops a prompt above about 25 KB this way.`;

export function judge(evidence: TurnEvidence): Verdict {
	const { cause, timeoutMin } = evidence;
	switch (cause) {
		case "result":
			return judgeResult(evidence);
		case "exited":
			return judgeExit(evidence);
		case "withheld-answer":
			return { ...COMPLETE, kind: "still-running", process: "drain" };
		case "aborted":
			return { ...failed("cancelled", "The turn was stopped.", ""), stop: "aborted" };
		case "lane-lost":
			return failed("crashed", evidence.laneError?.message ?? "The worker lane was lost.", "");
		case "silent": {
			const what = `The turn is out of budget: agy said nothing for ${minutes(timeoutMin)}.`;
			// What it wrote meanwhile may say why: it retries an exhausted quota, for one.
			const why = classOf(stderrError(evidence.stderr));
			const reason = why === undefined ? "" : ` ${why.summary(evidence.stderr)}`;
			return failed(
				"timed-out",
				`${what}${reason} ${whatIsKept(evidence)} The limit is AGY_INACTIVITY_TIMEOUT_MIN.`,
				evidence.stderr,
			);
		}
		case "too-long": {
			const what = `The turn is out of budget: it took longer than ${minutes(timeoutMin)}.`;
			return failed("timed-out", `${what} ${whatIsKept(evidence)} The limit is AGY_TURN_TIMEOUT_MIN.`, "");
		}
		case "hook-failed":
			return failed(
				"hook-failed",
				"The turn was stopped because another extension's hook on provider events failed.",
				evidence.hookError,
			);
	}
}

/** `OK` is the word of old versions. */
export function isSuccess({ status }: TurnEndEvent): boolean {
	return status === "SUCCESS" || status === "OK";
}

function judgeResult(evidence: TurnEvidence): Verdict {
	const { result } = evidence;
	if (result === null || !isSuccess(result)) return judgeFailure(evidence);
	if (PRINT_TIMEOUT.test(evidence.stderr)) {
		return failed("partial", "agy stopped at its own time limit; the answer is incomplete.", evidence.stderr);
	}
	if (evidence.sawText) return complete(evidence);
	const denied = deniedTools(evidence);
	if (denied !== "") return deniedVerdict(denied);
	if (evidence.sawOutput) {
		return failed(
			"partial",
			`agy ended the turn without an answer.${whatWasDone(evidence)} Ask it to go on.`,
			evidence.stderr,
		);
	}
	const remedy = "That conversation is given up, the next prompt starts a fresh one.";
	return { ...failed("empty", `${OVER_LIMIT} ${remedy}`, evidence.stderr), keepsConversation: false, retry: "fresh" };
}

function judgeFailure(evidence: TurnEvidence): Verdict {
	const { result } = evidence;
	const error = result?.error || stderrError(evidence.stderr);
	const status = result?.status || "no status";
	// Up to agy 1.1.19 one failed tool made the whole turn an error, with a full answer.
	if (evidence.sawText && error !== "" && evidence.toolErrors.includes(error)) return complete(evidence);
	const denied = deniedTools(evidence);
	if (denied !== "" && !evidence.sawText) return deniedVerdict(denied);
	if (isConversationRejected(error, evidence)) return conversationRejected(error);
	if (/^interrupted$/i.test(error))
		return failed("interrupted", `agy was interrupted from outside.${partial(evidence)}`, "");
	if (status.startsWith("CANCEL")) {
		return failed("cancelled", `agy cancelled the turn by itself.${partial(evidence)} Send the prompt again.`, error);
	}
	const known = classOf(error);
	if (known) return failed(known.kind, `${known.summary(error)}${partial(evidence)}`, error);
	return failed("failed", `agy ended the turn with ${status}.${partial(evidence)}`, error || evidence.stderr);
}

function judgeExit(evidence: TurnEvidence): Verdict {
	const { exit, rejected } = evidence;
	const flagError = FLAG_ERROR.exec(evidence.stderr)?.[0];
	if (flagError && !evidence.sawOutput) {
		const remedy = "Check AGY_EXTRA_ARGS; if it is not set, run `agy update`.";
		return failed("flags-rejected", `agy does not take the arguments it was started with. ${remedy}`, flagError);
	}
	const error = stderrError(evidence.stderr);
	if (isConversationRejected(error, evidence)) return conversationRejected(error);
	const known = classOf(error) ?? classOf(rejected?.sample ?? "");
	if (known) return failed(known.kind, `${known.summary(error)}${partial(evidence)}`, error);
	if (rejected && !evidence.sawOutput) {
		const what = `agy printed something that is not its protocol ("${rejected.sample.trim()}") and exited.`;
		return failed("no-protocol", `${what} Check that AGY_BIN is the Antigravity CLI.`, evidence.stderr);
	}
	const how = exit?.signal ? `was ended by ${exit.signal}` : `exited with code ${exit?.code ?? "unknown"}`;
	const when = evidence.sawOutput ? "in the middle of the turn" : "without an answer";
	const next = evidence.conversationId === "" ? "Send the prompt again." : "The next prompt resumes the conversation.";
	const crash = failed("crashed", `agy ${how} ${when}.${partial(evidence)} ${next}`, evidence.stderr);
	// A process that served before and ends at the next prompt has not touched it.
	return { ...crash, retry: evidence.isReused && !evidence.sawOutput ? "same" : null };
}

const COMPLETE: Verdict = {
	kind: "complete",
	stop: "stop",
	summary: "",
	detail: "",
	process: "keep",
	keepsConversation: true,
	retry: null,
};

function complete({ leftToolsRunning }: TurnEvidence): Verdict {
	return { ...COMPLETE, process: leftToolsRunning ? "close" : "keep" };
}

function failed(kind: VerdictKind, summary: string, detail: string): Verdict {
	return {
		...COMPLETE,
		kind,
		stop: "error",
		summary,
		detail: redact(detail.trim()).slice(-DETAIL_CHARS),
		process: "close",
	};
}

function isConversationRejected(error: string, { sawOutput }: TurnEvidence): boolean {
	return !sawOutput && CONVERSATION_ERROR.test(error);
}

/** Nothing was done: the prompt goes to a fresh conversation, with the session's history. */
function conversationRejected(error: string): Verdict {
	const summary =
		"agy could not take up its conversation. The next prompt starts a fresh one with this session's history.";
	return { ...failed("conversation-rejected", summary, error), keepsConversation: false, retry: "fresh" };
}

function deniedVerdict(tools: string): Verdict {
	return failed("denied", `agy was not allowed to use ${tools} and gave no answer. ${HOW_TO_ALLOW}`, "");
}

function deniedTools({ result, deniedTools, stderr }: TurnEvidence): string {
	const reported = result?.deniedActions.map(({ action, displayName }) => displayName || action) ?? [];
	if (reported.length > 0) return [...new Set(reported)].join(", ");
	return deniedTools.length > 0 ? deniedTools.join(", ") : (DENIED_NOTE.exec(stderr)?.[1] ?? "");
}

function classOf(error: string): ErrorClass | undefined {
	return error === "" ? undefined : ERROR_CLASSES.find(({ pattern }) => pattern.test(error));
}

function partial({ sawText }: TurnEvidence): string {
	return sawText ? " The answer above is incomplete." : "";
}

function whatWasDone({ toolCounts }: TurnEvidence): string {
	const steps = [...toolCounts].map(([tool, count]) => (count === 1 ? tool : `${tool} (${count})`)).join(", ");
	return steps === "" ? "" : ` Until then it ran: ${steps}.`;
}

function whatIsKept(evidence: TurnEvidence): string {
	const { conversationId, sawText } = evidence;
	const kept = conversationId === "" ? "" : ` The conversation ${conversationId} is kept; your next prompt resumes it.`;
	return `${sawText ? "The answer above is incomplete." : ""}${whatWasDone(evidence)}${kept}`.trim();
}

function stderrError(stderr: string): string {
	const text = STDERR_ERROR.exec(stderr)?.[1] ?? "";
	return /"short_error"\s*:\s*"([^"]+)"/.exec(text)?.[1] ?? text;
}

function minutes(count: number): string {
	if (count >= 1) return `${count} minute${count === 1 ? "" : "s"}`;
	const seconds = count * 60;
	return `${seconds >= 1 ? Math.round(seconds) : Number(seconds.toPrecision(2))} seconds`;
}
