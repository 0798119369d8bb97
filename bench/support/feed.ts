/** The feeder of many relays, as its parent sees it. */

import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Account, Load } from "./load.ts";

export type FeedPlan = { readonly fifos: readonly string[]; readonly loads: readonly Load[] };

/** To be run by `sh` in place of agy. */
export const RELAY = fileURLToPath(new URL("./relay.sh", import.meta.url));
const FEEDER = fileURLToPath(new URL("./feeder.ts", import.meta.url));

export class Feed {
	readonly #child: ChildProcessByStdio<Writable, Readable, null>;
	readonly #fifos: readonly string[];

	private constructor(child: ChildProcessByStdio<Writable, Readable, null>, fifos: readonly string[]) {
		this.#child = child;
		this.#fifos = fifos;
	}

	/** One fifo in `directory` for each load. Every relay that is prompted gets a first piece of text at once. */
	static async open(directory: string, loads: readonly Load[]): Promise<Feed> {
		const fifos = loads.map((_, index) => join(directory, `fifo-${index}`));
		await promisify(execFile)("mkfifo", fifos);
		const plan: FeedPlan = { fifos, loads };
		const args = ["--disable-warning=ExperimentalWarning", FEEDER, JSON.stringify(plan)];
		const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
		await once(child.stdout, "data");
		return new Feed(child, fifos);
	}

	/** What a relay has to be told. */
	prompt(index: number): string {
		return `Print this: <fifo>${this.#fifos[index]}</fifo>`;
	}

	/** All loads are printed from now on. */
	begin(): void {
		this.#child.stdin.end();
	}

	/** What was printed to a relay, once its turn is over. */
	account(index: number): Account {
		return JSON.parse(JSON.parse(readFileSync(`${this.#fifos[index]}.account`, "utf8")));
	}
}
