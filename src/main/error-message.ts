/** A verdict as the error text of a pi message. */

import { type AssistantMessage, isRetryableAssistantError } from "@earendil-works/pi-ai";
import type { Verdict } from "./verdict.ts";

/**
 * pi sends the prompt again when an error looks transient to it, and agy would get it twice. agy's own words stay out
 * then; they are in the log. Where our summary quotes such words, pi is told in its own that this is no such failure.
 */
export function toErrorMessage({ summary, detail }: Pick<Verdict, "summary" | "detail">): string {
	const message = detail === "" || summary.includes(detail) ? summary : `${summary}\nagy: ${detail}`;
	if (!looksTransient(message)) return message;
	return looksTransient(summary) ? `${summary} (It is not sent again: out of budget.)` : summary;
}

function looksTransient(errorMessage: string): boolean {
	return isRetryableAssistantError({ role: "assistant", stopReason: "error", errorMessage } as AssistantMessage);
}
