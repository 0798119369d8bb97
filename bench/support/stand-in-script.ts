/** What the stand-ins of one run are told, in the form in which feed.ts tells relays. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Account, Load } from "./load.ts";
import { toPrompt } from "./stand-in-task.ts";

export class StandInScript {
	readonly #directory: string;
	readonly #loads: readonly Load[];

	constructor(directory: string, loads: readonly Load[]) {
		this.#directory = directory;
		this.#loads = loads;
	}

	prompt(index: number): string {
		const load = this.#loads[index];
		if (!load) throw new Error(`there is no load ${index}`);
		return toPrompt({ load, goPath: this.#goPath, accountPath: this.#accountPath(index) });
	}

	/** All loads are printed from now on. */
	begin(): void {
		writeFileSync(this.#goPath, "");
	}

	account(index: number): Account {
		return JSON.parse(readFileSync(this.#accountPath(index), "utf8"));
	}

	get #goPath(): string {
		return join(this.#directory, "go");
	}

	#accountPath(index: number): string {
		return join(this.#directory, `account-${index}.json`);
	}
}
