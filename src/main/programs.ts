/** Looks programs up as a shell would, so that one that is missing is known before it is started. */

import { access, constants, stat } from "node:fs/promises";
import { join } from "node:path";

/** The first program of that name in `searchPath`, absolute; null when there is none. */
export async function findProgram(name: string, searchPath: readonly string[]): Promise<string | null> {
	for (const directory of searchPath) {
		for (const candidate of process.platform === "win32" ? [`${name}.exe`, name] : [name]) {
			const path = join(directory, candidate);
			if ((await problemOf(path)) === null) return path;
		}
	}
	return null;
}

/** Why the file cannot be run, as the end of a sentence about it; null when it can. */
export async function problemOf(path: string): Promise<string | null> {
	const file = await stat(path).catch(() => null); // Missing, or a folder on the way is closed: not usable either way.
	if (!file) return "missing";
	if (!file.isFile()) return "is no file";
	return access(path, constants.X_OK).then(
		() => null,
		() => "is not executable",
	);
}
