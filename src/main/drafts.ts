/** Files on their way to a name: written beside it and then renamed or linked. What a killed process left of them is swept. */

import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { identify } from "./processes/proof.ts";

const DRAFT = /\.(\d+)\.[0-9a-f]{8}\.tmp$/;

/** A name beside `path` that no other process and no other call uses. */
export function draftOf(path: string): string {
	return `${path}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`;
}

/** Removes the drafts of processes that are gone, of all files or of those whose name begins so. */
export async function sweepDrafts(directory: string, prefix = ""): Promise<void> {
	for (const name of await readdir(directory).catch(() => [])) {
		// No folder: nothing was ever written.
		const pid = name.startsWith(prefix) ? DRAFT.exec(name)?.[1] : undefined;
		if (pid !== undefined && (await identify(Number(pid))) === null) await rm(join(directory, name), { force: true });
	}
}
