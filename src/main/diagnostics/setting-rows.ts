/** The settings as rows that may be shown to others: what holds, and where it comes from. What could hold a secret is masked. */

import type { JsonValue } from "../../shared/events.ts";
import { redact } from "../../shared/redact.ts";
import type { Settings } from "../settings/settings.ts";
import { rowOf } from "../settings/table.ts";
import { args } from "../settings/values.ts";

export type MaskedSetting = {
	readonly key: string;
	readonly value: JsonValue;
	/** A variable, a place in a settings file, or "default". */
	readonly source: string;
};

/** Every setting, masked. Of the arguments of programs, where people put keys, only the number is told. */
export function maskedSettings(settings: Settings): readonly MaskedSetting[] {
	return settings.rows().map(({ key, value, source }) => ({
		key,
		value: rowOf(key).kind === args ? maskArguments(value as readonly string[]) : maskValue(value as JsonValue),
		source: source.name,
	}));
}

function maskArguments(words: readonly string[]): readonly string[] {
	return words.length === 0 ? [] : [`(${words.length} arguments)`];
}

/** The value as it may be shown to others. */
export function maskValue(value: JsonValue): JsonValue {
	if (typeof value === "string") return maskText(value);
	if (Array.isArray(value)) return value.map(maskValue);
	if (typeof value === "object" && value !== null)
		return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, maskValue(entry)]));
	return value;
}

/** Of an address the host stays. */
function maskText(text: string): string {
	const url = /^[a-z][a-z+]*:\/\//i.test(text) ? URL.parse(text) : null;
	return url === null ? redact(text) : `${url.protocol}//${url.host}${url.pathname === "/" ? "" : "/…"}`;
}
