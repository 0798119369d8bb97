/**
 * Values out of their layers: the environment wins over the project's file, that over the user's, that over the default.
 * Pure. A value that cannot be used is named, and the default applies instead of what a lower layer says; where it may
 * have been meant to limit agy, no turn may be run at all.
 */

import type { JsonObject } from "../../shared/events.ts";
import { nearest } from "../command/nearest.ts";
import { migrate } from "./migrate.ts";
import { isKey, KEYS, type Key, rowOf, type Values } from "./table.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export type Layer = "environment" | "project" | "user" | "default";

export type Source = {
	readonly layer: Layer;
	/** The variable, or the file and the key in it; "default". */
	readonly name: string;
};

export type SettingsFile = {
	readonly layer: "project" | "user";
	/** How it is called in messages. */
	readonly label: string;
	readonly path: string;
	readonly object: JsonObject;
	/** Why it cannot be read; "" when it can. */
	readonly problem: string;
};

export type Loaded = {
	readonly values: Values;
	/** Where each value stands that is not the default. */
	readonly sources: Readonly<Partial<Record<Key, Source>>>;
	/** Which layer decided, also where what it says is not understood. */
	readonly deciders: Readonly<Partial<Record<Key, Source>>>;
	/** A sentence or two each. */
	readonly problems: readonly string[];
	/** The first problem that no turn may be run with; null when there is none. */
	readonly refusal: string | null;
};

/** How a project's file is called in messages. */
export const PROJECT_LABEL = ".pi/pi-agy.json";
const DEFAULT: Source = { layer: "default", name: "default" };

/** `files`: the project's before the user's. */
export function load(env: Env, files: readonly SettingsFile[]): Loaded {
	const problems: string[] = [];
	const refusals: string[] = [];
	const sources: Partial<Record<Key, Source>> = {};
	const deciders: Partial<Record<Key, Source>> = {};
	const note = (text: string, isLimit: boolean): void => {
		problems.push(`${text} ${isLimit ? "No turn is run until it is corrected." : "The default applies."}`);
		if (isLimit) refusals.push(problems.at(-1) ?? "");
	};
	for (const { path, problem } of files) if (problem !== "") note(`${path} cannot be used: ${problem}.`, true);
	const layers = files.map((file) => ({ ...file, ...migrate(file.object) }));
	const values = KEYS.map((key) => {
		const row = rowOf(key);
		for (const { raw, source } of placesOf(key, env, layers)) {
			if (raw === undefined) continue;
			const complain = (part: string, what: unknown) =>
				note(
					`${source.name}${part} is ${JSON.stringify(what)}, which is not understood. Allowed: ${row.kind.allowed}.`,
					row.isLimit === true,
				);
			if (row.needsReload && source.layer === "project") {
				problems.push(`${source.name} cannot be set by a project: it is needed before pi knows which one it is.`);
				continue;
			}
			deciders[key] = source;
			const value = row.kind.parse(raw);
			if (value === undefined) {
				complain("", raw);
				return [key, row.fallback];
			}
			for (const fault of row.kind.faults?.(raw) ?? []) complain(fault.part, fault.raw);
			sources[key] = source;
			return [key, value];
		}
		return [key, row.fallback];
	});
	for (const layer of layers) noteStrangers(layer, problems, refusals);
	for (const name of Object.keys(env)) {
		const meant = misspeltLimit(name);
		if (meant !== null) note(`${name} is no variable of pi-agy. Did you mean ${meant}?`, true);
	}
	return {
		values: Object.fromEntries(values) as Values,
		...{ sources, deciders, problems, refusal: refusals[0] ?? null },
	};
}

export function sourceOf({ sources }: Pick<Loaded, "sources">, key: Key): Source {
	return sources[key] ?? DEFAULT;
}

type MigratedFile = SettingsFile & ReturnType<typeof migrate>;

function placesOf(key: Key, env: Env, layers: readonly MigratedFile[]) {
	const { variable } = rowOf(key);
	const set = variable === null ? undefined : env[variable] || undefined;
	return [
		{ raw: set, source: { layer: "environment", name: variable ?? "" } satisfies Source },
		...layers.map(({ layer, label, file }) => ({
			raw: file[key],
			source: { layer, name: `${label}: ${key}` } satisfies Source,
		})),
	];
}

/**
 * The variable of a limit that `name` differs from in underscores, capitals or a plural alone. Anything farther may be one
 * of agy's own (AGY_MODEL is not AGY_MODE).
 */
function misspeltLimit(name: string): string | null {
	if (!/^agy_/i.test(name)) return null;
	const bare = (variable: string) => variable.toLowerCase().replaceAll("_", "").replace(/s$/, "");
	const variables = KEYS.flatMap((key) => rowOf(key).variable ?? []);
	if (variables.includes(name)) return null;
	const limits = KEYS.filter((key) => rowOf(key).isLimit).flatMap((key) => rowOf(key).variable ?? []);
	return limits.find((variable) => bare(variable) === bare(name)) ?? null;
}

/** A key that is nearly a limit's may have been meant as one. */
function noteStrangers(layer: MigratedFile, problems: string[], refusals: string[]): void {
	const { label, file, isNewer, problem } = layer;
	if (problem !== "") problems.push(`${label}: ${problem}`);
	if (isNewer) {
		problems.push(`${label} is of version ${file.version}, newer than this pi-agy: what it does not know is left out.`);
		return;
	}
	for (const name of Object.keys(file)) {
		if (name === "version" || isKey(name)) continue;
		const meant = nearest(name, KEYS) as Key | null;
		const isLimit = meant !== null && rowOf(meant).isLimit === true;
		const hint = meant === null ? "" : ` Did you mean ${meant}?`;
		const text = `${label}: ${name} is no setting of pi-agy.${hint}`;
		problems.push(isLimit ? `${text} No turn is run until it is corrected.` : text);
		if (isLimit) refusals.push(problems.at(-1) ?? "");
	}
}
