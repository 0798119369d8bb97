/**
 * agy's mcp_config.json on disk. It belongs to the user: it is changed under a lock between pi processes and replaced as a
 * whole, at the place a link points to, and private from then on, because our entries hold a secret. Bytes that are no
 * UTF-8 and a text that is not understood are refused and stay as they are.
 */

import { lstat, mkdir, readdir, readFile, readlink, realpath, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AgyError } from "../../shared/errors.ts";
import { draftOf, sweepDrafts } from "../drafts.ts";
import { lock, type Release, removeIfAbandoned } from "../file-lock.ts";
import { removeOwn } from "../removal.ts";
import { serverNamesIn } from "./mcp-config-text.ts";

/** Other programs do not know our lock. One that writes between each of so many reads and writes is no editor. */
const MAX_ATTEMPTS = 20;

export class McpConfigFile {
	readonly #path: string;
	#queue: Promise<unknown> = Promise.resolve();

	constructor(path: string) {
		this.#path = path;
	}

	/** The text; null when there is no file. Throws a `bad-setting` when it is not understood. */
	async read(): Promise<string | null> {
		return this.#readAt(await this.#target());
	}

	/**
	 * Under the lock: hands the text to `work` and replaces it by what that returns; null is no file. When another program
	 * has written meanwhile, `work` is asked again. `done` runs when the file is written, before the lock is let go.
	 * `target` is where the file really lies.
	 */
	change(
		work: (text: string | null, target: string) => Promise<string | null>,
		done: (target: string) => Promise<void>,
	): Promise<void> {
		const result = this.#queue.then(() => this.#changeLocked(work, done));
		this.#queue = result.catch(() => {}); // The caller was told; the next change starts afresh.
		return result;
	}

	/** Removes the lock and the drafts that killed processes left beside the file. */
	async sweep(): Promise<void> {
		const target = await this.#target();
		const names = await readdir(dirname(target)).catch(() => []); // No folder: nothing was ever written.
		if (!names.some((name) => name.startsWith(`${basename(target)}.`))) return;
		await removeIfAbandoned(lockOf(target));
		await sweepDrafts(dirname(target), `${basename(target)}.`);
	}

	async #changeLocked(
		work: (text: string | null, target: string) => Promise<string | null>,
		done: (target: string) => Promise<void>,
	): Promise<void> {
		const target = await this.#target();
		const release = await this.#lock(target);
		try {
			for (let attempt = 0; ; attempt++) {
				const text = await this.#readAt(target);
				const next = await work(text, target);
				if (await this.#replace(target, text, next)) break;
				if (attempt >= MAX_ATTEMPTS)
					throw new AgyError(
						"not-writable",
						`pi-agy cannot change ${this.#path}: another program keeps writing it. Close that program, then try again.`,
					);
			}
			await done(target);
		} finally {
			await release();
		}
	}

	async #lock(target: string): Promise<Release> {
		try {
			await mkdir(dirname(target), { recursive: true, mode: 0o700 });
			return await lock(lockOf(target));
		} catch (error) {
			throw this.#toNotWritable(error);
		}
	}

	async #readAt(target: string): Promise<string | null> {
		try {
			const bytes = await readFile(target);
			// Throws at bytes that are no UTF-8: written back, they would be others.
			const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
			serverNamesIn(text);
			return text;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
			throw new AgyError(
				"bad-setting",
				`pi-agy leaves ${this.#path} as it is, because it cannot be used: ${toReason(error)}. Correct the file, or move it away, then try again.`,
				{ cause: error },
			);
		}
	}

	/** False when the file is not what was read any more; nothing is written then. */
	async #replace(target: string, text: string | null, next: string | null): Promise<boolean> {
		if (next === text) return true;
		const draft = draftOf(target);
		try {
			if (next !== null) await writeFile(draft, next, { mode: 0o600, flag: "wx" });
			if ((await this.#readAt(target)) !== text) return false;
			if (next === null) await rm(target, { force: true });
			else await rename(draft, target);
			return true;
		} catch (error) {
			throw error instanceof AgyError ? error : this.#toNotWritable(error);
		} finally {
			await removeOwn(draft).catch(() => {}); // The file is as it was, or as it was to be; it is tried again.
		}
	}

	/** Where the file lies, or would lie: a link is followed, so that it stays one. */
	async #target(): Promise<string> {
		try {
			return await realpath(this.#path);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw this.#toNotWritable(error);
			return followTo(this.#path);
		}
	}

	#toNotWritable(error: unknown): AgyError {
		const { message } = error as Error;
		return new AgyError(
			"not-writable",
			`pi-agy cannot change ${this.#path} (${message}). Without it agy is not told of pi's tools. Make the file and its folder writable.`,
			{ cause: error },
		);
	}
}

function lockOf(target: string): string {
	return join(dirname(target), `${basename(target)}.lock`);
}

/** A link to a file that is not there yet; the path itself when it is no link. */
async function followTo(path: string): Promise<string> {
	const isLink = await lstat(path).then(
		(entry) => entry.isSymbolicLink(),
		() => false, // Nothing is there.
	);
	return isLink ? followTo(resolve(dirname(path), await readlink(path))) : path;
}

function toReason(error: unknown): string {
	const { message, code } = error as NodeJS.ErrnoException;
	return code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is no UTF-8" : message;
}
