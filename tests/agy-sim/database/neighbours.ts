/**
 * Other conversations in the same folder: a subagent's, a stranger's that appears about the same time, and the hundreds that
 * lie there from earlier. Each is complete and consistent in itself.
 */
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "../process/home.ts";
import type { NeighbourScript } from "../scenario/database.ts";
import { modelCallUsage } from "../wire/usage.ts";
import { AnswerRow } from "./answer-row.ts";
import { ConversationDatabase, PLAIN_WRITER } from "./conversation-database.ts";
import { type TrajectoryDescription, uuidOf } from "./side-blobs.ts";
import { ephemeralMessage, userInput } from "./step-content.ts";
import { EPHEMERAL, HISTORY, SOURCE, STATUS, USER_INPUT } from "./step-types.ts";

const DEFAULT_PROMPT = "Something else entirely.";
const OLD_FILE_AGE_SECONDS = 86_400;

export function databasePath(home: Home, conversationId: string): string {
	return join(home.conversationsPath, `${conversationId}.db`);
}

/** A conversation of one finished turn, still open in this process. */
export async function writeConversation(
	home: Home,
	trajectory: TrajectoryDescription,
	prompt: string,
	answer: string,
): Promise<ConversationDatabase> {
	const path = databasePath(home, trajectory.conversationId);
	const database = await ConversationDatabase.create(path, trajectory, PLAIN_WRITER);
	database.executionId = uuidOf(`${database.id} turn 1`);
	await writeUserRows(database, prompt);
	const row = new AnswerRow(database, {}, {});
	await row.begin();
	await row.grow(answer);
	await row.finish(answer, modelCallUsage(true, answer), []);
	return database;
}

/** What stands before the answer: the prompt, in a new conversation the history, and the reminder. */
export async function writeUserRows(database: ConversationDatabase, prompt: string): Promise<void> {
	const isFirst = database.isEmpty;
	const user = database.newRow(USER_INPUT, SOURCE.user, STATUS.done);
	user.content = userInput(prompt);
	await database.commitRow(user);
	if (isFirst) await database.commitRow(bookkeepingRow(database, HISTORY, Buffer.alloc(0)));
	await database.commitRow(bookkeepingRow(database, EPHEMERAL, ephemeralMessage()));
}

/** A row of the system's: over before anybody can see it begin. */
export function bookkeepingRow(database: ConversationDatabase, kind: typeof HISTORY, content: Buffer) {
	const row = database.newRow(kind, SOURCE.system, STATUS.pending);
	row.become(STATUS.running);
	row.become(STATUS.done);
	row.content = content;
	return row;
}

export async function addNeighbour(home: Home, script: NeighbourScript, seed: string): Promise<void> {
	const conversationId = script.id ?? uuidOf(seed);
	const family = script.parentId === undefined ? {} : { parentId: script.parentId, rootId: script.parentId, depth: 1 };
	const workspaces = script.workspace === undefined ? [] : [script.workspace];
	const trajectory = { conversationId, workspaces, ...family };
	const database = await writeConversation(home, trajectory, script.prompt ?? DEFAULT_PROMPT, "Something else.\n");
	if (!script.keepsOpen) database.file.close();
}

/** Finished conversations of yesterday: one is written, the others are its bytes under other ids. */
export async function addOldFiles(home: Home, count: number): Promise<void> {
	mkdirSync(home.conversationsPath, { recursive: true, mode: 0o700 });
	const ids = Array.from({ length: count }, (_, number) => uuidOf(`old conversation ${number}`));
	const [first, ...others] = ids;
	if (first === undefined) return;
	const database = await writeConversation(home, { conversationId: first, workspaces: [] }, DEFAULT_PROMPT, "Old.\n");
	database.file.close();
	const bytes = readFileSync(databasePath(home, first)).toString("latin1"); // one character a byte: nothing is lost
	for (const id of others) {
		writeFileSync(databasePath(home, id), bytes.replaceAll(first, id), { encoding: "latin1", mode: 0o600 });
	}
	const seconds = Date.now() / 1000 - OLD_FILE_AGE_SECONDS;
	for (const id of ids) utimesSync(databasePath(home, id), seconds, seconds);
}
