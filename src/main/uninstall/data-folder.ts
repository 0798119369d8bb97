/** What pi-agy keeps in its data folder, by the names it gives. Whatever else lies there is somebody else's. Pure. */

import { CAPTURE_FILE } from "../../shared/capture.ts";

const FILES = new Set([
	...["config.json", "sessions.json", "models-cache.json", "binaries.json", "quota.json"],
	...["processes.json", "hubs.json", "agents.json", "bridges.json"],
]);
const DRAFT = /\.\d+\.[0-9a-f]{8}\.tmp$/;
/** Of one of them: its lock, a lock that changes hands, a draft, what was moved aside. */
const BESIDE = new RegExp(`(\\.lock|\\.lock\\.takeover|${DRAFT.source.slice(0, -1)}|\\.damaged-[0-9a-f]{8})$`);
const OF_SESSION = /^\d+-[\w:]*-[\w-]+$/;

/** By folder: the names in it. */
const FOLDERS: Readonly<Record<string, RegExp>> = {
	logs: /^pi-agy-\d{4}-\d{2}-\d{2}\.ndjson$/,
	reports: /^pi-agy-(report|smoke)-[\dTZ-]+\.json$/,
	captures: new RegExp(`${CAPTURE_FILE.source.slice(0, -1)}(\\.part)?$`),
	locks: /^[\w%.-]+\.lock$/,
	spill: OF_SESSION,
	bridge: OF_SESSION,
};

/** Whether a name right in the data folder is that of a file of ours. */
export function isOurFile(name: string): boolean {
	for (let base = name; ; base = base.replace(BESIDE, "")) {
		if (FILES.has(base)) return true;
		if (!BESIDE.test(base)) return false;
	}
}

export function isOurFolder(name: string): boolean {
	return Object.hasOwn(FOLDERS, name);
}

/** Whether a name in one of our folders is one that we give there, to a file, or to its draft or lock. */
export function isOurEntry(folder: string, name: string): boolean {
	const pattern = Object.hasOwn(FOLDERS, folder) ? FOLDERS[folder] : undefined;
	return [name, name.replace(/\.takeover$/, ""), name.replace(DRAFT, "")].some((base) => pattern?.test(base));
}
