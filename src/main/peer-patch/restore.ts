/**
 * Puts pi's own files back from the backup: all of them or, where one has no usable backup or is not what was looked at any
 * more, none. Each is replaced as a whole and keeps its permissions; afterwards all are read again.
 */

import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { AgyError } from "../../shared/errors.ts";
import { draftOf } from "../drafts.ts";
import { isClean, type PatchedFile, type PatchState } from "./peer-patch.ts";

/** Throws an AgyError that names what was restored before it. The backups stay where they are. */
export async function restore({ files, version }: PatchState): Promise<void> {
	const problem = files.find((file) => file.backup === null);
	if (problem) throw new AgyError("not-writable", `Nothing was changed: ${problem.file}: ${problem.problem}.`);
	for (const { path, installed, file } of files)
		if (!(await readFile(path)).equals(installed))
			throw new AgyError("not-writable", `Nothing was changed: ${file} has changed meanwhile. Try again.`);
	const done: string[] = [];
	for (const file of files) {
		try {
			await replace(file);
		} catch (error) {
			const before = done.length === 0 ? "Nothing was changed" : `Only ${done.join(", ")} could be restored`;
			throw new AgyError(
				"not-writable",
				`${before}: ${file.file} cannot be written (${(error as Error).message}). Give yourself write access to ${file.path}, or install pi ${version} again with the rights it was installed with.`,
				{ cause: error },
			);
		}
		done.push(file.file);
	}
	for (const { path, file, backup } of files) {
		const content = await readFile(path);
		if (backup === null || !content.equals(backup.content) || !isClean(file, content))
			throw new AgyError("not-writable", `${file} is not what was written to it. Install pi ${version} again.`);
	}
}

async function replace({ path, mode, backup }: PatchedFile): Promise<void> {
	const draft = draftOf(path);
	try {
		await writeFile(draft, backup?.content ?? "", { mode, flag: "wx" });
		await chmod(draft, mode); // What the process masks out when it makes a file.
		await rename(draft, path);
	} finally {
		await rm(draft, { force: true });
	}
}
