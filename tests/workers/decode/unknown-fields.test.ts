import { describe, expect, test } from "vitest";
import { turnLines } from "../../../bench/support/agy-lines.ts";
import { unknownFieldsOf, unknownStatusOf } from "../../../src/workers/decode/unknown-fields.ts";

describe("fields that nobody reads", () => {
	test.each([
		["an init", { event: "init", init: { model: "m", shiny: 1 } }, ["init.shiny"]],
		["a step", { event: "step_update", step_update: { step_index: 1, retry_hint: "x" } }, ["step_update.retry_hint"]],
		["a result", { event: "result", result: { status: "SUCCESS", cost: 1 } }, ["result.cost"]],
		["the envelope", { event: "result", trace: 1, result: {} }, ["trace"]],
		[
			"usage",
			{ event: "result", result: { usage: { input_tokens: 1, audio_tokens: 2 } } },
			["result.usage.audio_tokens"],
		],
		[
			"a tool's own",
			{ event: "step_update", step_update: { tool_info: { name: "x", exit_code: 3 } } },
			["step_update.tool_info.exit_code"],
		],
		[
			"names that every object has",
			{ event: "result", result: { constructor: {}, toString: 1 } },
			["result.constructor", "result.toString"],
		],
		["a flat line", { type: "result", status: "OK", extra: 1 }, ["result.extra"]],
	])("are named: %s", (_name, line, expected) => {
		expect(unknownFieldsOf(line)).toStrictEqual(expected);
	});

	test.each([
		[
			"a tool's arguments, which are content",
			{ event: "step_update", step_update: { tool_info: { parameters: { Secret: 1 } } } },
		],
		["another event, which is counted as a whole", { event: "mood", mood: { x: 1 } }],
		["an event named like what every object has", { event: "constructor", constructor: { x: 1 } }],
		["a payload that is none", { event: "result", result: "x" }],
		["a usage that is none", { event: "result", result: { usage: "x" } }],
	])("are not looked for in %s", (_name, line) => {
		expect(unknownFieldsOf(line).filter((name) => name !== "result.result")).toStrictEqual([]);
	});

	test("are none in what agy is known to print", () => {
		const lines = turnLines().map((line) => JSON.parse(line));
		expect(lines.length).toBeGreaterThan(10);
		for (const line of lines) expect(unknownFieldsOf(line), JSON.stringify(line)).toStrictEqual([]);
	});
});

test.each([
	[{ event: "result", result: { status: "HALF" } }, "HALF"],
	[{ event: "result", status: "half" }, "half"],
	[{ event: "result", result: { status: "success" } }, null],
	[{ event: "result", result: {} }, null],
	[{ event: "step_update", step_update: { status: "HALF" } }, null],
])("the status of %j that is not known: %s", (line, expected) => {
	expect(unknownStatusOf(line)).toBe(expected);
});
