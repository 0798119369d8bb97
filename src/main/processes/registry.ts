/**
 * The record of every process pi-agy has started and not yet reaped: in memory, with the guardian, and in
 * processes.json, so that a later start can stop what a killed pi left behind. The only place that decides about
 * processes nobody holds any more.
 */

import { rm } from "node:fs/promises";
import { basename, isAbsolute } from "node:path";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import type { JsonStore } from "../json-store.ts";
import { Guardian } from "./guardian.ts";
import { familyOf, isAlive, isIdentity, isSame, ownIdentity, type ProcessIdentity } from "./proof.ts";
import { stopFamily } from "./stop.ts";

type Entry = ProcessIdentity & {
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
		const owner = await ownIdentity();
		await this.#update((entries) => [...entries, { ...identity, owner, socketDir: this.#socketDir }]);
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
		const entries = toEntries(await this.#store.read());
		const orphaned: Entry[] = [];
		for (const entry of entries) if (!(await isAlive(entry.owner))) orphaned.push(entry);
		if (orphaned.length === 0) return 0;
		const families: ProcessIdentity[] = [];
		for (const orphan of orphaned) if (await isAlive(orphan)) families.push(...(await familyOf(orphan.pid)));
		await stopFamily(families);
		for (const { socketDir } of orphaned) {
			if (isSocketDir(socketDir)) await rm(socketDir, { recursive: true, force: true });
		}
		await this.#update((current) => current.filter((entry) => !orphaned.some((orphan) => isSame(entry, orphan))));
		return families.length;
	}

	async close(): Promise<void> {
		await this.#guardian.close();
		await this.#store.settled();
	}

	async #update(change: (entries: readonly Entry[]) => readonly Entry[]): Promise<void> {
		try {
			await this.#store.update((file) => ({
				...file,
				version: 1,
				processes: change(toEntries(file)) as unknown as JsonValue,
			}));
		} catch (error) {
			this.#onError(error);
		}
	}
}

function toEntries(file: JsonObject): readonly Entry[] {
	const rows = file.processes;
	return Array.isArray(rows) ? (rows as unknown[]).filter(isEntry) : [];
}

/** Looks like what hub.ts makes: nothing else is ever removed, whatever the file says. */
function isSocketDir(path: unknown): path is string {
	return typeof path === "string" && isAbsolute(path) && /^pi-agy-\w{6}$/.test(basename(path));
}

function isEntry(value: unknown): value is Entry {
	return isUsable(value) && isUsable((value as { owner?: unknown }).owner);
}

/** Nothing else is ever signalled, whatever the file says. */
function isUsable(value: unknown): value is ProcessIdentity {
	return isIdentity(value) && value.pid > 1 && value.startTime !== "";
}
