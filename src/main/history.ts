/**
 * The history proof: what agy's conversation has been told, compared with what pi's transcript says now. Pure.
 *
 * A transcript is a list of entries, one per message that agy has to know. What agy said itself is known by the time pi
 * noted it; messages that failed or were aborted say nothing, because pi may drop them. A rolling hash over the entries
 * told so far proves that the transcript only grew; when it does not, the history was changed behind agy's back.
 */

import { createHash } from "node:crypto";
import type { AssistantMessage, Message, UserMessage } from "@earendil-works/pi-ai";
import { DROPPED_PROMPT } from "./verdict.ts";

/** How many entries agy knows, and the hash over them. */
export type Told = { readonly count: number; readonly hash: string };

export const NOTHING_TOLD: Told = { count: 0, hash: "" };

export type HistoryPlan = {
	/** The conversation can go on; else a fresh one has to be told everything. */
	readonly extends: boolean;
	/** Why it cannot: for the user. */
	readonly reason: string;
	/** What agy has to know before the prompt: what others said, or all that came before. */
	readonly context: readonly Message[];
	/** What the user side says now, in order. */
	readonly prompt: readonly UserMessage[];
	/** What agy will know once it has been told. */
	readonly told: Told;
};

const COMPACTED = /^The conversation history before this point was compacted/;

/** Plans what a conversation that knows `told` has to be told; null is a conversation that does not exist yet. */
export function planHistory(messages: readonly Message[], providerId: string, told: Told | null): HistoryPlan {
	const { known, droppedTo } = knownMessages(messages, providerId);
	const hashes = rollingHashes(known, providerId);
	const isKnown = told !== null && told.count <= known.length && hashAt(hashes, told.count) === told.hash;
	const from = isKnown ? told.count : 0;
	const lastReply = known.findLastIndex((message) => message.role !== "user");
	const promptFrom = Math.max(from, lastReply + 1, droppedTo);
	return {
		extends: isKnown,
		reason: isKnown ? "" : toReason(known, told),
		context: known.slice(from, promptFrom),
		prompt: known.slice(promptFrom).filter((message) => message.role === "user"),
		told: { count: known.length, hash: hashAt(hashes, known.length) },
	};
}

/** agy has said something that pi notes with this message. */
export function tellOwn(told: Told, message: Pick<AssistantMessage, "timestamp">): Told {
	return { count: told.count + 1, hash: nextHash(told.hash, ownEntry(message)) };
}

type KnownMessage = Exclude<Message, { role: "system" }>;

/**
 * The messages that make up the history: no system messages, nothing that failed, no results of agy's own calls. A prompt
 * that agy dropped would be dropped again with whatever stands beside it: what comes before `droppedTo` is context.
 */
function knownMessages(
	messages: readonly Message[],
	providerId: string,
): { readonly known: readonly KnownMessage[]; readonly droppedTo: number } {
	const ownCalls = new Set<string>();
	const known: KnownMessage[] = [];
	let droppedTo = 0;
	for (const message of messages) {
		if (message.role === "system") continue;
		if (message.role === "assistant" && message.provider === providerId) {
			for (const block of message.content) if (block.type === "toolCall") ownCalls.add(block.id);
			if (message.errorMessage?.startsWith(DROPPED_PROMPT)) droppedTo = known.length;
			if (message.stopReason === "aborted" || message.stopReason === "error") continue;
		}
		if (message.role === "toolResult" && ownCalls.has(message.toolCallId)) continue;
		known.push(message);
	}
	return { known, droppedTo };
}

function rollingHashes(messages: readonly Message[], providerId: string): readonly string[] {
	const hashes: string[] = [];
	for (const message of messages)
		hashes.push(nextHash(hashes.at(-1) ?? NOTHING_TOLD.hash, toEntry(message, providerId)));
	return hashes;
}

function hashAt(hashes: readonly string[], count: number): string {
	return count === 0 ? NOTHING_TOLD.hash : (hashes[count - 1] ?? "");
}

function nextHash(hash: string, entry: string): string {
	return createHash("sha256").update(hash).update("\n").update(entry).digest("base64url").slice(0, 24);
}

function toEntry(message: Message, providerId: string): string {
	if (message.role === "assistant" && message.provider === providerId) return ownEntry(message);
	return JSON.stringify([message.role, message.content]);
}

function ownEntry({ timestamp }: Pick<AssistantMessage, "timestamp">): string {
	return `own ${timestamp}`;
}

function toReason(known: readonly Message[], told: Told | null): string {
	if (told === null) return "the session has a history that agy does not know";
	const [first] = known;
	const text = first?.role === "user" ? textOf(first) : "";
	return COMPACTED.test(text)
		? "pi compacted the conversation"
		: "the session's history was changed by a branch, a fork or an edit";
}

export function textOf({ content }: UserMessage): string {
	if (typeof content === "string") return content;
	return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}
