/**
 * Kinds of values: how each is read from the environment, a file or a typed line, what is allowed in words, and how it is
 * shown. Pure. A reader returns undefined for what it does not understand; it never guesses.
 */

import { homedir } from "node:os";
import { join } from "node:path";

export type Price = { readonly input: number; readonly output: number; readonly cacheRead: number };

/** pi's own. */
export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export type Kind<T> = {
	/** In words, for whoever wrote something else. */
	readonly allowed: string;
	/** All values as they are typed, where they can be listed. */
	readonly choices: readonly string[];
	/** `raw` is text from the environment, or any JSON value. */
	parse(raw: unknown): T | undefined;
	/** Parts of an otherwise usable value that are left out. Default: none. */
	faults?(raw: unknown): readonly { readonly part: string; readonly raw: unknown }[];
	/** What a typed text stands for in the file, where that is not the text itself. */
	fromText?(text: string): unknown;
};

const MAX_MINUTES = 1_440;
/** More raw lines than anybody reads. */
const MAX_TURN_COUNT = 100;
/** What agy takes for the name of an agent is a file's name. */
const AGENT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** What is sent there stays on this machine. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
/** Modifiers and one key. pi's list of keys is longer than ours has to be: one it does not know does nothing. */
const KEY = /^((?:(?:ctrl|shift|alt|super)\+)*)([a-z0-9]|f(?:[1-9]|1[0-2])|space|insert|pageUp|pageDown|home|end)$/;
/** In a terminal these with Ctrl are Enter, Tab and Backspace (with Alt, those with Alt): nobody could type any more. */
const EDITING_LETTER = /^[mjih]$/;
/** What ends pi or its turn with Ctrl. */
const ENDING_LETTER = /^[cd]$/;

export const text: Kind<string> = {
	allowed: "a text",
	choices: [],
	parse: (raw) => (typeof raw === "string" && raw.trim() !== "" ? raw.trim() : undefined),
};

/** A leading `~` is the home directory. */
export const path: Kind<string> = {
	allowed: "a path",
	choices: [],
	parse: (raw) => {
		const written = text.parse(raw);
		return written === undefined ? undefined : expandHome(written);
	},
};

export const agentName: Kind<string> = {
	allowed: "the name of an agent: letters, digits, dots, dashes and underscores, 128 at most",
	choices: [],
	parse: (raw) => {
		const name = text.parse(raw);
		return name !== undefined && AGENT_NAME.test(name) ? name : undefined;
	},
};

/** Program arguments: a text that is split at spaces, or a list. */
export const args: Kind<readonly string[]> = {
	allowed: "arguments separated by spaces",
	choices: [],
	parse: (raw) => {
		if (typeof raw === "string") return words(raw);
		return Array.isArray(raw) && raw.every((item) => typeof item === "string" && !item.includes("\0"))
			? raw
			: undefined;
	},
	fromText: (typed) => (typed.trim().startsWith("[") ? fromJson(typed) : words(typed)),
};

export const onOff: Kind<boolean> = {
	allowed: "on, off",
	choices: ["on", "off"],
	parse: (raw) => {
		if (typeof raw === "boolean") return raw;
		if (/^(1|true|on|yes)$/i.test(String(raw))) return true;
		return /^(0|false|off|no)$/i.test(String(raw)) ? false : undefined;
	},
};

export const minutes: Kind<number> = {
	allowed: `minutes up to ${MAX_MINUTES}, 0 for off`,
	choices: [],
	parse: (raw) => toNumber(raw, 0, MAX_MINUTES),
	fromText: (typed) => (typed.trim().toLowerCase() === "off" ? 0 : typed),
};

export function seconds(min: number, max: number): Kind<number> {
	return { allowed: `seconds, ${min} to ${max}`, choices: [], parse: (raw) => toNumber(raw, min, max) };
}

/** At most {@link MAX_TURN_COUNT}. */
export const turnCount: Kind<number> = {
	allowed: `a number of turns, 0 for none, at most ${MAX_TURN_COUNT}`,
	choices: [],
	parse: (raw) => {
		const count = toNumber(raw, 0, MAX_TURN_COUNT);
		return Number.isInteger(count) ? count : undefined;
	},
	fromText: (typed) => (typed.trim().toLowerCase() === "off" ? 0 : typed),
};

export const key: Kind<string> = {
	allowed:
		"a key as pi names it, such as f12, ctrl+space or alt+v; none that types (a letter or digit needs ctrl, alt or super), and not ctrl+c, ctrl+d, nor ctrl+m, ctrl+j, ctrl+i, ctrl+h, ctrl+[, which are Enter, Tab, Backspace and Esc",
	choices: [],
	parse: (raw) => {
		const [, modifiers = "", name = ""] = (typeof raw === "string" && KEY.exec(raw)) || [];
		return name !== "" && isFree(new Set(modifiers.split("+").slice(0, -1)), name) ? String(raw) : undefined;
	},
};

export const url: Kind<string> = {
	allowed: "an https address, or http on this machine; without a name and a password in it",
	choices: [],
	parse: (raw) => {
		const { protocol, hostname, username, password } = (typeof raw === "string" ? URL.parse(raw) : null) ?? {};
		const isPrivate = protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname ?? ""));
		return isPrivate && !username && !password ? String(raw) : undefined;
	},
};

export function oneOf<const T extends string>(values: readonly T[]): Kind<T> {
	return {
		allowed: values.join(", "),
		choices: values,
		parse: (raw) => values.find((candidate) => candidate === raw),
	};
}

/** Names of variables. One that is no text is left out. */
export const names: Kind<readonly string[]> = {
	allowed: "a list of names",
	choices: [],
	parse: (raw) => (Array.isArray(raw) ? raw.filter((name) => typeof name === "string") : undefined),
	faults: (raw) => (Array.isArray(raw) && raw.some((name) => typeof name !== "string") ? [{ part: "", raw }] : []),
	fromText: (typed) => (typed.trim().startsWith("[") ? fromJson(typed) : words(typed)),
};

/** By pi model id. A model whose price is not understood has none. */
export const prices: Kind<Readonly<Record<string, Price>>> = {
	allowed:
		"for each model id its input, output and, if it differs, cacheRead, in dollars per million tokens. What has no price costs 0",
	choices: [],
	parse: (raw) => {
		if (raw === null) return {};
		if (!isObject(raw)) return undefined;
		const priced = Object.entries(raw).flatMap(([modelId, price]) => {
			const read = toPrice(price);
			return read === undefined ? [] : [[modelId, read] as const];
		});
		return Object.freeze(Object.fromEntries(priced));
	},
	faults: (raw) =>
		Object.entries(isObject(raw) ? raw : {})
			.filter(([, price]) => toPrice(price) === undefined)
			.map(([modelId, price]) => ({ part: ` of ${modelId}`, raw: price })),
	fromText: fromJson,
};

/** A value as a person reads it. */
export function show(value: unknown): string {
	if (value === null) return "not set";
	if (typeof value === "boolean") return value ? "on" : "off";
	if (Array.isArray(value)) return value.length === 0 ? "not set" : value.map(quoteSpaces).join(" ");
	if (isObject(value)) return Object.keys(value).length === 0 ? "not set" : JSON.stringify(value);
	return String(value);
}

export function expandHome(written: string): string {
	return written === "~" || written.startsWith("~/") ? join(homedir(), written.slice(1)) : written;
}

/** Of a text's arguments; the environment and typed lines know no quotes. */
export function words(typed: string): readonly string[] {
	return typed.split(/\s+/).filter((word) => word !== "");
}

/** Whether a key types nothing, edits nothing and ends nothing. */
function isFree(held: ReadonlySet<string>, name: string): boolean {
	const types = name.length === 1 || name === "space";
	if (types && !held.has("ctrl") && !held.has("alt") && !held.has("super")) return false;
	// With Shift or Super a terminal either tells them apart or sends nothing of the kind.
	if (!held.has("ctrl") || held.has("shift") || held.has("super")) return true;
	return !EDITING_LETTER.test(name) && (held.has("alt") || !ENDING_LETTER.test(name));
}

function toNumber(raw: unknown, min: number, max: number): number | undefined {
	const value = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
	return typeof value === "number" && value >= min && value <= max ? value : undefined;
}

function toPrice(raw: unknown): Price | undefined {
	const { input, output, cacheRead = input } = isObject(raw) ? raw : {};
	return isAmount(input) && isAmount(output) && isAmount(cacheRead) ? { input, output, cacheRead } : undefined;
}

function isAmount(value: unknown): value is number {
	return typeof value === "number" && value >= 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is no JSON stays text, which the reader of the value refuses. */
function fromJson(typed: string): unknown {
	try {
		return JSON.parse(typed);
	} catch {
		return typed;
	}
}

function quoteSpaces(word: string): string {
	return /\s/.test(word) || word === "" ? JSON.stringify(word) : word;
}
