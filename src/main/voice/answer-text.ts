/** The text of an answer in pi's messages, without thinking and tool calls. Pure. */

type Message = { readonly role: string; readonly content?: unknown };

/** Of the last assistant message that has any; "" when none has. */
export function lastAnswerText(messages: readonly Message[]): string {
	for (const { role, content } of messages.toReversed()) {
		const text = role === "assistant" && Array.isArray(content) ? content.map(textOf).join("\n").trim() : "";
		if (text !== "") return text;
	}
	return "";
}

function textOf(block: unknown): string {
	const { type, text } = (block ?? {}) as { readonly type?: unknown; readonly text?: unknown };
	return type === "text" && typeof text === "string" ? text : "";
}
