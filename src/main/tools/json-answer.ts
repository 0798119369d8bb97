/** A text of agy that has to be JSON and fit a schema. Pure. */

import { Compile } from "typebox/compile";
import { Value } from "typebox/value";
import { AgyError, toError } from "../../shared/errors.ts";
import type { JsonObject } from "../../shared/events.ts";

export type JsonAnswer =
	| { readonly ok: true; readonly value: unknown }
	| { readonly ok: false; readonly problem: string };

const FENCED = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/;
/** So much of a schema's text at most: it is a form for an answer, not data. */
const MAX_SCHEMA_CHARS = 100_000;
const MAX_PROBLEMS = 3;

/** Throws `bad-argument` for a schema that agy or the check would not take. */
export function requireSchema(schema: JsonObject): void {
	const refuse = (why: string) => new AgyError("bad-argument", `schema ${why}. Nothing was started.`);
	if (schema.type !== "object") throw refuse('must have "type": "object" at its root: agy takes no other');
	if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) throw refuse(`is longer than ${MAX_SCHEMA_CHARS} characters`);
	try {
		Compile(schema); // Looks at all of it, which a check of some value does not.
	} catch (thrown) {
		throw refuse(`cannot be used (${toError(thrown).message})`);
	}
}

/** The value that a text holds: all of it is JSON, perhaps in a code fence, and fits the schema. */
export function parseJsonAnswer(text: string, schema: JsonObject): JsonAnswer {
	let value: unknown;
	try {
		value = JSON.parse(FENCED.exec(text)?.[1] ?? text);
	} catch (thrown) {
		return { ok: false, problem: `is no JSON (${toError(thrown).message})` };
	}
	try {
		if (Value.Check(schema, value)) return { ok: true, value };
		const problems = Value.Errors(schema, value).map(
			({ instancePath, message }) => `${instancePath || "/"} ${message}`,
		);
		return { ok: false, problem: `does not fit the schema: ${problems.slice(0, MAX_PROBLEMS).join("; ")}` };
	} catch (thrown) {
		return { ok: false, problem: `cannot be checked against the schema (${toError(thrown).message})` };
	}
}
