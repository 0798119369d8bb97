/**
 * The transactions of one database, strictly one after the other, whoever asks for them: a step of the script or the timer
 * of a growing answer. A pause of the scenario holds the writer at a commit until a test lets it go on.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseFile } from "./database-file.ts";

/** Where the writer may be held; a commit has its number. */
export type PausePlace = "start" | "empty-file" | "schema" | "wal" | "before-commit" | "after-commit";
export type StopAt = (place: PausePlace, commitNumber: number, signal: AbortSignal) => Promise<void>;

export class Commits {
	readonly #file: DatabaseFile;
	readonly #stopAt: StopAt;
	readonly #heldMs: number;
	#number = 0;
	#last: Promise<void> = Promise.resolve();
	#isHeld = false;

	constructor(file: DatabaseFile, stopAt: StopAt, heldMs: number) {
		this.#file = file;
		this.#stopAt = stopAt;
		this.#heldMs = heldMs;
	}

	/** One transaction, or a part of the one the script has begun. An abort while it waits takes it back. */
	commit(signal: AbortSignal, write: () => void): Promise<void> {
		return this.#queue(async () => {
			if (this.#isHeld) return write();
			this.#file.run("BEGIN IMMEDIATE");
			try {
				write();
				await this.#finish(signal);
			} catch (error) {
				if (this.#file.isInTransaction) this.#file.run("ROLLBACK");
				throw error;
			}
			await this.#stopAt("after-commit", this.#number, signal);
		});
	}

	/** Work that must not fall into somebody's transaction, except the one the script has begun. */
	between(work: () => void): Promise<void> {
		return this.#queue(async () => work());
	}

	/** Everything until end() is one transaction. */
	begin(): Promise<void> {
		return this.#queue(async () => {
			this.#file.run("BEGIN IMMEDIATE");
			this.#isHeld = true;
		});
	}

	end(how: "commit" | "rollback", signal: AbortSignal): Promise<void> {
		return this.#queue(async () => {
			this.#isHeld = false;
			if (how === "rollback") return this.#file.run("ROLLBACK");
			await this.#finish(signal);
			await this.#stopAt("after-commit", this.#number, signal);
		});
	}

	async #finish(signal: AbortSignal): Promise<void> {
		this.#number += 1;
		if (this.#heldMs > 0) await sleep(this.#heldMs);
		await this.#stopAt("before-commit", this.#number, signal);
		this.#file.run("COMMIT");
	}

	/** A failure is the caller's alone; the next in line still gets its turn. */
	#queue(work: () => Promise<void>): Promise<void> {
		const done = this.#last.then(work);
		this.#last = done.catch(() => {});
		return done;
	}
}
