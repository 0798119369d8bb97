/**
 * The record of every process pi-agy has started and not yet reaped: in memory, with the guardian, and in
 * processes.json, so that a later start can stop what a killed pi left behind. The only place that decides about
 * processes nobody holds any more.
 */

import { rm } from "node:fs/promises";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import { isPrivateDir } from "../hub-record.ts";
import type { JsonStore } from "../json-store.ts";
import { Guardian } from "./guardian.ts";
import { familyOf, isAlive, isIdentity, isSame, ownIdentity, type ProcessIdentity } from "./proof.ts";
import { stopFamily } from "./stop.ts";

export type ProcessEntry = ProcessIdentity & {
	readonly owner: ProcessIdentity;
	/** The owner's directory of sockets. */
	readonly socketDir?: string;
};

export class ProcessRegistry {
	readonly #store: JsonStore;
	readonly #guardian: Guardian;
	readonly #socketDir: string;
	readonly #running = new Map<number, ProcessIdentity>();
	readonly #onError: (error: unknown) => void;
	/** The record could not be written the last time. */
	#isBehind = false;

	constructor(store: JsonStore, socketDir: string, onError: (error: unknown) => void) {
		this.#store = store;
		this.#socketDir = socketDir;
		this.#guardian = new Guardian(socketDir);
		this.#onError = onError;
	}

	get running(): readonly ProcessIdentity[] {
		return [...this.#running.values()];
	}

	/** Records a process. Resolves when the record is on disk; a disk that cannot be written is reported, not fatal. */
	async add(identity: ProcessIdentity): Promise<void> {
		this.#running.set(identity.pid, identity);
		this.#guardian.guard(identity);
		await this.#update((entries) => entries);
	}

	/** The process has been reaped. */
	async remove(identity: ProcessIdentity): Promise<void> {
		const current = this.#running.get(identity.pid);
		if (current && isSame(current, identity)) {
			this.#running.delete(identity.pid);
			this.#guardian.release(identity.pid);
		}
		await this.#update((entries) => entries.filter((entry) => !isSame(entry, identity)));
	}

	/** Stops what dead owners left behind. Returns how many processes were found running. */
	async sweep(): Promise<number> {
		const entries = toProcessEntries(await this.#store.read());
		const orphaned: ProcessEntry[] = [];
		for (const entry of entries) if (!(await isAlive(entry.owner))) orphaned.push(entry);
		if (orphaned.length === 0) return 0;
		const families: ProcessIdentity[] = [];
		for (const orphan of orphaned) if (await isAlive(orphan)) families.push(...(await familyOf(orphan.pid)));
		await stopFamily(families);
		for (const { socketDir } of orphaned) {
			if (isPrivateDir(socketDir)) await rm(socketDir, { recursive: true, force: true });
		}
		await this.#update((current) => current.filter((entry) => !orphaned.some((orphan) => isSame(entry, orphan))));
		return families.length;
	}

	async close(): Promise<void> {
		await this.#guardian.close();
		if (this.#isBehind) await this.#update((entries) => entries);
		await this.#store.settled();
	}

	/** Something about a process of ours that nobody waits for to be told. */
	report(error: unknown): void {
		this.#onError(error);
	}

	/** Our own part is written as a whole, so that a disk that failed leaves nothing wrong behind once it works again. */
	async #update(change: (others: readonly ProcessEntry[]) => readonly ProcessEntry[]): Promise<void> {
		try {
			const owner = await ownIdentity();
			const socketDir = this.#socketDir;
			const isOwn = (entry: ProcessEntry) => isSame(entry.owner, owner) && entry.socketDir === socketDir;
			await this.#store.update((file) => {
				const others = change(toProcessEntries(file).filter((entry) => !isOwn(entry)));
				const own = this.running.map((identity): ProcessEntry => ({ ...identity, owner, socketDir }));
				return { ...file, version: 1, processes: [...others, ...own] as unknown as JsonValue };
			});
			this.#isBehind = false;
		} catch (error) {
			this.#isBehind = true;
			this.#onError(error);
		}
	}
}

/** The usable entries of processes.json. */
export function toProcessEntries(file: JsonObject): readonly ProcessEntry[] {
	const rows = file.processes;
	return Array.isArray(rows) ? (rows as unknown[]).filter(isProcessEntry) : [];
}

function isProcessEntry(value: unknown): value is ProcessEntry {
	return isUsable(value) && isUsable((value as { owner?: unknown }).owner);
}

/** Nothing else is ever signalled, whatever the file says. */
function isUsable(value: unknown): value is ProcessIdentity {
	return isIdentity(value) && value.pid > 1 && value.startTime !== "";
}
