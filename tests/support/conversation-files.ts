/** Conversation databases as a test writes them by itself: the tables that a reader needs, and nothing else. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Field, message, timestamp } from "./protobuf-writer.ts";

export type ConversationContent = {
	readonly cascadeId?: string;
	readonly createdMs?: number;
	/** Further fields of the metadata: 5 is the parent, 17 the depth, 7 a workspace. */
	readonly metadata?: readonly Field[];
	/** Of the first user row; null: there is none. */
	readonly prompt?: string | null;
	readonly promptMs?: number;
	/** As declared. */
	readonly columns?: string;
};

const COLUMNS = "step_type integer, status integer, step_payload blob, error_details blob, permissions blob";

/** Open, so that it has a log. */
export function writeConversation(folder: string, id: string, content: ConversationContent = {}): DatabaseSync {
	const { cascadeId = id, createdMs = Date.now(), metadata = [], prompt = "hi", columns = COLUMNS } = content;
	const db = new DatabaseSync(join(folder, `${id}.db`));
	db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE steps (idx integer PRIMARY KEY, ${columns});
		CREATE TABLE trajectory_meta (trajectory_id text, cascade_id text);
		CREATE TABLE trajectory_metadata_blob (id text, data blob);`);
	db.prepare("INSERT INTO trajectory_meta VALUES ('t', ?)").run(cascadeId);
	const blob = message([2, timestamp(createdMs)], ...metadata);
	db.prepare("INSERT INTO trajectory_metadata_blob VALUES ('main', ?)").run(blob);
	if (prompt !== null) {
		const made = message([1, timestamp(content.promptMs ?? createdMs)]);
		putRow(db, 0, 14, 3, message([5, made], [19, message([2, prompt])]));
	}
	return db;
}

export function putRow(
	db: DatabaseSync,
	idx: number,
	type: number,
	status: number,
	payload: Buffer | string | null,
): void {
	db.prepare("INSERT OR REPLACE INTO steps (idx, step_type, status, step_payload) VALUES (?, ?, ?, ?)").run(
		...[idx, type, status, payload],
	);
}
