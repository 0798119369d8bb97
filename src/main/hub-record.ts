/**
 * Which pi processes use the data folder, and the private folder in the temporary directory that each has made: hubs.json.
 * So a later start can remove what a killed pi left there, and an uninstall knows whether it is alone.
 */

import { rm } from "node:fs/promises";
import { basename, isAbsolute } from "node:path";
import type { JsonObject, JsonValue } from "../shared/events.ts";
import type { JsonStore } from "./json-store.ts";
import { isAlive, isIdentity, ownIdentity, type ProcessIdentity } from "./processes/proof.ts";

export type HubEntry = ProcessIdentity & { readonly privateDir: string };

export class HubRecord {
	readonly #store: JsonStore;

	constructor(store: JsonStore) {
		this.#store = store;
	}

	/** Notes this process, and forgets those that are gone together with their folders. */
	async add(privateDir: string): Promise<void> {
		const own = await ownIdentity();
		await this.#store.update(async (file) => {
			const living: HubEntry[] = [];
			for (const entry of toHubEntries(file)) {
				if (await isAlive(entry)) living.push(entry);
				else await rm(entry.privateDir, { recursive: true, force: true });
			}
			return withEntries(file, [...living, { ...own, privateDir }]);
		});
	}

	async remove(privateDir: string): Promise<void> {
		await this.#store.update((file) =>
			withEntries(
				file,
				toHubEntries(file).filter((entry) => entry.privateDir !== privateDir),
			),
		);
	}
}

/** The usable entries of hubs.json: nothing else is ever removed, whatever the file says. */
export function toHubEntries(file: JsonObject): readonly HubEntry[] {
	return Array.isArray(file.hubs) ? (file.hubs as unknown[]).filter(isHubEntry) : [];
}

/** Looks like what hub.ts makes. */
export function isPrivateDir(path: unknown): path is string {
	return typeof path === "string" && isAbsolute(path) && /^pi-agy-\w{6}$/.test(basename(path));
}

function isHubEntry(value: unknown): value is HubEntry {
	return isIdentity(value) && isPrivateDir((value as Partial<HubEntry>).privateDir);
}

function withEntries(file: JsonObject, entries: readonly HubEntry[]): JsonObject {
	return { ...file, version: 1, hubs: entries as unknown as JsonValue };
}
