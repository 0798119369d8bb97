/**
 * Which conversation a run of agy writes, and the proof. agy names it only on stdout of newer versions, so candidates are
 * looked for: databases touched since the run began. A candidate is the run's when its file says so itself (see
 * `isProven`) and, where the system lets one look, when a process of the run holds it open. No proof, no conversation:
 * another one's answer would be shown.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodeStep, type StepRow } from "../decode/step-payload.ts";
import { ConversationDb } from "./conversation-db.ts";
import { decodeTrajectoryMetadata } from "./trajectory.ts";

export type RunStart = {
	readonly conversationsDir: string;
	readonly prompt: string;
	readonly workspace: string;
	/** Wall clock, ms. */
	readonly startedAtMs: number;
};

export type Finding =
	| { readonly kind: "found"; readonly conversationId: string }
	/** Nothing proven yet. `candidates` were looked at. */
	| { readonly kind: "none"; readonly candidates: number }
	/** More than one is proven, and nothing tells them apart. */
	| { readonly kind: "ambiguous"; readonly conversationIds: readonly string[] };

/** The file of a conversation; its stem is the id. */
export const DATABASE = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.db$/;
/** Clocks of file systems and of agy's stamps are coarser than ours. */
const CLOCK_SLACK_MS = 2_000;
/** `step_type` of what the user typed. */
export const USER_INPUT = 14;

/**
 * `heldIds` are the conversations that the run's processes hold open; null where that cannot be seen. `isLive` while the
 * process runs.
 */
export function findConversation(run: RunStart, heldIds: ReadonlySet<string> | null, isLive: boolean): Finding {
	const candidates = candidatesOf(run);
	// Those of other processes are not even opened.
	const held = heldIds === null ? candidates : candidates.filter((id) => heldIds.has(id));
	const own = held.filter((id) => isProven(join(run.conversationsDir, `${id}.db`), id, run, isLive));
	const [first] = own;
	if (first === undefined) return { kind: "none", candidates: candidates.length };
	return own.length === 1 ? { kind: "found", conversationId: first } : { kind: "ambiguous", conversationIds: own };
}

/** Databases written since the run began. A directory that is not there yet has none. */
function candidatesOf({ conversationsDir, startedAtMs }: RunStart): readonly string[] {
	const names = readNames(conversationsDir);
	const candidates: string[] = [];
	for (const name of names) {
		const id = DATABASE.exec(name)?.[1];
		if (id === undefined) continue;
		const path = join(conversationsDir, name);
		const touchedMs = Math.max(mtimeMsOf(path), mtimeMsOf(`${path}-wal`));
		if (touchedMs >= startedAtMs - CLOCK_SLACK_MS) candidates.push(id);
	}
	return candidates;
}

/**
 * The file is about itself, has no parent (a sub-agent's has), was made after the run began, in the run's workspace where
 * it names one, and begins with the prompt.
 */
function isProven(path: string, id: string, { prompt, workspace, startedAtMs }: RunStart, isLive: boolean): boolean {
	const db = ConversationDb.open(path, isLive);
	if (!(db instanceof ConversationDb)) return false;
	try {
		const identity = db.identity();
		if (identity === null || identity.cascadeId !== id || identity.metadata === null) return false;
		const { parentId, nestingDepth, createdMs, workspaceUris } = decodeTrajectoryMetadata(identity.metadata).value;
		if (parentId !== "" || nestingDepth > 0) return false;
		if (createdMs !== null && createdMs < startedAtMs - CLOCK_SLACK_MS) return false;
		if (workspaceUris.length > 0 && !workspaceUris.some((uri) => isFolder(uri, workspace))) return false;
		const row = db.firstOfType(USER_INPUT);
		return row !== null && isPromptOf(row, { prompt, startedAtMs });
	} catch {
		return false; // Not there yet, busy, or no database: the next look decides.
	} finally {
		db.close();
	}
}

function isFolder(uri: string, path: string): boolean {
	try {
		return fileURLToPath(uri) === path;
	} catch {
		return false; // Another kind of URI.
	}
}

/** Whether the row is the run's prompt: the same text, said after the run began. */
export function isPromptOf(row: StepRow, { prompt, startedAtMs }: Pick<RunStart, "prompt" | "startedAtMs">): boolean {
	const { userText, createdMs } = decodeStep(row).value;
	return userText === prompt && (createdMs === null || createdMs >= startedAtMs - CLOCK_SLACK_MS);
}

function readNames(directory: string): readonly string[] {
	try {
		return readdirSync(directory);
	} catch {
		return []; // Not there, or not ours to read.
	}
}

function mtimeMsOf(path: string): number {
	try {
		return statSync(path).mtimeMs;
	} catch {
		return 0; // Not there.
	}
}
