/** What a test wants to know of the records of a turn: the text as it streamed, the messages, the cards. */
import type { AssistantMessage, ToolCall } from "@earendil-works/pi-ai";
import type { JsonAgentSessionEvent } from "@earendil-works/pi-coding-agent";

type Records = readonly JsonAgentSessionEvent[];

/** Everything streamed as text, in order. */
export function streamedText(records: Records): string {
	return records
		.flatMap((record) =>
			record.type === "message_update" && record.assistantMessageEvent.type === "text_delta"
				? record.assistantMessageEvent.delta
				: [],
		)
		.join("");
}

export function assistantMessages(records: Records): readonly AssistantMessage[] {
	return records.flatMap((record) =>
		record.type === "message_end" && record.message.role === "assistant" ? record.message : [],
	);
}

/** The last one. Throws when there is none. */
export function answer(records: Records): AssistantMessage {
	const message = assistantMessages(records).at(-1);
	if (!message) throw new Error("no assistant message");
	return message;
}

export function textOf(message: AssistantMessage): string {
	return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** Text and cards in the order a person sees them. */
export function story(records: Records): readonly string[] {
	return assistantMessages(records).flatMap((message) =>
		message.content.map((block) => {
			if (block.type === "toolCall") return `[${(block.arguments as { tool?: string }).tool ?? block.name}]`;
			return block.type === "text" ? block.text : `(${block.thinking})`;
		}),
	);
}

export type Card = {
	readonly call: ToolCall;
	readonly output: string;
	readonly isError: boolean;
	readonly details: { readonly state?: string; readonly durationMs?: number | null };
};

/** The tool calls with what came of them. Throws when one has not exactly one result. */
export function cards(records: Records): readonly Card[] {
	const calls = assistantMessages(records).flatMap((message) =>
		message.content.filter((block) => block.type === "toolCall"),
	);
	const ends = records.flatMap((record) => (record.type === "tool_execution_end" ? record : []));
	return calls.map((call) => {
		const [end, ...more] = ends.filter((candidate) => candidate.toolCallId === call.id);
		if (!end || more.length > 0) throw new Error(`${call.id} has ${more.length + (end ? 1 : 0)} results`);
		const content = end.result.content as readonly { readonly type: string; readonly text?: string }[];
		return {
			call,
			output: content.map((block) => block.text ?? "").join(""),
			isError: end.isError,
			details: end.result.details as Card["details"],
		};
	});
}

export function retries(records: Records): number {
	return records.filter((record) => record.type === "auto_retry_start").length;
}
