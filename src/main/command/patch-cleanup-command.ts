/** `/agy patch-cleanup`: takes out of the installed pi what old versions of another bridge to agy put into it. */

import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { getPackageDir } from "@earendil-works/pi-coding-agent";
import { AgyError } from "../../shared/errors.ts";
import type { JsonObject } from "../../shared/events.ts";
import type { Config } from "../config.ts";
import { findPatch, type PatchState } from "../peer-patch/peer-patch.ts";
import { restore } from "../peer-patch/restore.ts";
import { consent, YES } from "./consent.ts";
import type { Answer, Request, Subcommand } from "./subcommand.ts";

export function patchCleanupCommand(config: Pick<Config, "dataDir">): Subcommand {
	return {
		name: "patch-cleanup",
		usage: `[${YES}]`,
		about: "Restore pi's own files where an old pi-antigravity-bridge has patched them. Asks first.",
		run: async (request) => {
			const unknown = request.words.find((word) => word !== YES);
			if (unknown !== undefined)
				throw new AgyError(
					"bad-argument",
					`/agy patch-cleanup ${unknown} is unknown. Use /agy patch-cleanup [${YES}].`,
				);
			return cleanUp(await findPatch(getPackageDir(), backupRootsOf(config)), request);
		},
	};
}

/** The peer's folder in pi's: where pi keeps its own, and where it would by default. */
function backupRootsOf({ dataDir }: Pick<Config, "dataDir">): readonly string[] {
	const agentDirs = new Set([dirname(dataDir), join(homedir(), ".pi", "agent")]);
	return [...agentDirs].map((directory) => join(directory, "antigravity-bridge", "pi-patch-backup"));
}

async function cleanUp(state: PatchState | null, request: Request): Promise<Answer> {
	if (state === null)
		return {
			text: "This pi has no files that could have been patched.",
			data: { root: null, version: null, files: [] },
		};
	const { root, version, files } = state;
	const data = toData(state);
	if (files.length === 0)
		return { text: `pi ${version} in ${root} is not patched.`, data: { ...data, restored: false } };
	const list = files.map(
		({ file, backup, problem }) => `- ${file}: ${backup === null ? problem : `backup ${backup.path}`}`,
	);
	const found = [`pi ${version} in ${root} was patched by an old pi-antigravity-bridge:`, ...list].join("\n");
	if (files.some(({ backup }) => backup === null))
		return {
			text: `${found}\nNothing was changed, because not every file has a backup that is pi's. Install pi ${version} again: that replaces them all.`,
			data: { ...data, restored: false, error: "no backup of every file" },
			level: "warning",
		};
	const answer = await consent(request, "Restore pi's own files?", found);
	if (answer !== "yes") {
		const how =
			answer === "no" ? "Nothing was changed." : `Nothing was changed. To restore them: /agy patch-cleanup ${YES}`;
		return { text: `${found}\n${how}`, data: { ...data, restored: false } };
	}
	await restore(state);
	return {
		text: `${files.length} files of pi ${version} are restored and were compared with the backup: ${files.map(({ file }) => file).join(", ")}. Start pi anew; a running one keeps the patch.`,
		data: { ...data, restored: true },
	};
}

function toData({ root, version, files }: PatchState): JsonObject {
	return {
		root,
		version,
		files: files.map(({ file, path, backup, problem }) => ({ file, path, backup: backup?.path ?? null, problem })),
	};
}
