/** A conversation database as agy writes it, for the poll suite: its tables, a user row, and a planner row that grows. */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { schemaStatements } from "../../tests/agy-sim/database/schema.ts";
import { type Field, message, timestamp } from "../../tests/support/protobuf-writer.ts";

const GENERATING = 8;
const DONE = 3;
const USER_INPUT = 14;
const PLANNER = 15;

export class ConversationWriter {
	readonly id = randomUUID();
	readonly path: string;
	readonly #db: DatabaseSync;
	readonly #insert: StatementSync;
	readonly #update: StatementSync;
	#idx = 0;
	#text = "";

	constructor(directory: string, prompt: string) {
		this.path = join(directory, `${this.id}.db`);
		this.#db = new DatabaseSync(this.path);
		for (const statement of schemaStatements({})) this.#db.exec(statement);
		this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
		this.#db.prepare("INSERT INTO trajectory_meta VALUES (?, ?, 4, 17)").run(randomUUID(), this.id);
		this.#db
			.prepare("INSERT INTO trajectory_metadata_blob VALUES ('main', ?)")
			.run(message([2, timestamp(Date.now())]));
		this.#insert = this.#db.prepare(
			"INSERT INTO steps (idx, step_type, status, metadata, step_payload) VALUES (?, ?, ?, ?, ?)",
		);
		this.#update = this.#db.prepare("UPDATE steps SET status = ?, step_payload = ? WHERE idx = ?");
		this.addRow(USER_INPUT, DONE, [19, message([2, prompt])]);
	}

	/** Appends a row; one commit. */
	addRow(type: number, status: number, kind: Field): void {
		const idx = this.#idx++;
		const metadata = message([1, timestamp(Date.now())]);
		this.#insert.run(idx, type, status, metadata, message([1, type], [4, status], [5, metadata], kind));
	}

	/** Begins a model call whose text `grow` extends in place. */
	beginAnswer(): void {
		this.#text = "";
		this.addRow(PLANNER, GENERATING, [20, message([1, ""])]);
	}

	/** One commit, as agy's: the whole text again, twice. */
	grow(more: string, isDone = false): void {
		this.#text += more;
		const status = isDone ? DONE : GENERATING;
		const metadata = message([1, timestamp(Date.now())]);
		const planner = message([1, this.#text], [8, this.#text]);
		this.#update.run(status, message([1, PLANNER], [4, status], [5, metadata], [20, planner]), this.#idx - 1);
	}

	close(): void {
		this.#db.close();
	}
}
