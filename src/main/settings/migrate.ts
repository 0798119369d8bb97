/**
 * Older files of settings in today's form. Pure: what was read is changed in memory, and written only when a setting is
 * saved. A file without a version is of the first; one of a newer version is taken as it is, and keeps its version.
 */

import type { JsonObject } from "../../shared/events.ts";
import { words } from "./values.ts";

export const SETTINGS_VERSION = 2;

const ARGUMENT_KEYS = [
	...["extraArgs", "voiceCommand", "voiceInput", "voiceRecorder", "voiceOutput"],
	...["voiceSpeakCommand", "voicePlayer"],
];

/** From the version that it stands at to the next one. */
const STEPS: Readonly<Record<number, (file: JsonObject) => JsonObject>> = { 1: withListsOfArguments };

export type Migrated = {
	/** With `version`, which is never lower than it was. */
	readonly file: JsonObject;
	readonly isNewer: boolean;
	/** What is wrong with the version; "" when nothing is. */
	readonly problem: string;
};

export function migrate(file: JsonObject): Migrated {
	const written = file.version ?? 1;
	const isVersion = typeof written === "number" && Number.isInteger(written) && written >= 1;
	let version = isVersion ? written : 1;
	const isNewer = version > SETTINGS_VERSION;
	let migrated = file;
	for (; version < SETTINGS_VERSION; version++) migrated = STEPS[version]?.(migrated) ?? migrated;
	return {
		file: { ...migrated, version },
		isNewer,
		problem: isVersion ? "" : `version is ${JSON.stringify(written)}, which is no version. It is read as version 1.`,
	};
}

/** Version 2 writes arguments as lists, so that one may hold a space. */
function withListsOfArguments(file: JsonObject): JsonObject {
	const lists = ARGUMENT_KEYS.flatMap((key) => {
		const value = file[key];
		return typeof value === "string" ? [[key, words(value)] as const] : [];
	});
	return { ...file, ...Object.fromEntries(lists) };
}
