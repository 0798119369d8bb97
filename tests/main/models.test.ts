import { existsSync } from "node:fs";
import type { ProviderModelConfig } from "@earendil-works/pi-coding-agent";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Binary } from "../../src/main/binary.ts";
import { toCapabilities } from "../../src/main/capabilities.ts";
import { type Config, loadConfig } from "../../src/main/config.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { Catalog, FALLBACK_ROWS, loadCatalog, ModelCache, parseModelRows } from "../../src/main/models.ts";
import { ProcessRegistry } from "../../src/main/processes/registry.ts";
import { MODELS_FRESH_MS } from "../../src/shared/limits.ts";
import { writeScript } from "../support/executables.ts";
import { Folder } from "../support/folder.ts";

type ChatModel = Extract<ProviderModelConfig, { readonly reasoning: boolean }>;

const SLUGS_OF = (base: string, ...tiers: readonly string[]) =>
	tiers.map((tier) => ({ slug: `${base}-${tier}`, name: `${base} (${tier[0]?.toUpperCase()}${tier.slice(1)})` }));

describe("the rows of agy models", () => {
	test.each([
		[
			"plain",
			"a-low\tA (Low)\nb\tB\n",
			[
				{ slug: "a-low", name: "A (Low)" },
				{ slug: "b", name: "B" },
			],
		],
		["with a banner on stdout", "Fetching available models...\na\tA\n", [{ slug: "a", name: "A" }]],
		[
			"with CRLF",
			"Fetching...\r\na\tA\r\nb\tB\r\n",
			[
				{ slug: "a", name: "A" },
				{ slug: "b", name: "B" },
			],
		],
		["without a last line end", "a\tA", [{ slug: "a", name: "A" }]],
		["with a route in the slug", "vertex_ai/gemini-3.8\tG\n", [{ slug: "vertex_ai/gemini-3.8", name: "G" }]],
		["with more columns", "a\tA\tnew\n", [{ slug: "a", name: "A" }]],
		["not signed in", "You are not signed in.\nPlease launch the CLI without arguments to sign in.\n", []],
		["an indented hint", "  run\tagy\n", []],
		["a slug with spaces", "no slug\tX\n", []],
		["a slug without a name", "a\t\n", []],
		["JSON", '[{"id":"a"}]\n', []],
		["nothing", "", []],
	])("%s", (_name, stdout, rows) => {
		expect(parseModelRows(stdout)).toStrictEqual(rows);
	});
});

/** All of them are models for a conversation; pi knows others. */
function piModelsOf(catalog: Catalog): readonly ChatModel[] {
	return catalog.toPiModels() as readonly ChatModel[];
}

describe("the models pi shows", () => {
	const idsOf = (rows: Parameters<typeof parseModelRows>[0]) =>
		piModelsOf(new Catalog(parseModelRows(rows), true)).map(({ id, name, reasoning }) => ({ id, name, reasoning }));

	test("a family with several tiers is one model that reasons", () => {
		expect(idsOf("g-high\tGem (High)\ng-medium\tGem (Medium)\ng-low\tGem (Low)\n")).toStrictEqual([
			{ id: "g", name: "Gem", reasoning: true },
		]);
	});

	test("a family with one tier stays what it is", () => {
		expect(idsOf("gpt-oss-120b-medium\tGPT-OSS 120B (Medium)\n")).toStrictEqual([
			{ id: "gpt-oss-120b-medium", name: "GPT-OSS 120B (Medium)", reasoning: false },
		]);
	});

	test("other slugs are fixed models, in agy's order", () => {
		expect(idsOf("x\tX\ng-low\tG (Low)\ny-thinking\tY\ng-high\tG (High)\n").map(({ id }) => id)).toStrictEqual([
			"x",
			"g",
			"y-thinking",
		]);
	});

	test("pi offers the levels there is a tier for", () => {
		const [model] = piModelsOf(new Catalog(SLUGS_OF("g", "low", "high"), true));
		expect(model?.thinkingLevelMap).toMatchObject({ off: null, low: "low", medium: null, high: "high", xhigh: null });
	});

	test("a model costs nothing here, because agy names no price", () => {
		for (const model of piModelsOf(new Catalog(FALLBACK_ROWS, false))) {
			expect(model.cost).toStrictEqual({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 });
			expect(model.contextWindow).toBeGreaterThan(0);
		}
	});

	test("no id stands twice", () => {
		const ids = new Catalog([...FALLBACK_ROWS, ...FALLBACK_ROWS], false).toPiModels().map(({ id }) => id);
		expect(new Set(ids).size).toBe(ids.length);
	});
});

describe("the slug for a model and a thinking level", () => {
	const LEVELS = [undefined, "off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

	test.each([
		[
			["low", "medium", "high"],
			["low", "low", "low", "low", "medium", "high", "high", "high"],
		],
		[
			["low", "high"],
			["low", "low", "low", "low", "high", "high", "high", "high"],
		],
		[
			["low", "medium"],
			["low", "low", "low", "low", "medium", "medium", "medium", "medium"],
		],
		[
			["medium", "high"],
			["medium", "medium", "medium", "medium", "medium", "high", "high", "high"],
		],
	])("of %j for all levels", (tiers, efforts) => {
		const catalog = new Catalog(SLUGS_OF("g", ...tiers), true);
		expect(LEVELS.map((level) => catalog.choose("g", level))).toStrictEqual(
			efforts.map((effort) => ({ ok: true, slug: `g-${effort}`, effort })),
		);
	});

	test("of a level nobody knows is the middle one", () => {
		expect(new Catalog(SLUGS_OF("g", "low", "medium", "high"), true).choose("g", "hologram")).toMatchObject({
			slug: "g-medium",
		});
	});

	test.each(LEVELS)("of a fixed model never has an effort (%s)", (level) => {
		const catalog = new Catalog(parseModelRows("claude\tC\ngpt-medium\tG (Medium)\n"), true);
		expect(catalog.choose("claude", level)).toStrictEqual({ ok: true, slug: "claude", effort: null });
		expect(catalog.choose("gpt-medium", level)).toStrictEqual({ ok: true, slug: "gpt-medium", effort: null });
	});

	test("of agy's own list is taken as it is", () => {
		const catalog = new Catalog(SLUGS_OF("g", "low", "high"), true);
		expect(catalog.choose("g-high", "low")).toStrictEqual({ ok: true, slug: "g-high", effort: null });
	});

	test("of an id agy does not list is refused with what there is", () => {
		const catalog = new Catalog([...SLUGS_OF("g", "low", "high"), { slug: "claude", name: "C" }], true);
		expect(catalog.choose("nope", "low")).toStrictEqual({
			ok: false,
			message: 'agy offers no model "nope". Choose one of: g, claude.',
		});
	});

	test("of an id outside the built-in list is agy's to judge", () => {
		expect(new Catalog(FALLBACK_ROWS, false).choose("brand-new", "high")).toStrictEqual({
			ok: true,
			slug: "brand-new",
			effort: null,
		});
	});
});

test("the prices of the settings are pi's costs; a model without one costs nothing", () => {
	const catalog = new Catalog(
		[
			{ slug: "a", name: "A" },
			{ slug: "b", name: "B" },
		],
		true,
	);
	const costs = catalog.toPiModels({ a: { input: 1, output: 2, cacheRead: 0.5 } }).map(({ cost }) => cost);
	expect(costs).toStrictEqual([
		{ input: 1, output: 2, cacheRead: 0.5, cacheWrite: 0 },
		{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
	]);
});

describe("the kept list", () => {
	const folder = new Folder();
	let registry: ProcessRegistry;
	let store: JsonStore;

	beforeEach(() => {
		registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
			throw error;
		});
		store = new JsonStore(folder.at("models-cache.json"));
	});

	afterEach(() => registry.close());

	const configOf = (bin?: string): Config =>
		loadConfig({ PI_CODING_AGENT_DIR: folder.path, PATH: "/usr/bin:/bin", ...(bin && { AGY_BIN: bin }) });

	function refresh(script: string, config = configOf(), signal = new AbortController().signal) {
		const path = writeScript(folder.at("agy"), `[ "$1" = models ] || exit 9\n${script}`);
		const binary: Binary = {
			path,
			fingerprint: "f1",
			...toCapabilities({ version: "1.2.9", flags: null, printTimeout: null }, streamJsonEngine.requires),
		};
		return new ModelCache(store, registry).refresh(binary, config, signal);
	}

	const idsOf = (catalog: Catalog | null) => catalog?.toPiModels().map(({ id }) => id);

	test("is what agy said last, and fresh for a while", async () => {
		const listed = await refresh("echo Fetching...; printf 'g-low\\tG (Low)\\ng-high\\tG (High)\\n'");
		expect(idsOf(listed)).toStrictEqual(["g"]);
		expect(listed?.isListed).toBe(true);
		const { catalog, isFresh, fingerprint } = loadCatalog(store, configOf());
		expect(idsOf(catalog)).toStrictEqual(["g"]);
		expect([catalog.isListed, isFresh, fingerprint]).toStrictEqual([true, true, "f1"]);
	});

	test.each([
		["old", -MODELS_FRESH_MS],
		["from the future", 60_000],
	])("that is %s is used and not fresh", async (_name, offsetMs) => {
		await refresh("printf 'x\\tX\\n'");
		await store.update((file) => ({ ...file, fetchedAtMs: Date.now() + offsetMs }));
		const { catalog, isFresh } = loadCatalog(store, configOf());
		expect(idsOf(catalog)).toStrictEqual(["x"]);
		expect(isFresh).toBe(false);
	});

	test("belongs to one agy", async () => {
		await refresh("printf 'x\\tX\\n'", configOf("/opt/agy"));
		expect(idsOf(loadCatalog(store, configOf("/opt/agy")).catalog)).toStrictEqual(["x"]);
		for (const bin of [undefined, "/opt/other"]) {
			expect(loadCatalog(store, configOf(bin))).toMatchObject({ catalog: { isListed: false }, isFresh: false });
		}
	});

	test.each([
		["prints nothing", "true"],
		["is not signed in", "echo 'Please sign in'; exit 0"],
		["fails", "exit 1"],
		["is killed", "kill -9 $$"],
	])("is not touched when agy %s", async (_name, script) => {
		expect(await refresh(script)).toBeNull();
		expect(existsSync(folder.at("models-cache.json"))).toBe(false);
		expect(loadCatalog(store, configOf())).toMatchObject({ catalog: { isListed: false }, isFresh: false });
	});

	test("is not touched when the call is cancelled", async () => {
		expect(await refresh("printf 'x\\tX\\n'; sleep 1000", configOf(), AbortSignal.abort())).toBeNull();
		expect(existsSync(folder.at("models-cache.json"))).toBe(false);
	});

	test.each([
		["no list", { bin: "agy" }],
		["an empty list", { bin: "agy", rows: [] }],
		["no rows but other things", { bin: "agy", rows: [null, 1, "x", { slug: "x" }, { slug: 1, name: "X" }] }],
	])("of a file with %s is the built-in one", async (_name, file) => {
		await store.update(() => file);
		expect(loadCatalog(store, configOf())).toMatchObject({ catalog: { isListed: false }, isFresh: false });
	});
});
