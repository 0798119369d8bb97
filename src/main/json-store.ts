/**
 * One JSON file of ours under <pi agent dir>/pi-agy/: private (0600 in a 0700 directory), replaced atomically, safe
 * against other pi processes (a lock file with a proven owner) and against other versions (unknown keys are kept by
 * whoever spreads what it read). A damaged file is moved aside, never overwritten.
 */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { JsonObject } from "../shared/events.ts";
import { lock } from "./file-lock.ts";

export class JsonStore {
	readonly path: string;
	#queue: Promise<unknown> = Promise.resolve();

	constructor(path: string) {
		this.path = path;
	}

	/** The file's object; `{}` when there is none or it is damaged. For start-up, before any turn runs. */
	readSync(): JsonObject {
		try {
			return toObject(readFileSync(this.path, "utf8")) ?? {};
		} catch {
			return {}; // Missing or unreadable: the first update reports what cannot be written.
		}
	}

	async read(): Promise<JsonObject> {
		const source = await readFile(this.path, "utf8").catch(() => null); // Missing is the same as empty.
		return source === null ? {} : (toObject(source) ?? {});
	}

	/** Reads, changes and replaces the file under the lock. Updates of one store run in the order they were asked for. */
	update(change: (current: JsonObject) => JsonObject | Promise<JsonObject>): Promise<void> {
		const result = this.#queue.then(() => this.#updateLocked(change));
		this.#queue = result.catch(() => {}); // The caller of the failed update was told; the next one starts afresh.
		return result;
	}

	/** Resolves when every update asked for so far is done. */
	async settled(): Promise<void> {
		await this.#queue;
	}

	async #updateLocked(change: (current: JsonObject) => JsonObject | Promise<JsonObject>): Promise<void> {
		await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
		const release = await lock(`${this.path}.lock`);
		try {
			const source = await readFile(this.path, "utf8").catch(() => null); // Missing is the same as empty.
			const current = source === null ? {} : toObject(source);
			if (current === null) await rename(this.path, `${this.path}.damaged-${randomUUID().slice(0, 8)}`);
			await replace(this.path, `${JSON.stringify(await change(current ?? {}), null, "\t")}\n`);
		} finally {
			await release();
		}
	}
}

function toObject(source: string): JsonObject | null {
	try {
		const value: unknown = JSON.parse(source);
		return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
	} catch {
		return null; // Damaged: update() moves the file aside.
	}
}

async function replace(path: string, content: string): Promise<void> {
	const temporary = `${path}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`;
	try {
		await writeFile(temporary, content, { mode: 0o600 });
		await rename(temporary, path);
	} catch (error) {
		await rm(temporary, { force: true });
		throw error;
	}
}
