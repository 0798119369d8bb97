/** What pi's transcript asks of agy this time: everything the user side said since agy's last message. Pure. */

import { getCurrentSystemPrompt, type Message, type TranscriptContext, type UserMessage } from "@earendil-works/pi-ai";

export type Request = {
	/** Tool calls of agy's last message whose results are here. */
	readonly toolResultIds: readonly string[];
	/** All user messages since then, in order; "" when there is none. */
	readonly prompt: string;
};

export function toRequest(messages: readonly Message[]): Request {
	const from = messages.findLastIndex((message) => message.role === "assistant") + 1;
	const fresh = messages.slice(from);
	const texts = fresh.filter((message) => message.role === "user").map(toText);
	return {
		toolResultIds: fresh.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])),
		prompt: texts.filter((text) => text !== "").join("\n\n"),
	};
}

/** A side request has no history in agy: its instructions come with it. */
export function toSidePrompt(context: TranscriptContext): string {
	const instructions = getCurrentSystemPrompt(context.messages);
	const { prompt } = toRequest(context.messages);
	return instructions ? `${instructions}\n\n${prompt}` : prompt;
}

function toText({ content }: UserMessage): string {
	if (typeof content === "string") return content;
	return content
		.map((block) =>
			block.type === "text" ? block.text : `[An image (${block.mimeType}) was attached here; agy was not given it.]`,
		)
		.join("\n");
}
