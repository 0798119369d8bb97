/**
 * --json-schema: an inline schema, the path of one, or the name of a primitive type; and an answer that satisfies it when
 * the scenario gives none.
 */
import { readFileSync } from "node:fs";
import type { Behaviour } from "../scenario/behaviour.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;
export type SchemaChoice =
	| { readonly ok: true; readonly schema: JsonSchema | undefined }
	| { readonly ok: false; readonly error: string };

const PRIMITIVES = ["string", "number", "integer", "boolean", "array", "object", "null"];

export function readAnswerSchema(given: string | undefined, behaviour: Behaviour): SchemaChoice {
	if (given === undefined) return { ok: true, schema: undefined };
	let schema: JsonSchema;
	try {
		schema = PRIMITIVES.includes(given)
			? { type: given }
			: JSON.parse(given.trimStart().startsWith("{") ? given : readFileSync(given, "utf8"));
	} catch (error) {
		return { ok: false, error: `invalid --json-schema: ${error instanceof Error ? error.message : error}` };
	}
	if (behaviour.schemaRootMustBeObject && schema.type !== "object") {
		return { ok: false, error: "invalid --json-schema: the root of the schema must be an object" };
	}
	return { ok: true, schema };
}

/** The answer as structured data: what the text holds when it is JSON, else the plainest value the schema allows. */
export function structuredAnswer(schema: JsonSchema, response: string): unknown {
	try {
		return JSON.parse(response);
	} catch {
		return plainestValue(schema); // prose: no JSON in it
	}
}

function plainestValue(schema: JsonSchema): unknown {
	if (Array.isArray(schema.enum)) return schema.enum[0];
	switch (schema.type) {
		case "object": {
			const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
			return Object.fromEntries(properties.map(([name, property]) => [name, plainestValue(property)]));
		}
		case "array":
			return [];
		case "boolean":
			return true;
		case "number":
		case "integer":
			return 0;
		case "null":
			return null;
		default:
			return "simulated";
	}
}
