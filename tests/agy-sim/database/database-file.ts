/**
 * One conversation database on disk, held open by this process as agy holds its own. It appears the way agy's does: an empty
 * file, then the tables under a rollback journal, then the write-ahead log.
 * A process that exits without close() leaves -wal and -shm behind, as print runs of agy do.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { type SchemaVariant, schemaStatements } from "./schema.ts";

export type FileOptions = {
	readonly schema: SchemaVariant;
	/** Nobody else may read while the file is open. */
	readonly exclusive: boolean;
	/** `delete`: the file never leaves the rollback journal. */
	readonly journal: "wal" | "delete";
};

/** A place in the creation of the file, for whoever wants to stop there. */
export type CreationStage = "empty-file" | "schema" | "wal";
export type RowValues = Readonly<Record<string, SQLInputValue>>;

export class DatabaseFile {
	readonly path: string;
	readonly #options: FileOptions;
	#handle: DatabaseSync | undefined;

	constructor(path: string, options: FileOptions) {
		this.path = path;
		this.#options = options;
	}

	async create(stop: (stage: CreationStage) => Promise<void>): Promise<void> {
		mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
		writeFileSync(this.path, "", { mode: 0o600 });
		await stop("empty-file");
		const handle = this.#open();
		for (const statement of schemaStatements(this.#options.schema)) handle.exec(statement);
		await stop("schema");
		if (this.#options.journal === "wal") handle.exec("PRAGMA journal_mode = WAL");
		await stop("wal");
	}

	openExisting(): void {
		this.#open();
	}

	/** Any SQL; without parameters it may be several statements. */
	run(sql: string, parameters: readonly SQLInputValue[] = []): void {
		if (parameters.length === 0) this.#db.exec(sql);
		else this.#db.prepare(sql).run(...parameters);
	}

	all(sql: string, ...parameters: readonly SQLInputValue[]): readonly Readonly<Record<string, unknown>>[] {
		return this.#db.prepare(sql).all(...parameters);
	}

	/** Inserts the row, or changes the given columns of the one that is there. Columns and tables that are missing are left out. */
	put(table: string, key: string, values: RowValues): void {
		const present = this.all(`SELECT name FROM pragma_table_info('${table}')`).map(({ name }) => name);
		const names = Object.keys(values).filter((name) => present.includes(name));
		if (names.length === 0) return;
		const updates = names.filter((name) => name !== key).map((name) => `\`${name}\` = excluded.\`${name}\``);
		this.run(
			`INSERT INTO \`${table}\` (${names.map((name) => `\`${name}\``).join(",")}) ` +
				`VALUES (${names.map(() => "?").join(",")}) ` +
				`ON CONFLICT (\`${key}\`) DO ${updates.length === 0 ? "NOTHING" : `UPDATE SET ${updates.join(",")}`}`,
			names.map((name) => values[name] ?? null),
		);
	}

	/** Next free number of a table with an `idx`. */
	nextIdx(table: string): number {
		const [row] = this.all(`SELECT max(idx) AS last FROM \`${table}\``);
		return row === undefined || row.last === null ? 0 : Number(row.last) + 1;
	}

	get isInTransaction(): boolean {
		return this.#handle?.isTransaction ?? false;
	}

	/** Checkpoints and removes -wal and -shm, unless somebody else has the file open. May be called twice. */
	close(): void {
		this.#handle?.close();
		this.#handle = undefined;
	}

	/** Closes and deletes the file with everything beside it. */
	remove(): void {
		this.close();
		for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${this.path}${suffix}`, { force: true });
	}

	get #db(): DatabaseSync {
		if (this.#handle === undefined) throw new Error(`${this.path} is not open`);
		return this.#handle;
	}

	#open(): DatabaseSync {
		const handle = new DatabaseSync(this.path);
		handle.exec("PRAGMA synchronous = OFF"); // a kill loses nothing by it, and no reader can tell
		if (this.#options.exclusive) handle.exec("PRAGMA locking_mode = EXCLUSIVE");
		this.#handle = handle;
		return handle;
	}
}
