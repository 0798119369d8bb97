/**
 * One JSON file of ours under <pi agent dir>/pi-agy/: private (0600 in a 0700 directory), replaced atomically, safe
 * against other pi processes (a lock file with a proven owner) and against other versions (unknown keys are kept by
 * whoever spreads what it read). A damaged file is never overwritten: it is moved aside, or, where a person wrote it,
 * left as it is.
 */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { AgyError } from "../shared/errors.ts";
import type { JsonObject } from "../shared/events.ts";
import { draftOf } from "./drafts.ts";
import { lock, type Release } from "./file-lock.ts";
import { removeOwn } from "./removal.ts";

const STUCK_TIMEOUT_MS = 200;

export class JsonStore {
	readonly path: string;
	readonly #onDamage: "move-aside" | "refuse";
	#queue: Promise<unknown> = Promise.resolve();
	#isStuck = false;

	/** `refuse` has an update of a damaged file fail with `not-writable`. Default: move-aside. */
	constructor(path: string, onDamage: "move-aside" | "refuse" = "move-aside") {
		this.path = path;
		this.#onDamage = onDamage;
	}

	/** The file's object; `{}` when there is none or it is damaged. For start-up, before any turn runs. */
	readSync(): JsonObject {
		return this.inspectSync().object;
	}

	/** The same with what is wrong with the file; "" when nothing is, or there is none. */
	inspectSync(): { readonly object: JsonObject; readonly problem: string } {
		try {
			const object = toObject(readFileSync(this.path, "utf8"));
			return object === null ? { object: {}, problem: "it is no JSON object" } : { object, problem: "" };
		} catch (error) {
			const { code, message } = error as NodeJS.ErrnoException;
			return { object: {}, problem: code === "ENOENT" || code === "ENOTDIR" ? "" : message };
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

	/** A lock that was once not to be had is not waited for as long again. */
	async #lock(): Promise<Release> {
		try {
			const release = await lock(`${this.path}.lock`, this.#isStuck ? STUCK_TIMEOUT_MS : undefined);
			this.#isStuck = false;
			return release;
		} catch (error) {
			this.#isStuck = true;
			throw error;
		}
	}

	async #updateLocked(change: (current: JsonObject) => JsonObject | Promise<JsonObject>): Promise<void> {
		await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
		const release = await this.#lock();
		try {
			const current = await readFile(this.path, "utf8").then(toObject, (error: NodeJS.ErrnoException) =>
				error.code === "ENOENT" ? {} : null,
			);
			if (current === null && this.#onDamage === "refuse")
				throw new AgyError(
					"not-writable",
					`${this.path} is no JSON object and is left as it is. Correct it, or remove it.`,
				);
			if (current === null) await rename(this.path, `${this.path}.damaged-${randomUUID().slice(0, 8)}`);
			await replace(this.path, `${JSON.stringify(await change(current ?? {}), null, "\t")}\n`);
		} finally {
			await release();
		}
	}
}

function toObject(source: string): JsonObject | null {
	try {
		const value: unknown = JSON.parse(source.replace(/^\uFEFF/, "")); // Some editors put a byte order mark there.
		return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
	} catch {
		return null; // Damaged: update() moves the file aside.
	}
}

async function replace(path: string, content: string): Promise<void> {
	const temporary = draftOf(path);
	try {
		await writeFile(temporary, content, { mode: 0o600 });
		await rename(temporary, path);
	} catch (error) {
		await removeOwn(temporary).catch(() => {}); // It is tried again; the first error says what is wrong.
		throw error;
	}
}
