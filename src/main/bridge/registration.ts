/**
 * How agy gets to know the bridge of a pi session, and forgets it again. Which of its files agy reads depends on its
 * version, so the bridge stands in two under one name: in a private folder that only this session's agy is started with
 * (--add-dir), and in the file all agys of the user share. What agy keeps of a server (its tools' schemas) goes too.
 *
 * 1. register: the private folder, then the record, then the shared file.
 * 2. remove, or close for all: the shared file, then the record, then the folders.
 * 3. sweep, at the next start: the same for what a killed process left. Nothing of a living one, nothing of others.
 */

import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgyError } from "../../shared/errors.ts";
import { identify, ownIdentity } from "../processes/proof.ts";
import { removeOwn } from "../removal.ts";
import { Spill } from "../spill.ts";
import { isOurs, pidOf } from "./bridge-record.ts";
import { type Endpoint, type SharedServers, toServer } from "./shared-servers.ts";

export type Registered = {
	/** The folder to start agy with, as a further --add-dir. */
	readonly addDir: string;
	/** Makes agy forget the bridge. May be called twice; throws what kept it from doing so, and can then be tried again. */
	remove(): Promise<void>;
};

export type RegistrationPlaces = {
	/** Where the private folders lie: `<data>/bridge`. */
	readonly privateRoot: string;
	/** Where agy keeps the schemas of each server's tools: `<gemini dir>/antigravity-cli/mcp`. */
	readonly schemaRoot: string;
};

export class Registration {
	readonly #shared: SharedServers;
	readonly #places: RegistrationPlaces;
	/** The private folder of each server of ours that is registered or being so, by the server's name. */
	readonly #addDirs = new Map<string, string>();
	/** Those of them that are to be forgotten; one that could not be is tried again with the next. */
	readonly #leaving = new Map<string, string>();
	/** Registrations under way: close waits for them. */
	readonly #pending = new Set<Promise<unknown>>();

	constructor(shared: SharedServers, places: RegistrationPlaces) {
		this.#shared = shared;
		this.#places = places;
	}

	/**
	 * Makes agy see the bridge under the name, which must be one of `serverNameOf` and not registered here already. Throws an
	 * AgyError, and leaves nothing behind, when the shared file cannot be used or one of the files cannot be written.
	 */
	async register(bridge: Endpoint & { readonly serverName: string }): Promise<Registered> {
		const { serverName } = bridge;
		if (!isOurs(serverName)) throw new Error(`${serverName} is no name of serverNameOf`);
		if (this.#leaving.has(serverName)) await this.#remove([]); // What kept it from going may keep it no longer.
		if (this.#addDirs.has(serverName)) throw new Error(`the bridge ${serverName} is registered already`);
		const { pid, startTime } = await ownIdentity();
		// The form that Spill.sweep knows the owner by.
		const addDir = join(this.#places.privateRoot, `${pid}-${startTime}-${randomUUID().slice(0, 8)}`);
		this.#addDirs.set(serverName, addDir);
		const registered = this.#register(addDir, bridge);
		this.#pending.add(registered);
		try {
			await registered;
		} finally {
			this.#pending.delete(registered);
		}
		return {
			addDir,
			remove: async () => {
				if (this.#addDirs.get(serverName) === addDir) await this.#remove([serverName]);
			},
		};
	}

	/** Removes what killed processes left, of their registrations and of their delegated runs. */
	async sweep(): Promise<void> {
		await Spill.sweep(this.#places.privateRoot);
		for (const name of await this.#shared.sweep()) await this.#removeSchemas(name);
		for (const name of await readdir(this.#places.schemaRoot).catch(() => [])) {
			// No folder: agy has not seen a server yet.
			if (isOurs(name) && (await identify(pidOf(name))) === null) await this.#removeSchemas(name);
		}
	}

	/** Removes everything this process has registered here. */
	async close(): Promise<void> {
		await Promise.allSettled(this.#pending); // Who asked for them is told how they ended.
		if (this.#addDirs.size > 0) await this.#remove([...this.#addDirs.keys()]);
	}

	async #register(addDir: string, { serverName, url, headers }: Endpoint & { serverName: string }): Promise<void> {
		try {
			await writePrivately(addDir, JSON.stringify({ mcpServers: { [serverName]: toServer({ url, headers }) } }));
			await this.#shared.update({ add: { name: serverName, url, headers } });
		} catch (error) {
			this.#addDirs.delete(serverName);
			await removeOwn(addDir).catch(() => {}); // It may be what failed, and is tried again.
			throw error;
		}
	}

	/** And those that could not be removed before. The folders go even when the shared file cannot be written. */
	async #remove(names: readonly string[]): Promise<void> {
		for (const name of names) this.#leaving.set(name, this.#addDirs.get(name) ?? "");
		const leaving = [...this.#leaving]; // A name may come again meanwhile, with another folder.
		const folders = leaving.map(([, addDir]) => addDir).filter((addDir) => addDir !== "");
		try {
			await this.#shared.update({ remove: leaving.map(([name]) => name) });
		} finally {
			await Promise.all(folders.map(removeOwn));
		}
		for (const [name, addDir] of leaving) {
			if (this.#leaving.get(name) === addDir) this.#leaving.delete(name);
			if (this.#addDirs.get(name) !== addDir) continue;
			this.#addDirs.delete(name);
			await this.#removeSchemas(name);
		}
	}

	async #removeSchemas(name: string): Promise<void> {
		await rm(join(this.#places.schemaRoot, name), { recursive: true, force: true });
	}
}

async function writePrivately(addDir: string, content: string): Promise<void> {
	const agents = join(addDir, ".agents");
	try {
		await mkdir(agents, { recursive: true, mode: 0o700 });
		await writeFile(join(agents, "mcp_config.json"), `${content}\n`, { mode: 0o600, flag: "wx" });
	} catch (error) {
		throw new AgyError(
			"not-writable",
			`pi-agy cannot write what tells agy of pi's tools (${(error as Error).message}). Make ${addDir} writable, or set PI_CODING_AGENT_DIR to a folder that is.`,
			{ cause: error },
		);
	}
}
