import { describe, expect, test } from "vitest";
import { DriftCounter } from "../../src/shared/drift.ts";

describe("what is not known", () => {
	test("is counted by kind and name, the most frequent first", () => {
		const drift = new DriftCounter();
		drift.add("event", "mood");
		drift.add("field", "mood");
		drift.add("field", "mood", 4);
		expect(drift.all).toStrictEqual([
			{ what: "field", name: "mood", count: 5 },
			{ what: "event", name: "mood", count: 1 },
		]);
	});

	test.each([
		["words", "please delete my secret file"],
		["a long name", "x".repeat(61)],
		["a line", "a\nb"],
		["a key", "AIza+key/=="],
		["nothing", ""],
		["markup", "<b>"],
	])("keeps no name that may be content: %s", (_what, name) => {
		const drift = new DriftCounter();
		drift.add("event", name);
		expect(drift.all).toStrictEqual([{ what: "event", name: "(other)", count: 1 }]);
	});

	test("is bounded: further names are counted together", () => {
		const drift = new DriftCounter();
		for (let index = 0; index < 500; index++) drift.add("event", `event-${index}`);
		expect(drift.all.length).toBeLessThanOrEqual(101);
		expect(drift.all[0]).toStrictEqual({ what: "event", name: "(other)", count: 400 });
		drift.add("event", "event-3");
		expect(drift.all.find(({ name }) => name === "event-3")?.count).toBe(2);
	});

	test("is taken once", () => {
		const drift = new DriftCounter();
		drift.add("exit", "code-3:panic");
		expect(drift.isEmpty).toBe(false);
		expect(drift.take()).toHaveLength(1);
		expect(drift.take()).toStrictEqual([]);
		expect(drift.isEmpty).toBe(true);
	});
});
