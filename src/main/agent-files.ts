/**
 * pi's system prompt as an agent file that agy is started with: the only way to give agy instructions that do not ride on
 * a prompt line. The files lie in agy's own folder, because it looks nowhere else: named after their content, shared by
 * all pi processes that use the same prompt, owned in agents.json, removed with their last living owner.
 */

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "../shared/events.ts";
import type { JsonStore } from "./json-store.ts";
import { isAlive, isIdentity, isSame, ownIdentity, type ProcessIdentity } from "./processes/proof.ts";

type Owners = Map<string, readonly ProcessIdentity[]>;

const NAME_PREFIX = "pi-agy-";
const NAME = /^pi-agy-[0-9a-f]{16}$/;

export class AgentFiles {
	readonly #store: JsonStore;
	readonly #directory: string;
	readonly #staged = new Map<string, Promise<string>>();

	/** `directory` is where agy looks for agents. */
	constructor(store: JsonStore, directory: string) {
		this.#store = store;
		this.#directory = directory;
	}

	/** Writes the prompt's file, unless it is there, and returns the name to start agy with. */
	stage(systemPrompt: string): Promise<string> {
		const name = `${NAME_PREFIX}${createHash("sha256").update(systemPrompt).digest("hex").slice(0, 16)}`;
		const staged = this.#staged.get(name) ?? this.#write(name, systemPrompt);
		this.#staged.set(name, staged);
		staged.catch(() => this.#staged.delete(name)); // The caller is told; the next turn tries again.
		return staged;
	}

	/** Removes the files of dead owners. */
	async sweep(): Promise<void> {
		if (toOwners(await this.#store.read()).size > 0) await this.#update(async () => {});
	}

	/** Gives up this process's files. */
	async close(): Promise<void> {
		if (this.#staged.size === 0) return;
		this.#staged.clear();
		const own = await ownIdentity();
		await this.#update(async (owners) => {
			for (const [name, holders] of owners)
				owners.set(
					name,
					holders.filter((holder) => !isSame(holder, own)),
				);
		});
	}

	async #write(name: string, systemPrompt: string): Promise<string> {
		const own = await ownIdentity();
		// Recorded first: a pi killed in between leaves a record without a file, and not the other way round.
		await this.#update(async (owners) => {
			const holders = owners.get(name) ?? [];
			owners.set(name, holders.some((holder) => isSame(holder, own)) ? holders : [...holders, own]);
		});
		await mkdir(this.#directory, { recursive: true, mode: 0o700 });
		await writeUnlessThere(join(this.#directory, `${name}.md`), toAgentFile(name, systemPrompt));
		return name;
	}

	/** Under the lock, so that no file is removed while another process is taking it. */
	async #update(change: (owners: Owners) => Promise<void>): Promise<void> {
		await this.#store.update(async (file) => {
			const owners = toOwners(file);
			await change(owners);
			for (const [name, holders] of owners) {
				const alive: ProcessIdentity[] = [];
				for (const holder of holders) if (await isAlive(holder)) alive.push(holder);
				owners.set(name, alive);
				if (alive.length > 0) continue;
				await rm(join(this.#directory, `${name}.md`), { force: true });
				owners.delete(name);
			}
			return { ...file, version: 1, agents: Object.fromEntries(owners) as unknown as JsonValue };
		});
	}
}

/** Another process may have its agy read the file right now: one with the same content is left alone. */
async function writeUnlessThere(path: string, content: string): Promise<void> {
	const present = await readFile(path, "utf8").catch(() => null); // Missing: written now.
	if (present !== content) await writeFile(path, content, { mode: 0o600 });
}

function toAgentFile(name: string, systemPrompt: string): string {
	return `${headOf(name)}\n${systemPrompt}\n`;
}

function headOf(name: string): string {
	return `---\nname: ${name}\ndescription: Instructions of the pi coding agent for this session.\n---\n`;
}

/** Whether a file of agy's agents is one that is made here, by its name (without .md) and its first lines. */
export function isOwnAgentFile(name: string, content: string): boolean {
	return NAME.test(name) && content.startsWith(headOf(name));
}

/** Who uses agent files, of agents.json. */
export function agentOwners(file: JsonObject): readonly ProcessIdentity[] {
	return [...toOwners(file).values()].flat();
}

/** Only names of ours: a file that something else wrote into the record is not ours to remove. */
function toOwners(file: JsonObject): Owners {
	const owners: Owners = new Map();
	const agents = file.agents;
	if (typeof agents !== "object" || agents === null) return owners;
	for (const [name, holders] of Object.entries(agents)) {
		if (!NAME.test(name) || !Array.isArray(holders)) continue;
		owners.set(name, holders.filter(isIdentity));
	}
	return owners;
}
