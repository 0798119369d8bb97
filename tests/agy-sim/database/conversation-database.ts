/**
 * The database of one conversation: its identity, the numbering of its steps, and the writing of rows. Used for the
 * conversation of the session, for its subagents, and for strangers in the same folder.
 */

import { Commits, type StopAt } from "./commits.ts";
import { type CreationStage, DatabaseFile, type FileOptions } from "./database-file.ts";
import { parentReference, type TrajectoryDescription, trajectoryBlob, uuidOf } from "./side-blobs.ts";
import { type StepContext, StepRow } from "./step-row.ts";
import { STATUS, type StepKind, TERMINAL_STATUSES } from "./step-types.ts";
import { withStatus } from "./wire-fields.ts";

const NEVER = new AbortController().signal;
const CASCADE = 4;
const CLI = 17;

export type WriterOptions = FileOptions & {
	readonly stopAt: StopAt;
	readonly commitMs: number;
};

export const PLAIN_WRITER: WriterOptions = {
	schema: {},
	exclusive: false,
	journal: "wal",
	stopAt: async () => {},
	commitMs: 0,
};

export class ConversationDatabase {
	readonly id: string;
	readonly file: DatabaseFile;
	readonly commits: Commits;
	/** Of the turn that runs. */
	executionId: string;
	signal: AbortSignal = NEVER;
	readonly #options: WriterOptions;
	#trajectoryId: string;
	#nextIdx = 0;

	private constructor(path: string, id: string, options: WriterOptions) {
		this.id = id;
		this.#options = options;
		this.file = new DatabaseFile(path, options);
		this.commits = new Commits(this.file, options.stopAt, options.commitMs);
		this.#trajectoryId = uuidOf(`${id} trajectory 0`);
		this.executionId = uuidOf(`${id} turn 0`);
	}

	static async create(
		path: string,
		trajectory: TrajectoryDescription,
		options: WriterOptions,
	): Promise<ConversationDatabase> {
		const database = new ConversationDatabase(path, trajectory.conversationId, options);
		await database.#create(trajectory);
		return database;
	}

	static open(path: string, id: string, options: WriterOptions): ConversationDatabase {
		const database = new ConversationDatabase(path, id, options);
		database.file.openExisting();
		const [meta] = database.file.all("SELECT trajectory_id FROM trajectory_meta");
		database.#trajectoryId = String(meta?.trajectory_id ?? database.#trajectoryId);
		database.#nextIdx = database.file.nextIdx("steps");
		return database;
	}

	get context(): StepContext {
		return { cascadeId: this.id, trajectoryId: this.#trajectoryId, executionId: this.executionId };
	}

	get isEmpty(): boolean {
		return this.#nextIdx === 0;
	}

	/** A row that takes the next number at once, and is in the file only when it is put there. */
	newRow(kind: StepKind, source: number, status?: number): StepRow {
		const row = new StepRow(this.context, this.#nextIdx, kind, source);
		this.#nextIdx += 1;
		if (status !== undefined) row.become(status);
		return row;
	}

	/** The script has used this number. */
	noteIdx(idx: number): void {
		this.#nextIdx = Math.max(this.#nextIdx, idx + 1);
	}

	commit(write: () => void): Promise<void> {
		return this.commits.commit(this.signal, write);
	}

	commitRow(row: StepRow): Promise<void> {
		return this.commit(() => this.putRow(row));
	}

	putRow(row: StepRow): void {
		this.file.put("steps", "idx", row.columns());
	}

	/** What a resume finds unfinished is canceled in place. Returns how many rows that were. */
	async cancelOpenRows(): Promise<number> {
		const open = this.file
			.all("SELECT idx, status, step_payload FROM steps")
			.filter(({ status }) => !TERMINAL_STATUSES.includes(Number(status)));
		if (open.length === 0) return 0;
		await this.commit(() => {
			for (const { idx, step_payload: payload } of open) {
				const rewritten =
					payload instanceof Uint8Array ? { step_payload: withStatus(Buffer.from(payload), STATUS.canceled) } : {};
				this.file.put("steps", "idx", { idx: Number(idx), status: STATUS.canceled, ...rewritten });
			}
		});
		return open.length;
	}

	/** Steps from `to` on are gone, their numbers free again; what stays belongs to another trajectory from now on. */
	async rewind(to: number): Promise<void> {
		const before = this.#trajectoryId;
		const links = this.file.nextIdx("parent_references");
		this.#trajectoryId = uuidOf(`${this.id} trajectory ${links + 1}`);
		await this.commit(() => {
			const [{ calls = 0 } = {}] = this.file.all(
				"SELECT count(*) AS calls FROM steps WHERE idx < ? AND step_type = 15",
				to,
			);
			this.file.run("DELETE FROM steps WHERE idx >= ?", [to]);
			this.file.run("DELETE FROM gen_metadata WHERE idx >= ?", [Number(calls)]);
			this.file.run("UPDATE gen_metadata SET data = data");
			this.file.run("UPDATE trajectory_meta SET trajectory_id = ?", [this.#trajectoryId]);
			this.file.put("parent_references", "idx", {
				idx: links,
				data: parentReference(before, to, undefined, this.id),
			});
		});
		this.#nextIdx = to;
	}

	/** Gone from the disk and made again at the same path, with the same rows or none. */
	async recreate(trajectory: TrajectoryDescription, keepsRows: boolean): Promise<void> {
		const steps = keepsRows ? this.file.all("SELECT * FROM steps ORDER BY idx") : [];
		this.file.remove();
		await this.#create(trajectory);
		await this.commit(() => {
			for (const step of steps) this.file.put("steps", "idx", step as Parameters<DatabaseFile["put"]>[2]);
		});
		this.#nextIdx = steps.length === 0 ? 0 : this.file.nextIdx("steps");
	}

	async #create(trajectory: TrajectoryDescription): Promise<void> {
		const stop = (stage: CreationStage) => this.#options.stopAt(stage, 0, this.signal);
		await this.file.create(stop);
		await this.commit(() => {
			this.file.put("trajectory_meta", "trajectory_id", {
				trajectory_id: this.#trajectoryId,
				cascade_id: this.id,
				trajectory_type: CASCADE,
				source: CLI,
			});
			this.file.put("trajectory_metadata_blob", "id", { id: "main", data: trajectoryBlob(trajectory) });
		});
	}
}
