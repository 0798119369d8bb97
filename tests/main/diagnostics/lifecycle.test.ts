import { expect, test } from "vitest";
import { Lifecycle, toSafeMark } from "../../../src/main/diagnostics/lifecycle.ts";

test("the last hundred events are kept, oldest first", () => {
	const lifecycle = new Lifecycle();
	for (let turn = 1; turn <= 120; turn++) lifecycle.add({ event: "turn-start", turn });
	expect(lifecycle.entries).toHaveLength(100);
	expect([lifecycle.entries[0], lifecycle.entries.at(-1)].map((entry) => entry?.mark.turn)).toStrictEqual([21, 120]);
});

test("facts are short and without credentials", () => {
	const mark = {
		event: "call-tool",
		tool: "x".repeat(500),
		key: "AIzaSyA1234567890abcdefghijklmnop",
		n: 3,
		none: null,
	} as const;
	expect(toSafeMark(mark)).toStrictEqual({
		event: "call-tool",
		tool: "x".repeat(100),
		key: "[api key]",
		n: 3,
		none: null,
	});
});
