/** A verdict as the error text of a pi message. */

import { type AssistantMessage, isRetryableAssistantError } from "@earendil-works/pi-ai";
import type { Verdict } from "./verdict.ts";

/**
 * pi sends the prompt again when an error looks transient to it, and agy would get it twice. Those of agy's own lines stay
 * out then; they are in the log. Where our summary quotes such words, pi is told in its own that this is no such failure.
 */
export function toErrorMessage({ summary, detail }: Pick<Verdict, "summary" | "detail">): string {
	const lines = detail.split("\n").filter((line) => !looksTransient(line));
	const shown = lines.join("\n").trim();
	const message = shown === "" || summary.includes(shown) ? summary : `${summary}\nagy: ${shown}`;
	if (!looksTransient(message)) return message;
	return looksTransient(summary) ? `${summary} (It is not sent again: out of budget.)` : summary;
}

function looksTransient(errorMessage: string): boolean {
	return isRetryableAssistantError({ role: "assistant", stopReason: "error", errorMessage } as AssistantMessage);
}
