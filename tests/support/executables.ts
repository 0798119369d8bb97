/** Small programs in a test's folder, in place of agy. */
import { chmodSync, renameSync, writeFileSync } from "node:fs";

/** Writes an executable shell script, replacing what was there as an installer does. */
export function writeScript(path: string, script: string): string {
	return writeProgram(path, `#!/bin/sh\n${script}\n`);
}

export function writeProgram(path: string, content: string, mode = 0o755): string {
	writeFileSync(`${path}.new`, content);
	chmodSync(`${path}.new`, mode);
	renameSync(`${path}.new`, path);
	return path;
}
