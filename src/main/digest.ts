/**
 * pi's transcript as text for agy: whole, for a conversation that has to be rebuilt, or a digest of what agy missed that
 * fits beside a prompt. Pure.
 */

import type { Message } from "@earendil-works/pi-ai";
import { DIGEST_CHARS, TRANSCRIPT_CHARS, TRANSCRIPT_TOOL_RESULT_CHARS } from "../shared/limits.ts";
import { textOf } from "./history.ts";

const COMPACTED = /^The conversation history before this point was compacted/;
const CUT = "[earlier parts left out]";

/** The transcript for a file; when it is too long, the newest of it. */
export function renderTranscript(messages: readonly Message[]): string {
	const parts = renderAll(messages, TRANSCRIPT_TOOL_RESULT_CHARS);
	const isTooLong = parts.join("").length > TRANSCRIPT_CHARS;
	const kept = isTooLong ? sinceSummary(messages, TRANSCRIPT_TOOL_RESULT_CHARS, TRANSCRIPT_CHARS) : parts;
	return ["# The conversation so far", ...kept].join("\n\n");
}

/** The newest of it, short enough to stand beside a prompt. */
export function renderDigest(messages: readonly Message[]): string {
	return sinceSummary(messages, DIGEST_CHARS, DIGEST_CHARS).join("\n\n");
}

/** The newest compaction summary whole, and of what follows as much of the newest as fits into `maxChars`. */
function sinceSummary(messages: readonly Message[], toolResultChars: number, maxChars: number): readonly string[] {
	const summaryAt = messages.findLastIndex((message) => message.role === "user" && COMPACTED.test(textOf(message)));
	const head = renderAll(messages.slice(summaryAt, summaryAt + 1), toolResultChars);
	return [...head, ...keepNewest(renderAll(messages.slice(summaryAt + 1), toolResultChars), maxChars)];
}

function renderAll(messages: readonly Message[], toolResultChars: number): readonly string[] {
	return messages.map((message) => render(message, toolResultChars)).filter((part) => part !== "");
}

/** As many of the last parts as fit into `maxChars`; when not even the last does, its end. */
function keepNewest(parts: readonly string[], maxChars: number): readonly string[] {
	const kept: string[] = [];
	let room = maxChars;
	for (const part of parts.toReversed()) {
		if (part.length > room) break;
		kept.unshift(part);
		room -= part.length;
	}
	if (kept.length === parts.length) return parts;
	const last = parts.at(-1) ?? "";
	return kept.length > 0 ? [CUT, ...kept] : [CUT, last.slice(last.length - maxChars)];
}

function render(message: Message, toolResultChars: number): string {
	switch (message.role) {
		case "system":
			return "";
		case "user":
			return `## User\n\n${textOf(message)}`;
		case "assistant": {
			const blocks = message.content.map((block) => {
				if (block.type === "text") return block.text;
				return block.type === "toolCall" ? `[called ${block.name} with ${JSON.stringify(block.arguments)}]` : "";
			});
			const text = blocks.filter((block) => block !== "").join("\n");
			return text === "" ? "" : `## Assistant (${message.provider})\n\n${text}`;
		}
		case "toolResult": {
			const text = message.content
				.map((block) => (block.type === "text" ? block.text : `[${block.mimeType}]`))
				.join("\n");
			const shown =
				text.length > toolResultChars
					? `${text.slice(0, toolResultChars)}\n[${text.length - toolResultChars} more characters]`
					: text;
			return `## Result of ${message.toolName}${message.isError ? " (failed)" : ""}\n\n${shown || "(no output)"}`;
		}
	}
}
