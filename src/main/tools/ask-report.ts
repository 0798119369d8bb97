/** What the delegation tool says while it runs and when it is over. Pure. */

import { relative } from "node:path";
import type { TokenUsage } from "../../shared/events.ts";
import { toErrorMessage } from "../error-message.ts";
import type { Verdict } from "../verdict.ts";
import type { ChangedFilesReport } from "./changed-files.ts";
import type { DelegatedStep } from "./delegation-record.ts";

/** For the card and for programs; pi keeps it with the result. */
export type AskDetails = {
	readonly state: "waiting" | "running" | "done" | "failed";
	/** As pi knows it, and as agy does. */
	readonly model: string;
	readonly slug: string;
	/** The level that agy has for what was asked; null for a model without levels. */
	readonly thinking: string | null;
	readonly mode: string;
	readonly cwd: string;
	/** To go on with; null when there is none, or none that can be taken up again. */
	readonly conversationId: string | null;
	readonly durationMs: number;
	/** Null while it runs. */
	readonly verdict: Verdict["kind"] | null;
	readonly usage: TokenUsage | null;
	/** All of them; `steps` holds the newest. */
	readonly stepCount: number;
	readonly steps: readonly DelegatedStep[];
	readonly commands: readonly string[];
	/** Absolute paths; null while it runs. */
	readonly filesChanged: ChangedFilesReport | null;
	readonly timedOut: boolean;
	readonly aborted: boolean;
	/** The last line of the answer so far. */
	readonly lastLine: string;
	/** The value, where a schema was given and the answer fits. */
	readonly json?: unknown;
};

export type AskOutcome = {
	readonly verdict: Verdict;
	readonly answer: string;
	/** What is wrong with an answer that should be JSON; "" when nothing is. */
	readonly jsonProblem: string;
	/** The one that was to be gone on with; null for none. */
	readonly askedConversationId: string | null;
	readonly timeoutMin: number;
	readonly details: AskDetails;
};

/** pi's limit for a tool's output is of this order; the rest is asked for in the same conversation. */
const MAX_ANSWER_CHARS = 50_000;
const MAX_NAMED_FILES = 20;

/** One line: how long, how much, and what it does now. */
export function progressLine({ state, durationMs, stepCount, steps, lastLine }: AskDetails): string {
	if (state === "waiting") return `waiting for a free place (${toSeconds(durationMs)})`;
	const step = steps.at(-1);
	const parts = [
		toSeconds(durationMs),
		...(stepCount === 0 ? [] : [`${stepCount} ${stepCount === 1 ? "step" : "steps"}`]),
		...(step === undefined ? [] : [`${step.tool} ${step.what}`.trim()]),
	];
	return lastLine === "" ? parts.join(" · ") : `${parts.join(" · ")}\n${lastLine}`;
}

export function toSeconds(durationMs: number): string {
	const seconds = Math.round(durationMs / 1000);
	return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function isFailed({ verdict, jsonProblem }: Pick<AskOutcome, "verdict" | "jsonProblem">): boolean {
	return verdict.stop !== "stop" || jsonProblem !== "";
}

/** The answer, and behind it, apart, what there is to know of the run; its last line names the conversation. */
export function toTexts(outcome: AskOutcome): readonly string[] {
	const { answer, details, jsonProblem } = outcome;
	const shown = cut(answer, details.json !== undefined);
	const failure = isFailed(outcome) ? [failureOf(outcome, jsonProblem)] : [];
	const notes = [...failure, ...notesOf(outcome), ...fileNotes(details), ...conversationNote(details)];
	return [shown, notes.join("\n")].filter((text) => text !== "");
}

function cut(answer: string, isJson: boolean): string {
	if (isJson || answer.length <= MAX_ANSWER_CHARS) return answer;
	return `${answer.slice(0, MAX_ANSWER_CHARS)}\n[${answer.length - MAX_ANSWER_CHARS} more characters are not shown; ask for them in the same conversation]`;
}

function failureOf({ verdict, answer, timeoutMin, details }: AskOutcome, jsonProblem: string): string {
	const incomplete = answer === "" ? "" : " The answer above is incomplete.";
	if (verdict.kind === "cancelled" && verdict.stop === "aborted") return `The delegated run was stopped.${incomplete}`;
	if (verdict.kind === "timed-out" && details.durationMs >= timeoutMin * 60_000) {
		const remedy = details.conversationId === null ? "Ask again" : "Go on with its conversationId";
		return `agy took longer than timeoutMinutes (${timeoutMin}) and was stopped.${incomplete} ${remedy}, with more time or a smaller task.`;
	}
	if (verdict.stop !== "stop") return toErrorMessage(verdict);
	const remedy = details.conversationId === null ? "Ask again." : "Go on with its conversationId and ask for the form.";
	return `The answer above ${jsonProblem}. ${remedy}`;
}

function notesOf({ verdict, askedConversationId, details }: AskOutcome): readonly string[] {
	const { conversationId } = details;
	const isOther = askedConversationId !== null && conversationId !== null && conversationId !== askedConversationId;
	return [
		...(verdict.kind === "still-running"
			? [
					"A command that agy started is still running in the background. To go on with the conversation, or to end this session, stops it.",
				]
			: []),
		...(isOther ? [`agy did not know the conversation ${askedConversationId}; this is a fresh one.`] : []),
	];
}

function fileNotes({ filesChanged, cwd }: AskDetails): readonly string[] {
	const { files = [], isCut = false } = filesChanged ?? {};
	if (files.length === 0) return [];
	const named = files.slice(0, MAX_NAMED_FILES).map((file) => relative(cwd, file) || file);
	const more = files.length > named.length || isCut ? ", …" : "";
	return [`Files changed on disk meanwhile: ${named.join(", ")}${more}`];
}

function conversationNote({ conversationId }: AskDetails): readonly string[] {
	return conversationId === null ? [] : [`conversationId: ${conversationId}`];
}
