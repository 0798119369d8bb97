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
import type { Exit } from "./processes/agy-process.ts";
import { redact } from "./redact.ts";

export type TurnEvidence = {
	/** What made the turn end. */
	readonly cause: "result" | "exited" | "lane-lost" | "aborted" | "silent" | "too-long" | "hook-failed";
	readonly result: TurnEndEvent | null;
	/** agy said or did anything: text, a tool, a model call. */
	readonly sawOutput: boolean;
	readonly sawText: boolean;
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
	| "failed"
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
	/** The process can take another prompt. */
	readonly keepsProcess: boolean;
	/** agy's conversation can be taken up again. */
	readonly keepsConversation: boolean;
};

type ErrorClass = { readonly kind: VerdictKind; readonly pattern: RegExp; readonly summary: (error: string) => string };

const HOW_TO_ALLOW = "Allow it in agy's settings or set AGY_SKIP_PERMISSIONS=on.";

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

const PRINT_TIMEOUT = /print timeout after|returning partial output/i;
const STDERR_ERROR = /^(?:AGY_ERROR:|error:)\s*(.+)$/im;
const DETAIL_CHARS = 600;

export function judge(evidence: TurnEvidence): Verdict {
	switch (evidence.cause) {
		case "aborted":
			return verdict("cancelled", "aborted", "The turn was stopped.", "", { keepsProcess: false });
		case "lane-lost":
			return verdict("crashed", "error", evidence.laneError?.message ?? "The worker lane was lost.", "", {
				keepsProcess: false,
			});
		case "silent":
			return verdict(
				"timed-out",
				"error",
				`The turn is out of budget: agy said nothing for ${minutes(evidence.timeoutMin)}. The conversation is kept; the limit is AGY_INACTIVITY_TIMEOUT_MIN.`,
				evidence.stderr,
				{ keepsProcess: false },
			);
		case "too-long":
			return verdict(
				"timed-out",
				"error",
				`The turn is out of budget: it took longer than ${minutes(evidence.timeoutMin)}. The conversation is kept; the limit is AGY_TURN_TIMEOUT_MIN.`,
				"",
				{ keepsProcess: false },
			);
		case "hook-failed":
			return verdict(
				"hook-failed",
				"error",
				"The turn was stopped because the hook of another extension that watches providers failed.",
				evidence.hookError,
				{ keepsProcess: false },
			);
		case "exited":
			return judgeExit(evidence);
		case "result":
			return judgeResult(evidence, evidence.result);
	}
}

function judgeResult(evidence: TurnEvidence, result: TurnEndEvent | null): Verdict {
	const isSuccess = result?.status === "SUCCESS" || result?.status === "OK";
	if (result === null || !isSuccess) return judgeFailure(evidence, result);
	const hasText = evidence.sawText || result.text.trim() !== "";
	const denied = result.deniedActions.map((action) => action.displayName || action.action);
	if (PRINT_TIMEOUT.test(evidence.stderr)) {
		return verdict(
			"partial",
			"error",
			"agy stopped at its own time limit; the answer is incomplete.",
			evidence.stderr,
			{ keepsProcess: false },
		);
	}
	if (!hasText && (denied.length > 0 || evidence.deniedTools.length > 0)) {
		const what = [...new Set([...denied, ...evidence.deniedTools])].join(", ");
		return verdict(
			"denied",
			"error",
			`agy was not allowed to use ${what} and gave no answer. ${HOW_TO_ALLOW}`,
			"",
			{},
		);
	}
	if (!hasText && !evidence.sawOutput) {
		return verdict(
			"empty",
			"error",
			"agy reported success without having done anything; it drops a prompt above about 25 KB this way. The conversation was closed, the next prompt starts a fresh one. Put long text into a file and name it.",
			evidence.stderr,
			{ keepsProcess: false, keepsConversation: false },
		);
	}
	return verdict("complete", "stop", "", "", { keepsProcess: !evidence.leftToolsRunning });
}

function judgeFailure(evidence: TurnEvidence, result: TurnEndEvent | null): Verdict {
	const error = result?.error || stderrError(evidence.stderr);
	if (result?.status === "CANCELED" || result?.status === "CANCELLED" || /^interrupted$/i.test(error)) {
		return verdict("cancelled", "aborted", "agy cancelled the turn.", error, { keepsProcess: false });
	}
	// Up to agy 1.1.19 one failed tool made the whole turn an error, with a full answer.
	if (evidence.sawText && evidence.toolErrors.includes(error)) {
		return verdict("complete", "stop", "", "", { keepsProcess: !evidence.leftToolsRunning });
	}
	const known = ERROR_CLASSES.find(({ pattern }) => pattern.test(error));
	if (known) return verdict(known.kind, "error", known.summary(error), error, { keepsProcess: false });
	const status = result?.status || "no status";
	return verdict("failed", "error", `agy ended the turn with ${status}.`, error || evidence.stderr, {
		keepsProcess: false,
	});
}

function judgeExit(evidence: TurnEvidence): Verdict {
	const error = stderrError(evidence.stderr);
	const known = ERROR_CLASSES.find(({ pattern }) => error !== "" && pattern.test(error));
	if (known) return verdict(known.kind, "error", known.summary(error), error, { keepsProcess: false });
	if (evidence.rejected && !evidence.sawOutput) {
		return verdict(
			"no-protocol",
			"error",
			`agy printed something that is not its protocol ("${evidence.rejected.sample.trim()}") and exited. Check that AGY_BIN is the Antigravity CLI.`,
			evidence.stderr,
			{ keepsProcess: false },
		);
	}
	const how = evidence.exit?.signal
		? `was ended by ${evidence.exit.signal}`
		: `exited with code ${evidence.exit?.code ?? "unknown"}`;
	const partial = evidence.sawText ? " The answer above is incomplete." : "";
	return verdict(
		"crashed",
		"error",
		`agy ${how} in the middle of the turn.${partial} The next prompt resumes the conversation.`,
		evidence.stderr,
		{
			keepsProcess: false,
		},
	);
}

function stderrError(stderr: string): string {
	const text = STDERR_ERROR.exec(stderr)?.[1] ?? "";
	return /"short_error"\s*:\s*"([^"]+)"/.exec(text)?.[1] ?? text;
}

function minutes(count: number): string {
	return count >= 1 ? `${count} minute${count === 1 ? "" : "s"}` : `${Math.round(count * 60)} seconds`;
}

function verdict(
	kind: VerdictKind,
	stop: Verdict["stop"],
	summary: string,
	detail: string,
	keeps: { readonly keepsProcess?: boolean; readonly keepsConversation?: boolean },
): Verdict {
	const { keepsProcess = true, keepsConversation = true } = keeps;
	return { kind, stop, summary, detail: redact(detail.trim()).slice(-DETAIL_CHARS), keepsProcess, keepsConversation };
}
