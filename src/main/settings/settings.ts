/**
 * The settings of one pi session, live: `config` is one object for the session's life whose values change when the project's
 * file is taken in or a setting is saved. Only what is asked for is written, and only to the user's file: what the
 * environment or the project says never gets there.
 *
 * A setting that is needed before a session begins keeps the value it began with; what it will be is `pending`.
 */

import { existsSync, realpathSync, statSync } from "node:fs";
import { AgyError } from "../../shared/errors.ts";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import { nearest } from "../command/nearest.ts";
import { type Config, environment, readUserFile, toConfig } from "../config.ts";
import { JsonStore } from "../json-store.ts";
import { type Env, type Loaded, load, PROJECT_LABEL, type SettingsFile, type Source, sourceOf } from "./load.ts";
import { migrate } from "./migrate.ts";
import { projectFileOf, type projectFileState } from "./project-file.ts";
import { KEYS, type Key, rowOf, type Values } from "./table.ts";
import { show } from "./values.ts";

export type SettingRow = {
	readonly key: Key;
	readonly variable: string | null;
	readonly value: unknown;
	readonly source: Source;
	/** As a person reads it; the value too, with its default's words where it has none. */
	readonly text: string;
	readonly fallback: string;
	readonly allowed: string;
	/** All values where they can be listed. */
	readonly choices: readonly string[];
	readonly about: string;
	readonly needsReload: boolean;
	/** The value after /reload, where it is another one. */
	readonly pending: string | null;
};

export type Change = {
	readonly key: Key;
	/** Of this session, before and after. */
	readonly from: string;
	readonly to: string;
	/** What config.json holds now; null when the setting was taken out of it. */
	readonly saved: string | null;
	/** What keeps the file from deciding; null when nothing does. */
	readonly shadowedBy: Source | null;
	/** The value after /reload, where it is another one. */
	readonly pending: string | null;
};

export class Settings {
	/** One object for the life of the session. */
	readonly config: Config;
	/** No settings were ever saved. */
	readonly isFirstRun: boolean;
	readonly #env: Env;
	readonly #listeners: ((changed: ReadonlySet<Key>) => void)[] = [];
	readonly #store: JsonStore;
	/** What the settings that need a reload were when the session began. */
	readonly #atStart: Values;
	#user: SettingsFile;
	/** Of the file that `#user` was read from. */
	#userMark: string;
	#project: SettingsFile | null = null;
	/** Why the project's file is not used; "" when it is, or there is none. */
	#note = "";
	#loaded: Loaded;

	constructor(env: Env = environment()) {
		this.#env = env;
		this.#user = readUserFile(env);
		this.#userMark = markOf(this.#user.path);
		this.isFirstRun = !existsSync(this.#user.path);
		this.#store = new JsonStore(targetOf(this.#user.path), "refuse");
		this.#loaded = load(env, [this.#user]);
		this.#atStart = this.#loaded.values;
		this.config = toConfig(env, this.#loaded);
	}

	/** Where the user's settings are. */
	get path(): string {
		return this.#user.path;
	}

	/**
	 * Takes in the project's file, or tells why it is not used. For the start of the session: reads synchronously.
	 */
	useProject(cwd: string, state: ReturnType<typeof projectFileState>): void {
		if (state === "absent") return;
		const store = new JsonStore(projectFileOf(cwd));
		if (state === "untrusted") {
			this.#note = `${PROJECT_LABEL} is not used, but for readonly: nobody has said that this project is to be trusted. /trust does.`;
		}
		const { object, problem } = store.inspectSync();
		const file = { layer: "project", label: PROJECT_LABEL, path: store.path } as const;
		// What only forbids needs no trust.
		const isForbidding = object.readonly === true;
		if (state === "trusted") this.#project = { ...file, object, problem };
		else if (isForbidding) this.#project = { ...file, object: { readonly: true }, problem: "" };
		this.#apply();
	}

	/**
	 * Takes in what others have written into the user's file since: another pi, or a hand. For the start of a turn: looks
	 * synchronously, and reads only what has changed.
	 */
	reread(): void {
		const mark = markOf(this.#user.path);
		if (mark === this.#userMark) return;
		this.#userMark = mark;
		this.#user = readUserFile(this.#env);
		this.#apply();
	}

	/** Calls `listener` with the settings whose values have changed. */
	onChange(listener: (changed: ReadonlySet<Key>) => void): void {
		this.#listeners.push(listener);
	}

	rows(): readonly SettingRow[] {
		return KEYS.map((key) => this.row(key));
	}

	row(key: Key): SettingRow {
		const { variable, kind, about, needsReload = false } = rowOf(key);
		const value = this.#live()[key];
		const { allowed, choices } = kind;
		return {
			...{ key, variable, value, allowed, choices, about, needsReload },
			source: sourceOf(this.#loaded, key),
			text: this.#text(key, value),
			fallback: fallbackOf(key),
			pending: this.#pending(key),
		};
	}

	/**
	 * Saves a setting as it is typed. Throws `bad-setting` for what is not understood, `not-writable` for a file that is
	 * damaged.
	 */
	async set(key: Key, typed: string): Promise<Change> {
		const { kind } = rowOf(key);
		const raw = kind.fromText?.(typed) ?? typed.trim();
		const value = kind.parse(raw);
		if (value === undefined || (kind.faults?.(raw) ?? []).length > 0) {
			const meant = nearest(typed.trim().toLowerCase(), kind.choices);
			const hint = meant === null ? "" : ` Did you mean ${meant}?`;
			throw new AgyError("bad-setting", `${key} cannot be ${JSON.stringify(typed)}. Allowed: ${kind.allowed}.${hint}`);
		}
		// A path is saved as it was typed, for its `~` may be another home elsewhere.
		return this.#save(key, typeof value === "string" ? raw : value);
	}

	/** Takes a setting out of the user's file. */
	reset(key: Key): Promise<Change> {
		return this.#save(key, undefined);
	}

	/** Resolves when everything asked for so far is on disk. */
	settled(): Promise<void> {
		return this.#store.settled();
	}

	async #save(key: Key, value: unknown): Promise<Change> {
		this.reread();
		const from = this.row(key).text;
		let written: JsonObject = {};
		await this.#store.update((current) => {
			const { [key]: _old, ...others } = migrate(current).file;
			written = value === undefined ? others : { ...others, [key]: value as JsonValue };
			return written;
		});
		this.#user = { ...this.#user, object: written, problem: "" };
		this.#apply();
		const decider = this.#loaded.deciders[key];
		const { text: to, pending } = this.row(key);
		return {
			...{ key, from, to, pending },
			saved: value === undefined ? null : show(value),
			shadowedBy: decider !== undefined && decider.layer !== "user" ? decider : null,
		};
	}

	#apply(): void {
		const before = this.#live();
		const files = this.#project === null ? [this.#user] : [this.#project, this.#user];
		const loaded = load(this.#env, files);
		this.#loaded = this.#note === "" ? loaded : { ...loaded, problems: [...loaded.problems, this.#note] };
		const after = this.#live();
		const { voice, ...rest } = toConfig(this.#env, { ...this.#loaded, values: after });
		Object.assign(this.config.voice, voice);
		Object.assign(this.config, rest);
		const changed = new Set(KEYS.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key])));
		if (changed.size > 0) for (const listener of this.#listeners) listener(changed);
	}

	/** The values this session runs with. */
	#live(): Values {
		const kept = KEYS.filter((key) => rowOf(key).needsReload).map((key) => [key, this.#atStart[key]]);
		return { ...this.#loaded.values, ...Object.fromEntries(kept) };
	}

	#pending(key: Key): string | null {
		const next = this.#text(key, this.#loaded.values[key]);
		return next === this.#text(key, this.#live()[key]) ? null : next;
	}

	#text(key: Key, value: unknown): string {
		return value === null ? fallbackOf(key) : show(value);
	}
}

function fallbackOf(key: Key): string {
	const { fallback, fallbackText } = rowOf(key);
	return fallbackText ?? show(fallback);
}

/** Tells one state of a file from another. */
function markOf(path: string): string {
	try {
		const { ino, mtimeNs, size } = statSync(path, { bigint: true });
		return `${ino} ${mtimeNs} ${size}`;
	} catch (error) {
		return String((error as NodeJS.ErrnoException).code); // Not there, or not to be read: whoever reads it says so.
	}
}

/** A file that lives elsewhere, with a link in its place, is replaced where it lives. */
function targetOf(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return path; // Not there yet.
	}
}
