/**
 * Steps of agy that only look at files, as calls of pi's own tools: pi runs them again and shows its own card. Pure.
 *
 * A step maps only when every argument does, so that pi's card shows what agy asked for: an argument that is not in the
 * table, one of another type, or one whose meaning is not known, and the step is shown with agy's words instead. Every
 * path is made absolute, because pi reads `~` and `@` at the beginning of others.
 */

import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject, JsonValue } from "../../shared/events.ts";

/** The builtins of pi that steps may be run again as: none of them changes anything. */
export const NATIVE_TOOL_NAMES = ["read", "ls", "grep", "find"] as const;

export type NativeCall = {
	readonly name: (typeof NATIVE_TOOL_NAMES)[number];
	readonly arguments: Readonly<Record<string, string | number | boolean>>;
};

/** What an argument is, by its name in lower case without underscores. */
type Roles = Readonly<Record<string, string>>;
type Arguments = ReadonlyMap<string, JsonValue>;

const FILE: Roles = { absolutepath: "path", path: "path", targetfile: "path", filepath: "path", file: "path" };
const FOLDER: Roles = { directorypath: "path", directory: "path", path: "path", absolutepath: "path" };
const SEARCH: Roles = { searchpath: "path", searchdirectory: "path", ...FOLDER };
/** What agy says about a call beside its arguments: nothing of it changes what is done. */
const REMARKS: ReadonlySet<string> = new Set(["toolaction", "toolsummary"]);

type Mapping = { readonly roles: Roles; readonly map: (args: Arguments, cwd: string) => NativeCall | null };

const VIEW: Mapping = { roles: { ...FILE, startline: "start", endline: "end" }, map: toRead };
const LIST: Mapping = { roles: FOLDER, map: toLs };
const MAPPINGS: ReadonlyMap<string, Mapping> = new Map([
	["view_file", VIEW],
	["list_dir", LIST],
	["list_directory", LIST],
	[
		"grep_search",
		{
			roles: {
				...SEARCH,
				query: "pattern",
				pattern: "pattern",
				caseinsensitive: "ignoreCase",
				isregex: "isRegex",
				matchperline: "byLine",
				includes: "glob",
			},
			map: toGrep,
		},
	],
	["find_by_name", { roles: { ...SEARCH, pattern: "pattern", glob: "pattern", name: "pattern" }, map: toFind }],
]);

/** Whether a step of this tool might be run again, whatever its arguments. */
export function mayRunAgain(tool: string): boolean {
	return MAPPINGS.has(tool);
}

/** The call of pi's that does the same as agy's tool; null when there is none. `cwd` is where agy works. */
export function toNativeCall(tool: string, args: JsonObject, cwd: string): NativeCall | null {
	const mapping = MAPPINGS.get(tool);
	const byRole = mapping && toRoles(args, mapping.roles);
	return byRole ? mapping.map(byRole, cwd) : null;
}

/** Null when an argument has no role, or two have the same. */
function toRoles(args: JsonObject, roles: Roles): Arguments | null {
	const byRole = new Map<string, JsonValue>();
	for (const [name, value] of Object.entries(args)) {
		const key = name.toLowerCase().replaceAll("_", "");
		if (REMARKS.has(key) || value === null) continue;
		const role = Object.hasOwn(roles, key) ? roles[key] : undefined;
		if (role === undefined || byRole.has(role)) return null;
		byRole.set(role, value);
	}
	return byRole;
}

function toRead(args: Arguments, cwd: string): NativeCall | null {
	const path = toPath(args.get("path"), cwd);
	const range = toRange(args.get("start"), args.get("end"));
	return path === null || range === null ? null : { name: "read", arguments: { path, ...range } };
}

function toLs(args: Arguments, cwd: string): NativeCall | null {
	const path = toPath(args.get("path"), cwd);
	return path === null ? null : { name: "ls", arguments: { path } };
}

/**
 * agy's output shows the query without saying whether it is a regular expression: then it maps only where that makes no
 * difference. pi always shows matching lines, and takes one pattern of file names.
 */
function toGrep(args: Arguments, cwd: string): NativeCall | null {
	const path = toPath(args.get("path"), cwd);
	const pattern = toText(args.get("pattern"));
	const isRegex = toFlag(args.get("isRegex"));
	const ignoreCase = toFlag(args.get("ignoreCase"));
	const glob = toGlob(args.get("glob"));
	const byLine = toFlag(args.get("byLine"));
	if (path === null || pattern === null || glob === null) return null;
	if (isRegex === null || ignoreCase === null || byLine === null || byLine === false) return null;
	if (isRegex === undefined && /[\\^$.|?*+()[\]{}]/.test(pattern)) return null;
	return {
		name: "grep",
		arguments: {
			pattern,
			path,
			...(isRegex !== true && { literal: true }),
			...(ignoreCase === true && { ignoreCase }),
			...(glob !== undefined && { glob }),
		},
	};
}

function toFind(args: Arguments, cwd: string): NativeCall | null {
	const path = toPath(args.get("path"), cwd);
	const pattern = toText(args.get("pattern"));
	return path === null || pattern === null ? null : { name: "find", arguments: { pattern, path } };
}

function toText(value: JsonValue | undefined): string | null {
	return typeof value === "string" && value !== "" ? value : null;
}

/** An absolute path; null when there is none. */
export function toPath(value: JsonValue | undefined, cwd: string): string | null {
	const text = toText(value);
	if (text === null || text.includes("\0")) return null;
	if (!text.startsWith("file:")) return isAbsolute(text) ? text : resolve(cwd, text);
	try {
		return fileURLToPath(text);
	} catch {
		return null; // Not the address of a local file.
	}
}

/** First line and number of lines; {} is the whole file, null no range that pi knows. */
function toRange(
	start: JsonValue | undefined,
	end: JsonValue | undefined,
): { readonly offset?: number; readonly limit?: number } | null {
	if (start === undefined) return end === undefined ? {} : null;
	const offset = toLine(start);
	if (offset === null) return null;
	if (end === undefined) return { offset };
	const last = toLine(end);
	return last === null || last < offset ? null : { offset, limit: last - offset + 1 };
}

/** A line number, which may be written as text; the first line is 1. */
function toLine(value: JsonValue): number | null {
	const line = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
	return typeof line === "number" && Number.isSafeInteger(line) && line >= 1 ? line : null;
}

/** Undefined when it is not said, null when it is no flag. */
function toFlag(value: JsonValue | undefined): boolean | undefined | null {
	if (value === undefined || typeof value === "boolean") return value;
	if (value === "true") return true;
	return value === "false" ? false : null;
}

/** Undefined when it is not said, null when pi cannot say it. */
function toGlob(value: JsonValue | undefined): string | undefined | null {
	const globs = Array.isArray(value) ? value : value === undefined ? [] : [value];
	if (globs.length === 0) return undefined;
	return globs.length === 1 ? toText(globs[0] as JsonValue) : null;
}
