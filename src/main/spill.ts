/**
 * Private files a prompt points to: what is too long for agy's input line, and images. One directory per pi session,
 * known to agy from the start of its process; gone with the session, and swept when its pi was killed.
 */

import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgyError } from "../shared/errors.ts";
import { isAlive, ownIdentity } from "./processes/proof.ts";
import { removeOwn } from "./removal.ts";

const OWNED = /^(\d+)-([\w:]+)-[\w-]+$/;

export class Spill {
	readonly #root: string;
	#directory: Promise<string> | null = null;

	constructor(root: string) {
		this.#root = root;
	}

	/** The session's directory; made on first use. */
	directory(): Promise<string> {
		this.#directory ??= this.#make().catch((error: unknown) => {
			this.#directory = null; // The next turn tries again.
			throw error;
		});
		return this.#directory;
	}

	/** Writes a file and returns its absolute path. `extension` is without the dot. */
	async write(name: string, extension: string, content: string | Uint8Array): Promise<string> {
		const path = join(await this.directory(), `${name}-${randomUUID().slice(0, 8)}.${extension}`);
		await writeFile(path, content, { mode: 0o600 });
		return path;
	}

	/** Removes everything the session spilled. Throws when the disk does not let go of it; it is tried again then. */
	async close(): Promise<void> {
		const directory = await this.#directory?.catch(() => null); // It could not be made: nothing is there.
		this.#directory = null;
		if (directory) await removeOwn(directory);
	}

	/** Removes what killed processes left. */
	static async sweep(root: string): Promise<void> {
		for (const name of await readdir(root).catch(() => [])) {
			// No folder: nothing was ever spilled.
			const [, pid, startTime] = OWNED.exec(name) ?? [];
			if (!pid || !startTime || (await isAlive({ pid: Number(pid), startTime }))) continue;
			await rm(join(root, name), { recursive: true, force: true });
		}
	}

	async #make(): Promise<string> {
		const { pid, startTime } = await ownIdentity();
		const directory = join(this.#root, `${pid}-${startTime}-${randomUUID().slice(0, 8)}`);
		await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: Error) => {
			throw new AgyError(
				"not-writable",
				`pi-agy cannot make its folder for files that prompts point to (${error.message}). Make ${this.#root} writable, or set PI_CODING_AGENT_DIR to a folder that is.`,
				{ cause: error },
			);
		});
		return directory;
	}
}
