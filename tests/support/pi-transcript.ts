/** Messages of pi's transcript as short as a test can say them. Timestamps count up, as pi's do. */
import type { AssistantMessage, ImageContent, Message, ToolCall, UserMessage } from "@earendil-works/pi-ai";

export const OWN = "antigravity";

let clock = 1_000;

export function user(content: UserMessage["content"]): UserMessage {
	return { role: "user", content, timestamp: ++clock };
}

export function system(content: string): Message {
	return { role: "system", content, timestamp: ++clock };
}

/** A message of agy's, as pi noted it. */
export function own(text: string, more: Partial<AssistantMessage> = {}): AssistantMessage {
	return assistant(OWN, text, more);
}

/** A message of another provider. */
export function foreign(text: string, more: Partial<AssistantMessage> = {}): AssistantMessage {
	return assistant("openai", text, more);
}

export function call(id: string, name = "bash"): ToolCall {
	return { type: "toolCall", id, name, arguments: { command: "make" } };
}

export function toolResult(
	toolCallId: string,
	text = "ok",
	more: Partial<Message & { role: "toolResult" }> = {},
): Message {
	return {
		role: "toolResult",
		toolCallId,
		toolName: "bash",
		content: [{ type: "text", text }],
		isError: false,
		timestamp: ++clock,
		...more,
	};
}

/** pi's message in place of what it has compacted away. */
export function compaction(summary: string): UserMessage {
	return user([
		{
			type: "text",
			text: `The conversation history before this point was compacted into the following summary:\n\n<summary>\n${summary}\n</summary>`,
		},
	]);
}

export function image(mimeType: string, data = "aW1hZ2U="): ImageContent {
	return { type: "image", mimeType, data };
}

function assistant(provider: string, text: string, more: Partial<AssistantMessage>): AssistantMessage {
	const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
	return {
		role: "assistant",
		content: text === "" ? [] : [{ type: "text", text }],
		api: "api",
		provider,
		model: "m",
		usage: { ...zero, totalTokens: 0, cost: { ...zero, total: 0 } },
		stopReason: "stop",
		timestamp: ++clock,
		...more,
	};
}
