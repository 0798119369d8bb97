/**
 * Keeps the bridges of all pi sessions from an agy that runs on its own: it reads the shared file, and watches it, so our
 * servers are switched off there for as long as any process has such a run. A hold is recorded with its process before a
 * server is switched off, so whoever looks next switches on again what a killed holder left.
 */

import { randomUUID } from "node:crypto";
import type { SharedServers } from "./shared-servers.ts";

export class Suppression {
	readonly #shared: SharedServers;
	/** Two of these in one process are two holders. */
	readonly #id = randomUUID();
	#holds = 0;
	/** What the record says of us; null when a failed update leaves that open. */
	#isRecorded: boolean | null = false;
	#queue: Promise<unknown> = Promise.resolve();

	constructor(shared: SharedServers) {
		this.#shared = shared;
	}

	/**
	 * Resolves when no agy sees a bridge; to be awaited before the run starts. The function is called when the run's process
	 * has ended, and may be called twice; it throws when the servers could not be switched on, which the next update of
	 * anybody makes up for. Throws as `SharedServers.update` when the servers cannot be switched off: the run must not start then.
	 */
	async hold(): Promise<() => Promise<void>> {
		this.#holds++;
		let isHeld = true;
		const release = async () => {
			if (!isHeld) return;
			isHeld = false;
			this.#holds--;
			await this.#settle();
		};
		try {
			await this.#settle();
		} catch (error) {
			await release().catch(() => {}); // The caller gets the first error.
			throw error;
		}
		return release;
	}

	/** One at a time: each brings the record in line with what is held by then. */
	#settle(): Promise<void> {
		const settled = this.#queue.then(async () => {
			const isHeld = this.#holds > 0;
			if (this.#isRecorded === isHeld) return;
			this.#isRecorded = null;
			await this.#shared.update(isHeld ? { hold: this.#id } : { release: this.#id });
			this.#isRecorded = isHeld;
		});
		this.#queue = settled.catch(() => {}); // Whoever asked is told.
		return settled;
	}
}
