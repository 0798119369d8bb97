/** Where agy keeps what belongs to a conversation beside its words: artifacts, the transcript, the output of its tasks. Pure. */

import { join } from "node:path";
import type { Config } from "./config.ts";

type Place = Pick<Config, "geminiDir">;

/** Ids come from agy and from users: only one of this form becomes a part of a path. */
const CONVERSATION_ID = /^[0-9a-z][0-9a-z-]{7,63}$/i;
const GENERATED = ".system_generated";

export function isConversationId(text: string): boolean {
	return CONVERSATION_ID.test(text);
}

/** The folder of a conversation, with its artifacts right in it. */
export function brainDirOf({ geminiDir }: Place, conversationId: string): string {
	return join(geminiDir, "antigravity-cli", "brain", conversationId);
}

export function transcriptPathOf(place: Place, conversationId: string): string {
	return join(brainDirOf(place, conversationId), GENERATED, "logs", "transcript.jsonl");
}

/** Where the output of each background task is a file, `task-<number>.log`. */
export function tasksDirOf(place: Place, conversationId: string): string {
	return join(brainDirOf(place, conversationId), GENERATED, "tasks");
}

/** Where each sub-agent of the conversation has a file, `<its conversation id>.json`. */
export function subagentsDirOf(place: Place, conversationId: string): string {
	return join(brainDirOf(place, conversationId), GENERATED, "subagents");
}
