/** agy's models as a pi session knows them: the kept list from the start, agy's own once it was asked. */

import { join } from "node:path";
import type { Binary } from "./binary.ts";
import type { Config } from "./config.ts";
import { JsonStore } from "./json-store.ts";
import { type Catalog, loadCatalog, ModelCache } from "./models.ts";
import type { ProcessRegistry } from "./processes/registry.ts";

export class ModelList {
	readonly #config: Config;
	readonly #store: JsonStore;
	#catalog: Catalog;
	#isFresh: boolean;
	/** State of the file of the agy that listed them; null where it is not known. */
	#listedBy: string | null;

	constructor(config: Config) {
		this.#config = config;
		this.#store = new JsonStore(join(config.dataDir, "models-cache.json"));
		const { catalog, isFresh, fingerprint } = loadCatalog(this.#store, config);
		[this.#catalog, this.#isFresh, this.#listedBy] = [catalog, isFresh, fingerprint];
	}

	get catalog(): Catalog {
		return this.#catalog;
	}

	/** It need not be asked for. */
	get isFresh(): boolean {
		return this.#isFresh;
	}

	/** When agy listed them, as the file has it. */
	async listedAtMs(): Promise<unknown> {
		return (await this.#store.read()).fetchedAtMs;
	}

	/** Whether it was another agy than this one that listed them; told once of each. */
	isOfAnother({ fingerprint }: Pick<Binary, "fingerprint">): boolean {
		if (this.#listedBy === null || this.#listedBy === fingerprint) return false;
		this.#listedBy = fingerprint;
		return true;
	}

	/** Asks agy. What it does not list, or lists nothing of, stays as it was. */
	async refresh(binary: Binary, registry: ProcessRegistry, signal: AbortSignal): Promise<void> {
		const listed = await new ModelCache(this.#store, registry).refresh(binary, this.#config, signal);
		if (listed === null) return;
		[this.#catalog, this.#isFresh, this.#listedBy] = [listed, true, binary.fingerprint];
	}
}
