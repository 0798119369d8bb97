/** The plain files of a folder that others write to: each by its real path, which lies in the folder; never through a link. */

import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

export type PlainFile = {
	/** Real and absolute. */
	readonly path: string;
	readonly name: string;
	/** When it was written last and, where the file system knows, when it was made; milliseconds since 1970. */
	readonly changedMs: number;
	readonly madeMs: number;
	readonly size: number;
};

/** More than agy puts into a folder; each costs two calls of the system. */
const MAX_NAMES = 5_000;

/** Those right in `folder` and its `parts`, newest first; names that begin with a dot are left out. Never throws. */
export async function plainFilesIn(folder: string, parts: readonly string[] = [""]): Promise<readonly PlainFile[]> {
	const root = await realpath(folder).catch(() => null); // Nothing was made yet.
	if (root === null) return [];
	const found: PlainFile[] = [];
	for (const part of parts) {
		const directory = join(root, part);
		const names = await readdir(directory).catch(() => []); // Not every folder has it.
		for (const name of names.slice(0, MAX_NAMES)) {
			if (name.startsWith(".")) continue;
			try {
				const path = await realpath(join(directory, name));
				const stats = await stat(path);
				if (dirname(path) !== directory || !stats.isFile()) continue;
				found.push({ path, name, changedMs: stats.mtimeMs, madeMs: stats.birthtimeMs, size: stats.size });
			} catch {
				// Gone while the folder was read.
			}
		}
	}
	return found.sort((a, b) => b.changedMs - a.changedMs);
}
