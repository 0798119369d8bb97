/**
 * Our servers in agy's mcp_config.json, which every agy of the user reads and watches. bridges.json says what should be
 * there; each update changes the record and then brings the file into line with it: servers of dead processes go, and all
 * of ours are switched off while any living process has a delegated run. So whoever comes next repairs what a killed
 * process left. Servers of others are never touched, and a file that is in line already is not written, because every
 * write makes each running agy connect anew.
 */

import type { JsonObject } from "../../shared/events.ts";
import type { JsonStore } from "../json-store.ts";
import { ownIdentity, type ProcessIdentity } from "../processes/proof.ts";
import { type BridgeRecord, type Holder, isInUse, isOurs, toLiving, toRecord, withRecord } from "./bridge-record.ts";
import type { McpConfigFile } from "./mcp-config-file.ts";
import { type Made, serverNamesIn, withDisabled, withoutMade, withoutServer, withServer } from "./mcp-config-text.ts";

/** How agy reaches a bridge. The headers hold the session's secret. */
export type Endpoint = { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** What is to be different. */
export type Change = {
	readonly add?: Endpoint & { readonly name: string };
	readonly remove?: readonly string[];
	/** The id of one who has a delegated run from now on. */
	readonly hold?: string;
	readonly release?: string;
};

type Plan = {
	readonly text: string | null;
	/** Written before the file, so that a process killed in between leaves a record without an entry, not the reverse. */
	readonly before: BridgeRecord;
	/** Gone from the file: taken out of the record afterwards. */
	readonly gone: readonly string[];
	readonly isUnmade: boolean;
};

export class SharedServers {
	readonly #store: JsonStore;
	readonly #file: McpConfigFile;

	constructor(store: JsonStore, file: McpConfigFile) {
		this.#store = store;
		this.#file = file;
	}

	/**
	 * Makes the change. Returns the names that are gone from the file. Throws an AgyError, with the file as it was, when that
	 * cannot be used or written, and passes on what the record's store throws.
	 */
	async update(change: Change): Promise<readonly string[]> {
		const own = await ownIdentity();
		let plan: Plan | null = null;
		const work = async (text: string | null, target: string) => {
			let next = text;
			await this.#store.update(async (file) => {
				plan = await toPlan(text, toChanged(toRecord(file), change, own), change, target);
				next = plan.text;
				return withRecord(file, plan.before);
			});
			return next;
		};
		try {
			await this.#file.change(work, async (target) => {
				if (plan) await this.#clear(plan.gone, plan.isUnmade ? target : null);
			});
		} catch (error) {
			await this.#takeBack(change).catch(() => {}); // The caller gets the first error; a record ends with its process.
			throw error;
		}
		return (plan as Plan | null)?.gone ?? [];
	}

	/**
	 * Removes what dead processes left and repairs what they changed; touches nothing when there is nothing of ours. Returns
	 * and throws as `update`.
	 */
	async sweep(): Promise<readonly string[]> {
		await this.#file.sweep();
		const { servers, holders, made } = toRecord(await this.#store.read());
		const isRecorded = servers.size + holders.size + made.size > 0;
		const isNeeded = isRecorded || serverNamesIn(await this.#readIfUsable()).some(isOurs);
		return isNeeded ? this.update({}) : [];
	}

	/**
	 * The file could not be changed. What was to be added or held is not recorded either; what was to be let go is let go, so
	 * that the next update of anybody brings the file into line.
	 */
	async #takeBack({ add, hold, release }: Change): Promise<void> {
		if (add === undefined && hold === undefined && release === undefined) return;
		await this.#store.update((file) => {
			const record = toRecord(file);
			const holders = new Map(record.holders);
			for (const id of [hold, release]) if (id !== undefined) holders.delete(id);
			return withRecord(file, toCleared({ ...record, holders }, add ? [add.name] : [], null));
		});
	}

	/** Takes out of the record what is gone from the file. */
	async #clear(names: readonly string[], unmade: string | null): Promise<void> {
		if (names.length > 0 || unmade !== null)
			await this.#store.update((file) => withRecord(file, toCleared(toRecord(file), names, unmade)));
	}

	/** Nothing of ours is recorded: whatever is wrong with the file is told to whoever needs it. */
	async #readIfUsable(): Promise<string | null> {
		return this.#file.read().catch(() => null);
	}
}

/** A server as agy reads it from any of its files; HTTP servers need `serverUrl`. */
export function toServer({ url, headers }: Endpoint): JsonObject {
	return { serverUrl: url, headers: { ...headers } };
}

function toChanged(record: BridgeRecord, change: Change, own: ProcessIdentity): BridgeRecord {
	const servers = new Map(record.servers);
	if (change.add) servers.set(change.add.name, own);
	const holders = new Map<string, Holder>(record.holders);
	if (change.hold !== undefined) holders.set(change.hold, { ...own, sinceMs: Date.now() });
	if (change.release !== undefined) holders.delete(change.release);
	return { ...record, servers, holders };
}

async function toPlan(text: string | null, record: BridgeRecord, change: Change, target: string): Promise<Plan> {
	const holders = await toLiving(record.holders);
	const gone = [...(change.remove ?? [])];
	for (const name of new Set([...record.servers.keys(), ...serverNamesIn(text).filter(isOurs)])) {
		if (!(await isInUse(name, record))) gone.push(name);
	}

	let next = text;
	for (const name of gone) if (next !== null) next = withoutServer(next, name);
	let made = record.made.get(target) ?? null;
	if (change.add) {
		const added = withServer(next, change.add.name, toServer(change.add));
		// With none of ours in the file, what the record says was made is of another time.
		const isStale = !serverNamesIn(text).some(isOurs);
		made = added.made ?? (isStale ? null : made);
		next = added.text;
	}
	const ours = serverNamesIn(next).filter(isOurs);
	for (const name of ours) if (next !== null) next = withDisabled(next, name, holders.size > 0);

	const isUnmade = made !== null && ours.length === 0;
	if (isUnmade && made && next !== null) next = withoutMade(next, made);
	const kept = new Map(record.made);
	if (made) kept.set(target, made);
	else kept.delete(target);
	const before = { ...record, holders, made: kept };
	return { text: next, before, gone, isUnmade };
}

function toCleared(record: BridgeRecord, gone: readonly string[], unmade: string | null): BridgeRecord {
	const servers = new Map(record.servers);
	for (const name of gone) servers.delete(name);
	const made = new Map<string, Made>(record.made);
	if (unmade !== null) made.delete(unmade);
	return { ...record, servers, made };
}
