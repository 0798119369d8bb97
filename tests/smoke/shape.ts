/**
 * The shape of what agy printed: which events, steps and states, in which order, with which fields of which type. Never content: a
 * value is kept only where agy's own words stand (states, types, names of tools), and only when it looks like one. Pure.
 */
import type { CaptureEntry } from "../../src/shared/capture.ts";

export type Frame = {
	/** Such as "init", "result SUCCESS", "tool view_file DONE", "event weather". */
	readonly kind: string;
	/** Types by path, such as "tool_info.output" -> "string". */
	readonly fields: ReadonlyMap<string, string>;
};

export type TurnShape = {
	readonly name: string;
	readonly frames: readonly Frame[];
	/** Lines of stdout that are no JSON object. */
	readonly unreadable: number;
	readonly hasStderr: boolean;
	/** What pi-agy makes of the turn. */
	readonly verdict: string;
};

type Fields = { readonly [key: string]: unknown };

/** agy's own names are words of at most some 40 characters. */
const NAME = /^[A-Za-z_][\w.:-]{0,59}$/;
/** A key that is a path, an address or a sentence is content, too. */
const KEY = /^[A-Za-z_]\w{0,59}$/;
const UNNAMED = "(other)";
/** Deeper, and below what a tool is called with, names are content. */
const MAX_DEPTH = 4;
const CONTENT = new Set(["parameters", "structured_output", "json_schema"]);

export function toFrames(entries: readonly CaptureEntry[]): {
	readonly frames: readonly Frame[];
	readonly unreadable: number;
} {
	const lines = entries.filter(({ dir }) => dir === "out").map(({ line }) => toFields(line));
	const frames = lines.flatMap((line) => (line === null ? [] : [{ kind: kindOf(line), fields: fieldsOf(line) }]));
	return { frames, unreadable: lines.length - frames.length };
}

/** A line of stdout as an object; null when it is none. */
export function toFields(line: string): Fields | null {
	try {
		const value: unknown = JSON.parse(line);
		return isFields(value) ? value : null;
	} catch {
		return null; // Noise: counted.
	}
}

export function isFields(value: unknown): value is Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function toName(value: unknown): string {
	return typeof value === "string" && NAME.test(value) ? value : UNNAMED;
}

export function toKey(key: string): string {
	return KEY.test(key) ? key : UNNAMED;
}

/** The event's own fields, which stand below its name, or beside it in the flat form. */
export function payloadOf(line: Fields): Fields {
	const payload = line[String(line.event ?? line.type ?? "")];
	return isFields(payload) ? payload : line;
}

function kindOf(line: Fields): string {
	const event = toName(line.event ?? line.type);
	const payload = payloadOf(line);
	if (event === "init") return "init";
	if (event === "result") return `result ${toName(payload.status)}`;
	if (event !== "step_update") return `event ${event}`;
	const tool = payload.tool_name === undefined ? "" : ` ${toName(payload.tool_name)}`;
	return `${toName(payload.step_type)}${tool} ${toName(payload.state)}`;
}

function fieldsOf(line: Fields): ReadonlyMap<string, string> {
	const found = new Map<string, string>();
	collect(line, "", 0, found);
	return found;
}

function collect(fields: Fields, prefix: string, depth: number, found: Map<string, string>): void {
	for (const [key, value] of Object.entries(fields)) {
		const path = prefix === "" ? toKey(key) : `${prefix}.${toKey(key)}`;
		const [inner] = Array.isArray(value) ? value : [value];
		found.set(path, Array.isArray(value) ? `${typeOf(inner)}[]` : typeOf(value));
		if (isFields(inner) && depth < MAX_DEPTH && !CONTENT.has(key)) collect(inner, path, depth + 1, found);
	}
}

function typeOf(value: unknown): string {
	if (value === null) return "null";
	if (value === undefined) return "nothing";
	return Array.isArray(value) ? "array" : typeof value;
}
