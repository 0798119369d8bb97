/**
 * Read-only view of one conversation database that agy writes. Facts: docs/protocols/agy-database.md.
 *
 * A look costs one `PRAGMA data_version` while nothing was committed. When something was, one read transaction finds the
 * rows whose status or length changed and reads those alone. Only `.all()`: an open iterator would hold the transaction,
 * and with it agy's WAL. The version counts as seen only after a good read, so that a failed one is made up for.
 */

import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { StepRow } from "../decode/step-payload.ts";

/** What identifies a conversation, as far as its file says already. */
export type ConversationIdentity = {
	readonly cascadeId: string;
	readonly trajectoryId: string;
	/** `trajectory_metadata_blob`; null while there is none. */
	readonly metadata: Uint8Array | null;
};

export type DbProblem = {
	/** `not-yet`: agy is still making it, or holds it; the next look may find it. */
	readonly kind: "not-yet" | "unreadable";
	readonly message: string;
};

type Head = { readonly idx: number; readonly status: number; readonly length: number };

/** A checkpoint by another process can make a reader wait for a moment; longer, and the next look tries again. */
const BUSY_TIMEOUT_MS = 20;
/** SQLite's primary codes: an error of the schema that is still being made, busy, locked, cannot open. */
const NOT_YET_CODES = new Set([1, 5, 6, 14]);
/** SQLITE_READONLY: of a reader, that it may not make the files it needs beside the database. */
const READ_ONLY = 8;
/** SQLITE_CANTOPEN: the same where the log is there and its index is not. */
const CANNOT_OPEN = 14;

export class ConversationDb {
	readonly path: string;
	/** `user_version`. */
	readonly schemaVersion: number;
	readonly #db: DatabaseSync;
	readonly #inode: number;
	readonly #version: StatementSync;
	readonly #heads: StatementSync;
	readonly #row: StatementSync;
	/** By idx: what was read last. */
	readonly #known = new Map<number, Head>();
	#seenVersion = -1;
	/** Row SELECTs so far, for tests and statistics. */
	selects = 0;

	private constructor(path: string, inode: number, db: DatabaseSync) {
		this.path = path;
		this.#inode = inode;
		this.#db = db;
		this.schemaVersion = Number(db.prepare("PRAGMA user_version").all()[0]?.user_version);
		this.#version = db.prepare("PRAGMA data_version");
		this.#version.setReturnArrays(true); // An object with a named property costs as much as the look itself.
		const columns = new Set(
			db
				.prepare("PRAGMA table_info(steps)")
				.all()
				.map((column) => String(column.name)),
		);
		if (!columns.has("idx")) throw new Error("no such table: steps");
		const column = (name: string) => (columns.has(name) ? `"${name}"` : "NULL");
		this.#heads = db.prepare(
			`SELECT idx, ${column("status")} AS status, length(${column("step_payload")}) AS length FROM steps WHERE idx >= ? ORDER BY idx`,
		);
		this.#row = db.prepare(
			`SELECT ${column("step_type")} AS type, ${column("status")} AS status, ${column("step_payload")} AS payload, ${column("error_details")} AS errorDetails, ${column("permissions")} AS permissions FROM steps WHERE idx = ?`,
		);
	}

	/**
	 * Opens the file, which may not be there or not be complete yet. While `isLive`, one without commits in a WAL is left
	 * alone: agy makes it with a rollback journal, where a reader's lock can make agy's commit fail, and so can one that
	 * sets the WAL up first. Later readers block nobody.
	 */
	static open(path: string, isLive: boolean): ConversationDb | DbProblem {
		try {
			if (isLive && statSync(`${path}-wal`).size === 0) return { kind: "not-yet", message: `${path} is being made` };
			return ConversationDb.#openAs(path, path);
		} catch (error) {
			const code = codeOf(error);
			const hasLog = existsSync(`${path}-wal`);
			if (code !== READ_ONLY && !(code === CANNOT_OPEN && hasLog && !isLive)) return toProblem(error);
			if (isLive || hasLog) return { kind: "unreadable", message: toFolderMessage(path) };
		}
		// SQLite reads a database with a log only where it may write beside it; this one is finished and has none.
		const url = pathToFileURL(path);
		url.searchParams.set("immutable", "1");
		try {
			return ConversationDb.#openAs(path, url);
		} catch (error) {
			return toProblem(error);
		}
	}

	static #openAs(path: string, location: string | URL): ConversationDb {
		const { ino } = statSync(path);
		const db = new DatabaseSync(location, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
		try {
			return new ConversationDb(path, ino, db);
		} catch (error) {
			db.close();
			throw error;
		}
	}

	/** Another file stands at the path by now: this one will never change again. */
	get isReplaced(): boolean {
		try {
			return statSync(this.path).ino !== this.#inode;
		} catch {
			return true;
		}
	}

	/**
	 * The rows from `fromIdx` on that changed since they were last read, in order; none, and no row read at all, while
	 * nothing was committed. `isFinal` reads all of them, whatever the version and their heads say. Throws what SQLite
	 * throws; nothing is missed then.
	 */
	readChanged(fromIdx: number, isFinal = false): readonly StepRow[] {
		const [[version] = []] = this.#version.all() as unknown as readonly (readonly number[])[];
		if (version === undefined) throw new Error("PRAGMA data_version gave nothing");
		if (version === this.#seenVersion && !isFinal) return [];
		const rows = this.#inTransaction(() => this.#readChanged(fromIdx, isFinal));
		this.#seenVersion = version;
		return rows;
	}

	/** What the file says about itself; null while it does not. Throws what SQLite throws. */
	identity(): ConversationIdentity | null {
		return this.#inTransaction(() => {
			const meta = this.#db
				.prepare("SELECT trajectory_id AS trajectoryId, cascade_id AS cascadeId FROM trajectory_meta")
				.all()[0];
			if (!meta) return null;
			const blob = this.#db.prepare("SELECT data FROM trajectory_metadata_blob WHERE id = 'main'").all()[0]?.data;
			return {
				cascadeId: String(meta.cascadeId),
				trajectoryId: String(meta.trajectoryId),
				metadata: blob instanceof Uint8Array ? blob : null,
			};
		});
	}

	/** The first row of a type. Throws what SQLite throws. */
	firstOfType(type: number): StepRow | null {
		return this.#edgeOfType("min", type);
	}

	/** The last row of a type. Throws what SQLite throws. */
	lastOfType(type: number): StepRow | null {
		return this.#edgeOfType("max", type);
	}

	#edgeOfType(edge: "min" | "max", type: number): StepRow | null {
		return this.#inTransaction(() => {
			const sql = `SELECT ${edge}(idx) AS idx FROM steps WHERE step_type = ?`;
			const idx = this.#db.prepare(sql).all(type)[0]?.idx;
			return typeof idx === "number" ? this.#readRow(idx) : null;
		});
	}

	close(): void {
		this.#db.close();
	}

	#readChanged(fromIdx: number, isWhole: boolean): readonly StepRow[] {
		this.selects++;
		const rows: StepRow[] = [];
		const heads: Head[] = [];
		for (const raw of this.#heads.all(fromIdx)) {
			const head = { idx: Number(raw.idx), status: Number(raw.status), length: Number(raw.length ?? 0) };
			const known = this.#known.get(head.idx);
			if (!isWhole && known && known.status === head.status && known.length === head.length) continue;
			const row = this.#readRow(head.idx);
			if (!row) continue;
			heads.push(head);
			rows.push(row);
		}
		for (const head of heads) this.#known.set(head.idx, head);
		return rows;
	}

	#readRow(idx: number): StepRow | null {
		const raw = this.#row.all(idx)[0];
		if (!raw) return null;
		return {
			idx,
			type: Number(raw.type),
			status: Number(raw.status),
			payload: toBlob(raw.payload),
			errorDetails: toBlob(raw.errorDetails),
			permissions: toBlob(raw.permissions),
		};
	}

	#inTransaction<T>(work: () => T): T {
		this.#db.exec("BEGIN");
		try {
			return work();
		} finally {
			this.#db.exec("COMMIT");
		}
	}
}

/** SQLite's primary code; null of another error. */
function codeOf(error: unknown): number | null {
	const { errcode } = error as { readonly errcode?: number };
	return errcode === undefined ? null : errcode & 0xff;
}

function toFolderMessage(path: string): string {
	return `${path} cannot be read: its folder is not writable, which SQLite needs as long as the database has a log. Give this user write access to ${dirname(path)}.`;
}

function toProblem(error: unknown): DbProblem {
	const { code, message } = error as { readonly code?: string; readonly message: string };
	const sqliteCode = codeOf(error);
	const isNotYet =
		code === "ENOENT" || (sqliteCode !== null && NOT_YET_CODES.has(sqliteCode)) || /no such table/.test(message);
	return { kind: isNotYet ? "not-yet" : "unreadable", message };
}

function toBlob(value: unknown): Uint8Array | string | null {
	return value instanceof Uint8Array || typeof value === "string" ? value : null;
}
