import { describe, expect, test } from "vitest";
import { Catalog, FALLBACK_ROWS } from "../../../src/main/models.ts";
import { chooseModel } from "../../../src/main/tools/delegate-model.ts";

const ROWS = [
	"gemini-4.0-flash-lite",
	...["low", "medium", "high"].map((tier) => `gemini-3.8-flash-${tier}`),
	...["low", "medium", "high"].map((tier) => `gemini-3.10-flash-${tier}`),
	...["low", "high"].map((tier) => `gemini-3.1-pro-${tier}`),
	...["claude-sonnet-4-6", "claude-opus-4-6-thinking", "gpt-oss-120b-medium", "vertex_ai/claude-haiku-5"],
];
const LISTED = new Catalog(
	ROWS.map((slug) => ({ slug, name: slug })),
	true,
);

function slugOf(model: string | undefined, thinking?: string, catalog = LISTED): string {
	return chooseModel(catalog, { model, thinking, defaultThinking: "medium" }).slug;
}

describe("a model's name", () => {
	test.each([
		[undefined, undefined, "gemini-4.0-flash-lite"],
		["flash", undefined, "gemini-3.10-flash-medium"],
		["Flash", "high", "gemini-3.10-flash-high"],
		["flash lite", undefined, "gemini-4.0-flash-lite"],
		["flash-3.8", undefined, "gemini-3.8-flash-medium"],
		["3.8", "minimal", "gemini-3.8-flash-low"],
		["gemini", undefined, "gemini-3.10-flash-medium"],
		["pro", undefined, "gemini-3.1-pro-high"],
		["pro low", undefined, "gemini-3.1-pro-low"],
		["gemini-3.1-pro", "max", "gemini-3.1-pro-high"],
		["gemini-3.8-flash-high", undefined, "gemini-3.8-flash-high"],
		["gemini-3.8-flash-high", "xhigh", "gemini-3.8-flash-high"],
		["sonnet", undefined, "claude-sonnet-4-6"],
		["sonnet-4.6", "high", "claude-sonnet-4-6"],
		["opus 4", undefined, "claude-opus-4-6-thinking"],
		["gpt-oss-120b-medium", undefined, "gpt-oss-120b-medium"],
		["haiku", undefined, "vertex_ai/claude-haiku-5"],
	])("%s with thinking %s is %s", (model, thinking, slug) => {
		expect(slugOf(model, thinking)).toBe(slug);
	});

	test("alone can be a level", () => {
		const flash = new Catalog(
			["low", "high"].map((tier) => ({ slug: `flash-${tier}`, name: tier })),
			true,
		);
		expect(slugOf("high", undefined, flash)).toBe("flash-high");
	});

	test.each(["llama", "flash-3.9", "--help", "-flash", "opus-5", "/", "gemini-9-new"])("%s is refused", (model) => {
		expect(() => slugOf(model)).toThrow(/agy offers no model ".*Allowed: gemini-4\.0-flash-lite, .*, or a part/);
	});

	test("that contradicts the thinking level is refused", () => {
		expect(() => slugOf("flash-low", "high")).toThrow(/contradict each other/);
	});
});

describe("while agy's own list is not known", () => {
	const builtIn = new Catalog(FALLBACK_ROWS, false);

	test("names still find the built-in models", () => {
		expect(slugOf("opus", undefined, builtIn)).toBe("claude-opus-4-6-thinking");
	});

	test("what looks like a slug is left to agy", () => {
		expect(slugOf("gemini-9-new", undefined, builtIn)).toBe("gemini-9-new");
	});

	test.each(["llama", "--agent", "a b-c"])("%s is refused", (model) => {
		expect(() => slugOf(model, undefined, builtIn)).toThrow(/agy offers no model/);
	});
});
