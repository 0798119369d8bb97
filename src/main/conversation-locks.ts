/**
 * One agy process per conversation, over all pi processes: two would write the same history. A conversation is locked
 * while a link of this process is on it; the lock of a dead pi is taken over.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Release, tryLock } from "./file-lock.ts";

export class ConversationLocks {
	readonly #directory: string;
	readonly #held = new Map<string, { readonly lock: Promise<Release | null>; holders: number }>();

	constructor(directory: string) {
		this.#directory = directory;
	}

	/** False when another living pi is on the conversation. Each success needs one `release`. */
	async acquire(conversationId: string): Promise<boolean> {
		const entry = this.#held.get(conversationId) ?? { lock: this.#lock(conversationId), holders: 0 };
		this.#held.set(conversationId, entry);
		entry.holders++;
		if (await entry.lock) return true;
		if (this.#held.get(conversationId) === entry) this.#held.delete(conversationId);
		return false;
	}

	async release(conversationId: string): Promise<void> {
		const entry = this.#held.get(conversationId);
		if (!entry || --entry.holders > 0) return;
		this.#held.delete(conversationId);
		await (await entry.lock)?.();
	}

	async #lock(conversationId: string): Promise<Release | null> {
		await mkdir(this.#directory, { recursive: true, mode: 0o700 });
		return tryLock(join(this.#directory, `${encodeURIComponent(conversationId)}.lock`));
	}
}
