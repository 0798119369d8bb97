/** What `/agy` says of settings: one, all, and what became of a change. Pure. */

import { AgyError } from "../../shared/errors.ts";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import type { Change, SettingRow } from "../settings/settings.ts";
import { isKey, KEYS, type Key, rowOf } from "../settings/table.ts";
import { nearest } from "./nearest.ts";
import type { Answer, Completion } from "./subcommand.ts";

/** The setting that a key or a variable names, in any case. Throws `bad-setting`. */
export function keyOf(name: string): Key {
	if (isKey(name)) return name;
	const wanted = name.toLowerCase();
	const found = KEYS.find((key) => key.toLowerCase() === wanted || rowOf(key).variable?.toLowerCase() === wanted);
	if (found !== undefined) return found;
	const meant = nearest(name, KEYS);
	throw new AgyError(
		"bad-setting",
		`${name === "" ? "No setting is named." : `${name} is no setting.`}${meant === null ? "" : ` Did you mean ${meant}?`} Settings: ${KEYS.join(", ")}.`,
	);
}

/** One setting with its value, where that stands, and what it may be. */
export function describe(row: SettingRow): Answer {
	const { key, text, source, pending, allowed, about, fallback } = row;
	const later = pending === null ? "" : ` After /reload: ${pending}.`;
	return {
		text: `${key} is ${text} (${source.name}).${later} Allowed: ${allowed}; default: ${fallback}. ${about}`,
		data: toData(row),
	};
}

/** All of them, as a table, with what was not understood of them. */
export function listAll(
	rows: readonly SettingRow[],
	{ path, config: { problems } }: { readonly path: string; readonly config: { readonly problems: readonly string[] } },
): Answer {
	const cells = rows.map(({ key, text, source, pending }) => ({
		key,
		value: pending === null ? text : `${text} (after /reload: ${pending})`,
		source: source.name,
	}));
	const keyWidth = Math.max(...cells.map(({ key }) => key.length));
	const valueWidth = Math.min(40, Math.max(...cells.map(({ value }) => value.length)));
	const lines = cells.map(({ key, value, source }) =>
		`${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${source}`.trimEnd(),
	);
	return {
		text: [...lines, "", ...problems, `Change one: /agy set <key> <value>. Saved in ${path}.`].join("\n"),
		data: { path, problems, settings: rows.map(toData) },
	};
}

/** `warning` is what has to be known of the new value; "" when nothing has. */
export function report(change: Change, warning = ""): Answer {
	const { key, from, to, saved, shadowedBy, pending } = change;
	const level = warning !== "" || shadowedBy !== null ? "warning" : "info";
	return {
		text: [sentenceOf(change), ...(warning === "" ? [] : [warning])].join(" "),
		data: { key, from, to, saved, shadowedBy: shadowedBy && { ...shadowedBy }, afterReload: pending },
		level,
	};
}

/** Completions of a setting's values. */
export function choicesOf({ choices, text }: SettingRow): readonly Completion[] {
	return choices.map((value) => ({ value, about: value === text ? "as it is now" : "" }));
}

function sentenceOf({ key, from, to, saved, shadowedBy, pending }: Change): string {
	const what = saved === null ? `config.json no longer sets ${key}` : `config.json now holds ${key}: ${saved}`;
	if (shadowedBy !== null) {
		const remedy = shadowedBy.layer === "environment" ? `once ${shadowedBy.name} is unset` : "outside this project";
		return `${key} stays ${to}: ${shadowedBy.name} wins. ${what}, which applies ${remedy}.`;
	}
	if (pending !== null) return `${key}: ${to} -> ${pending}, after /reload.`;
	const when = rowOf(key).isAtOnce ? "from now on" : "from the next turn on";
	return from === to ? `${key} is ${to}, as before. ${what}.` : `${key}: ${from} -> ${to}, ${when}.`;
}

function toData({ key, variable, value, source, text, fallback, allowed, about, needsReload, pending }: SettingRow) {
	return {
		...{ key, variable, text, allowed, about, needsReload },
		value: value as JsonValue,
		source: { ...source },
		default: fallback,
		afterReload: pending,
	} satisfies JsonObject;
}
