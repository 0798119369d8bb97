/** A pi session as text, for an agy that knows nothing of it. */

import { buildSessionContext, convertToLlm, type ExtensionContext } from "@earendil-works/pi-coding-agent";
import { renderTranscript } from "./digest.ts";

/** What the session has said so far, as its model is told it. */
export function transcriptOf({ sessionManager }: Pick<ExtensionContext, "sessionManager">): string {
	const { messages } = buildSessionContext(sessionManager.getEntries(), sessionManager.getLeafId());
	return renderTranscript(convertToLlm(messages));
}
