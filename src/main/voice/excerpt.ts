/** What somebody else's text says, as a part of a sentence of ours: without credentials, on one line, short. */

import { redact } from "../../shared/redact.ts";
import { toPlainText } from "../plain-text.ts";

/** Two lines of a terminal: enough for the reason, too short for a page of HTML. */
const EXCERPT_CHARS = 200;

/** The beginning, which holds the reason in most answers of servers. */
export function excerptOf(text: string): string {
	const line = toLine(text);
	return line.length <= EXCERPT_CHARS ? line : `${line.slice(0, EXCERPT_CHARS).trimEnd()}…`;
}

/** The end, which holds the reason in what programs print. */
export function endOf(text: string): string {
	const line = toLine(text);
	return line.length <= EXCERPT_CHARS ? line : `…${line.slice(-EXCERPT_CHARS).trimStart()}`;
}

/** Redacted while its lines are whole: a rule may reach to the end of one. */
function toLine(text: string): string {
	return redact(toPlainText(text)).replaceAll(/\s+/g, " ").trim();
}
