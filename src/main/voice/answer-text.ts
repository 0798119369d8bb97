/** The text of an answer in pi's messages, without thinking and tool calls. Pure. */

type Message = { readonly role: string; readonly content?: unknown; readonly stopReason?: unknown };

/** Of the last assistant message that has any and was not cut; "" when none has. */
export function lastAnswerText(messages: readonly Message[]): string {
	for (const message of messages.toReversed()) {
		const { role, content } = message;
		if (role !== "assistant" || !Array.isArray(content) || isCut(message)) continue;
		const text = content.map(textOf).join("\n").trim();
		if (text !== "") return text;
	}
	return "";
}

/** The same of one run; "" also when the run was stopped or failed, for what it said before is no answer. */
export function runAnswerText(messages: readonly Message[]): string {
	const last = messages.findLast(({ role }) => role === "assistant");
	return last === undefined || isCut(last) ? "" : lastAnswerText(messages);
}

/** The words of a user's message. */
export function userText({ role, content }: Message): string {
	if (role !== "user") return "";
	if (typeof content === "string") return content;
	return Array.isArray(content) ? content.map(textOf).join("\n") : "";
}

function isCut({ stopReason }: Message): boolean {
	return stopReason === "aborted" || stopReason === "error";
}

function textOf(block: unknown): string {
	const { type, text } = (block ?? {}) as { readonly type?: unknown; readonly text?: unknown };
	return type === "text" && typeof text === "string" ? text : "";
}
