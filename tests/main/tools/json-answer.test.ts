import { describe, expect, test } from "vitest";
import { parseJsonAnswer, requireSchema } from "../../../src/main/tools/json-answer.ts";

const SCHEMA = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] };

describe("an answer", () => {
	test.each([
		['{"n":1}', { ok: true, value: { n: 1 } }],
		['```json\n{"n": 2}\n```', { ok: true, value: { n: 2 } }],
		['```\n{"n": 2}```', { ok: true, value: { n: 2 } }],
		['{"n":0}', { ok: false, problem: "does not fit the schema: /n must be >= 1" }],
		["{}", { ok: false, problem: expect.stringMatching(/^does not fit the schema: \/ must have required/) }],
		['Here: {"n":1}', { ok: false, problem: expect.stringMatching(/^is no JSON \(/) }],
		["", { ok: false, problem: expect.stringMatching(/^is no JSON \(/) }],
	])("%j", (text, expected) => {
		expect(parseJsonAnswer(text, SCHEMA)).toEqual(expected);
	});
});

describe("a schema", () => {
	test.each([
		[{ type: "array" }, /at its root/],
		[{}, /at its root/],
		[{ type: "object", properties: { a: { type: "string", pattern: "(" } } }, /cannot be used/],
		[{ type: "object", description: "x".repeat(100_001) }, /longer than/],
	])("that is refused: %#", (schema, message) => {
		expect(() => requireSchema(schema as never)).toThrow(message);
	});

	test("that is taken", () => {
		requireSchema(SCHEMA);
	});
});
