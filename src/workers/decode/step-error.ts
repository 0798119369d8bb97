/** agy's error details (payload 31, 24.3, column `error_details`) -> one message. Pure; nothing throws. */

import type { WireReader } from "./protobuf.ts";
import { fields } from "./stream-json.ts";

export type StepError = {
	/** In the words of agy's printed errors, so that both are judged alike. */
	readonly message: string;
	readonly isQuota: boolean;
};

/** What the details say. The last two are known from one reader only. */
export type ErrorDetails = { forUser: string; short: string; full: string; json: string; final: string };

const QUOTA = /RESOURCE_EXHAUSTED|QUOTA_EXHAUSTED|\b(?:code|error) 429\b|^429$/i;
/** As the printed errors say it; the judge of a turn's end looks for these words. */
const QUOTA_WORDS = /RESOURCE_EXHAUSTED|code 429/i;
const RESET = /\bresets?\b/i;
const MAX_ERROR_BYTES = 16 * 1024;

function createErrorDetails(): ErrorDetails {
	return { forUser: "", short: "", full: "", json: "", final: "" };
}

/** Reads the details in the message that the reader is in, on top of those that are known. */
export function readErrorDetails(reader: WireReader, before: ErrorDetails | null): ErrorDetails {
	const details = before ?? createErrorDetails();
	while (reader.next()) {
		const name = DETAIL_FIELDS[reader.field];
		if (name) details[name] = reader.textStart(details[name], MAX_ERROR_BYTES);
	}
	return details;
}

const DETAIL_FIELDS: Readonly<Record<number, keyof ErrorDetails>> = {
	1: "forUser",
	2: "short",
	3: "full",
	5: "json",
	9: "final",
};

/** The message, from the details or else from the tool's own words; null when neither says anything. */
export function toError(details: ErrorDetails | null, ofResult: string): StepError | null {
	if (details === null && ofResult === "") return null;
	const { forUser, short, full, json, final } = details ?? createErrorDetails();
	const response = fields(parseJson(json));
	const answer = fields(response?.error) ?? response;
	const answerText = typeof answer?.message === "string" ? answer.message : "";
	const texts = [forUser, short, final, full, answerText, ofResult];
	// A short form may be a bare code.
	const message = [forUser, final, short, answerText, full, ofResult].find((text) => text.trim().length > 3) ?? "";
	const bare = message || texts.find((text) => text.trim() !== "") || json.slice(0, 1_000).trim();
	if (bare === "") return null;
	const isQuota = answer?.code === 429 || [...texts, json].some((text) => QUOTA.test(text));
	if (!isQuota) return { message: bare, isQuota };
	const reset = RESET.test(bare) ? "" : (texts.map(toResetSentence).find((text) => text !== "") ?? "");
	const whole = reset === "" ? bare : `${bare.trimEnd().replace(/\.$/, "")}. ${reset}`;
	return { message: QUOTA_WORDS.test(whole) ? whole : `RESOURCE_EXHAUSTED (code 429): ${whole}`, isQuota };
}

/** The sentence that says when the quota comes back, with what follows it in its line; "" when there is none. */
function toResetSentence(text: string): string {
	const at = text.search(RESET);
	if (at < 0) return "";
	const lineEnd = text.indexOf("\n", at);
	const from = Math.max(text.lastIndexOf(".", at), text.lastIndexOf("\n", at)) + 1;
	return text.slice(from, lineEnd < 0 ? undefined : lineEnd).trim();
}

function parseJson(source: string): unknown {
	if (source === "") return undefined;
	try {
		return JSON.parse(source);
	} catch {
		return undefined; // Cut, or none: the texts beside it are used.
	}
}
