/**
 * Finds or makes the conversation of a run. An id that is not known gives a new conversation and a warning, as in agy;
 * new ids count up through the state folder, each claimed by creating its file exclusively, so that processes running at
 * once never share one.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunOptions } from "../command-line/command.ts";
import type { Home } from "../process/home.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { Conversation, type ConversationRecord, newRecord } from "./conversation.ts";

export type OpenedConversation = {
	readonly conversation: Conversation;
	readonly resumed: boolean;
	/** For stderr, when the wanted id was not found. */
	readonly warning: string | undefined;
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function openConversation(
	home: Home,
	options: RunOptions,
	workspace: string,
	scenario: Scenario,
): OpenedConversation {
	mkdirSync(home.conversationsPath, { recursive: true, mode: 0o700 });
	const wanted = options.conversation ?? (options.continueLast ? lastConversation(home, workspace) : undefined);
	const known = wanted === undefined || scenario.start?.resume === "other" ? undefined : readRecord(home, wanted);
	const record = known ?? claimRecord(home, workspace, scenario.start?.conversationId);
	rememberLast(home, workspace, record.id);
	return {
		conversation: new Conversation(home, record),
		resumed: known !== undefined,
		warning: wanted !== undefined && known === undefined ? `warning: conversation "${wanted}" not found` : undefined,
	};
}

/** Takes the presence lock; undefined when it is ours, else the pid of the process that holds it. */
export function lockConversation(home: Home, id: string): number | undefined {
	mkdirSync(home.presencePath, { recursive: true, mode: 0o700 });
	const path = lockPath(home, id);
	try {
		writeFileSync(path, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
		return undefined;
	} catch {
		// the lock exists: it counts only while its owner lives
		const owner = Number(readFileSync(path, "utf8"));
		if (isAlive(owner)) return owner;
		writeFileSync(path, `${process.pid}\n`, { mode: 0o600 });
		return undefined;
	}
}

export function unlockConversation(home: Home, id: string): void {
	rmSync(lockPath(home, id), { force: true });
}

function lockPath(home: Home, id: string): string {
	return join(home.presencePath, `${id}.lock`);
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false; // no such process
	}
}

function readRecord(home: Home, id: string): ConversationRecord | undefined {
	if (!UUID.test(id)) return undefined;
	try {
		return JSON.parse(readFileSync(join(home.conversationsPath, `${id}.json`), "utf8"));
	} catch {
		return undefined; // not known here
	}
}

function claimRecord(home: Home, workspace: string, fixedId: string | undefined): ConversationRecord {
	const known = readdirSync(home.conversationsPath).filter((name) => name.endsWith(".json")); // and not the databases
	for (let number = known.length + 1; ; number++) {
		const counted = `c0ffee00-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
		const record = newRecord(fixedId ?? counted, workspace);
		const flag = fixedId === undefined ? "wx" : "w";
		try {
			writeFileSync(join(home.conversationsPath, `${record.id}.json`), `${JSON.stringify(record)}\n`, {
				flag,
				mode: 0o600,
			});
			return record;
		} catch (error) {
			if (!isExistsError(error)) throw error;
		}
	}
}

function isExistsError(error: unknown): boolean {
	return error instanceof Error && "code" in error && error.code === "EEXIST";
}

function lastConversation(home: Home, workspace: string): string | undefined {
	return readLast(home)[workspace];
}

function rememberLast(home: Home, workspace: string, id: string): void {
	mkdirSync(home.cachePath, { recursive: true, mode: 0o700 });
	const last = { ...readLast(home), [workspace]: id };
	writeFileSync(join(home.cachePath, "last_conversations.json"), `${JSON.stringify(last)}\n`, { mode: 0o600 });
}

function readLast(home: Home): Readonly<Record<string, string>> {
	try {
		return JSON.parse(readFileSync(join(home.cachePath, "last_conversations.json"), "utf8"));
	} catch {
		return {}; // none yet, or another process is writing it: the cache is racy in agy too
	}
}
