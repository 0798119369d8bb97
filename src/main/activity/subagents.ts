/**
 * The sub-agents of a conversation: those that this pi session has seen agy start, and those that agy's folder names. When
 * one last did something is told by its transcript; whether it has finished is told by nothing. Only looks.
 */

import { stat } from "node:fs/promises";
import { isConversationId, subagentsDirOf, transcriptPathOf } from "../brain.ts";
import type { Config } from "../config.ts";
import { plainFilesIn } from "../plain-files.ts";
import { toPlainText } from "../plain-text.ts";
import type { SubagentSeen } from "./session-activity.ts";

export type Subagent = {
	/** Null until agy has named it. */
	readonly conversationId: string | null;
	/** `known`: only agy's folder names it. */
	readonly state: SubagentSeen["state"] | "known";
	/** These are null where only agy's folder names it. */
	readonly type: string | null;
	readonly role: string | null;
	/** The beginning of it. */
	readonly prompt: string | null;
	/** Milliseconds since it was started. */
	readonly ageMs: number | null;
	/** Milliseconds since it wrote its transcript last; null when it has none. */
	readonly quietMs: number | null;
};

const FILE = /^(.+)\.json$/;
/** Of more, the newest are shown. */
const MAX_SUBAGENTS = 100;

/** In the order they were started, those that only agy's folder names first. */
export async function listSubagents(
	place: Pick<Config, "geminiDir">,
	conversationId: string,
	seen: readonly SubagentSeen[],
	nowMs: number,
): Promise<readonly Subagent[]> {
	const known = new Set(seen.map((agent) => agent.conversationId));
	const others = (await plainFilesIn(subagentsDirOf(place, conversationId)))
		.map(({ name, madeMs, changedMs }) => ({
			id: FILE.exec(name)?.[1] ?? "",
			startedMs: madeMs > 0 ? madeMs : changedMs,
		}))
		.filter(({ id }) => isConversationId(id) && !known.has(id))
		.toSorted((a, b) => a.startedMs - b.startedMs)
		.map(
			({ id, startedMs }): Omit<Subagent, "quietMs"> => ({
				...{ conversationId: id, state: "known", type: null, role: null, prompt: null },
				ageMs: Math.max(0, Math.round(nowMs - startedMs)),
			}),
		);
	const told = seen.map(
		({ conversationId: id, state, type, role, prompt, startedAtMs }): Omit<Subagent, "quietMs"> => ({
			...{ conversationId: id, state, type: toPlainText(type), role: toPlainText(role), prompt: toPlainText(prompt) },
			ageMs: Math.max(0, nowMs - startedAtMs),
		}),
	);
	const rows = [...others, ...told].slice(-MAX_SUBAGENTS);
	return Promise.all(rows.map(async (row) => ({ ...row, quietMs: await quietMsOf(place, row.conversationId, nowMs) })));
}

async function quietMsOf(place: Pick<Config, "geminiDir">, id: string | null, nowMs: number): Promise<number | null> {
	if (id === null) return null;
	const file = await stat(transcriptPathOf(place, id)).catch(() => null); // It has not written one.
	return file === null ? null : Math.max(0, Math.round(nowMs - file.mtimeMs));
}
