/** The list of models as pi gets it from a real `agy models`, whatever agy prints around it. */
import { describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SdkStage, type StageOptions } from "../support/sdk-stage.ts";

const stage = new SdkStage();

type Listing = {
	readonly name: string;
	readonly options: StageOptions;
	readonly models: Readonly<Record<string, string>>;
};

const LISTINGS: readonly Listing[] = [
	{
		name: "that waits for the end of its stdin",
		options: { scenario: "models-open-stdin", version: "1.1.22" },
		models: { "gemini-3.7-flash": "Gemini 3.7 Flash", "claude-sonnet-4-6": "Claude Sonnet 4.6" },
	},
	{
		name: "with its banner on stderr",
		options: { scenario: "models-stderr-banner", version: "1.1.25" },
		models: { "gemini-3.7-flash": "Gemini 3.7 Flash", "gemini-3.5-flash-lite": "Gemini 3.5 Flash Lite" },
	},
	{
		name: "with a banner, notices, further columns and odd ids among its rows",
		options: { scenario: "models-noise", version: "1.2.16" },
		models: { "custom/model-x": "Custom X", "vertex_ai/gemini-3.8-flash-low": "Gemini 3.8 Flash (Low)" },
	},
];

describe("an `agy models`", () => {
	it.each(LISTINGS)("$name", async ({ options, models }) => {
		const session = await stage.open(options);
		const { modelRuntime } = session.session;
		const [wanted = ""] = Object.keys(models);
		await until(
			() => `${wanted} among ${modelRuntime.getModels("antigravity").map((model) => model.id)}`,
			() => modelRuntime.getModel("antigravity", wanted),
		);
		const listed = modelRuntime.getModels("antigravity").map(({ id, name }) => [id, name]);
		expect(Object.fromEntries(listed)).toMatchObject(models);
		for (const [id] of listed) expect(id).toMatch(/^[\w./-]+$/);
		const calls = stage.sandbox.journal("start").filter(({ argv }) => (argv as readonly string[])[0] === "models");
		expect(calls.length).toBeGreaterThan(0);
	});
});

it("an agy that has replaced itself since it listed its models is asked again with the first turn", async () => {
	const { sandbox } = stage;
	const calls = () => sandbox.journal("start").filter(({ argv }) => (argv as readonly string[])[0] === "models").length;
	const before = calls();
	sandbox.seedModels(["gemini-3.8-flash-high", "gemini-3.8-flash-low", "gone-1"], { fingerprint: "of the old file" });
	const session = await stage.open();
	const { modelRuntime } = session.session;
	expect(modelRuntime.getModel("antigravity", "gone-1")).toBeDefined();
	expect(await session.ask("hello")).toBe("hello");
	await until("the new list", () => modelRuntime.getModel("antigravity", "gone-1") === undefined);
	expect(modelRuntime.getModel("antigravity", "claude-sonnet-4-6")).toBeDefined();
	await session.ask("again");
	expect(calls() - before).toBe(1);
});
