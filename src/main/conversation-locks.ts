/**
 * One agy process per conversation, over all pi processes: two would write the same history. A conversation is locked
 * while a link of this process is on it; the lock of a dead pi is taken over.
 */

import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { sweepDrafts } from "./drafts.ts";
import { type Release, removeIfAbandoned, tryLock } from "./file-lock.ts";

export class ConversationLocks {
	readonly #directory: string;
	readonly #held = new Map<string, { readonly lock: Promise<Release | null>; holders: number }>();
	/** Locks on their way out: until then their file stands there with this process's name. */
	readonly #releasing = new Map<string, Promise<void>>();

	constructor(directory: string) {
		this.#directory = directory;
	}

	/** False when another living pi is on the conversation. Each success needs one `release`. */
	async acquire(conversationId: string): Promise<boolean> {
		const entry = this.#held.get(conversationId) ?? { lock: this.#lock(conversationId), holders: 0 };
		this.#held.set(conversationId, entry);
		entry.holders++;
		let release: Release | null = null;
		try {
			release = await entry.lock;
		} finally {
			if (release === null && this.#held.get(conversationId) === entry) this.#held.delete(conversationId);
		}
		return release !== null;
	}

	async release(conversationId: string): Promise<void> {
		const entry = this.#held.get(conversationId);
		if (!entry || --entry.holders > 0) return;
		this.#held.delete(conversationId);
		const released = entry.lock.then(
			(release) => release?.(),
			() => {}, // Whoever asked for it was told.
		);
		this.#releasing.set(conversationId, released);
		await released.finally(() => {
			if (this.#releasing.get(conversationId) === released) this.#releasing.delete(conversationId);
		});
	}

	/** Removes the locks that killed processes left. */
	async sweep(): Promise<void> {
		await sweepDrafts(this.#directory);
		const names = await readdir(this.#directory).catch(() => []); // No folder: nothing was ever locked.
		for (const name of names.filter((candidate) => candidate.endsWith(".lock"))) {
			await removeIfAbandoned(join(this.#directory, name));
		}
	}

	async #lock(conversationId: string): Promise<Release | null> {
		await this.#releasing.get(conversationId)?.catch(() => {}); // A lock that cannot be removed is found again.
		await mkdir(this.#directory, { recursive: true, mode: 0o700 });
		return tryLock(join(this.#directory, `${encodeURIComponent(conversationId)}.lock`));
	}
}
