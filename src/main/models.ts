/**
 * The model catalog: what `agy models` lists, as pi models. Slugs that differ only in their effort (`…-low`, `…-high`)
 * become one pi model whose thinking level chooses the slug; every other slug is a fixed model.
 */

import type { ThinkingLevelMap } from "@earendil-works/pi-ai";
import type { ProviderModelConfig } from "@earendil-works/pi-coding-agent";
import type { JsonObject } from "../shared/events.ts";
import { MODELS_FRESH_MS, MODELS_MAX_BYTES, MODELS_TIMEOUT_MS } from "../shared/limits.ts";
import type { Binary } from "./binary.ts";
import type { Config } from "./config.ts";
import type { JsonStore } from "./json-store.ts";
import type { ProcessRegistry } from "./processes/registry.ts";
import { runCommand } from "./processes/run.ts";

export type ModelRow = { readonly slug: string; readonly name: string };
type Effort = "low" | "medium" | "high";

/** One pi model: either one slug, or a slug per effort that agy offers. */
type Model = { readonly id: string; readonly name: string; readonly tiers: ReadonlyMap<Effort, string> | null };

export type Choice =
	| { readonly ok: true; readonly slug: string; readonly effort: Effort | null }
	| { readonly ok: false; readonly message: string };

const EFFORTS: readonly Effort[] = ["low", "medium", "high"];
/** Where a pi thinking level wants to be on the scale of EFFORTS. */
const EFFORT_OF_LEVEL: Readonly<Record<string, number>> = {
	off: 0,
	minimal: 0,
	low: 0,
	medium: 1,
	high: 2,
	xhigh: 2,
	max: 2,
};
const CONTEXT_WINDOW_TOKENS = 1_000_000;
const MAX_OUTPUT_TOKENS = 65_536;
/** Id, name, and whatever columns may follow. */
const ROW = /^([A-Za-z0-9._/-]+)\t([^\t]+)/;

/** Shown until agy has been asked once. Any list goes stale; a refresh replaces it. */
export const FALLBACK_ROWS: readonly ModelRow[] = [
	...tierRows("gemini-3.8-flash", "Gemini 3.8 Flash", EFFORTS),
	...tierRows("gemini-3.1-pro", "Gemini 3.1 Pro", ["low", "high"]),
	{ slug: "gemini-3.5-flash-lite", name: "Gemini 3.5 Flash Lite" },
	{ slug: "claude-sonnet-4-6", name: "Claude Sonnet 4.6" },
	{ slug: "claude-opus-4-6-thinking", name: "Claude Opus 4.6 (Thinking)" },
];

export class Catalog {
	/** Listed by agy itself, not built in: an id outside it does not exist. */
	readonly isListed: boolean;
	readonly #models: readonly Model[];
	readonly #slugs: ReadonlySet<string>;

	constructor(rows: readonly ModelRow[], isListed: boolean) {
		this.isListed = isListed;
		this.#models = toModels(rows);
		this.#slugs = new Set(rows.map((row) => row.slug));
	}

	toPiModels(prices: Config["prices"] = {}): ProviderModelConfig[] {
		return this.#models.map(({ id, name, tiers }) => ({
			id,
			name,
			reasoning: tiers !== null,
			...(tiers && { thinkingLevelMap: toLevelMap(tiers) }),
			input: ["text", "image"],
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...prices[id] },
			contextWindow: CONTEXT_WINDOW_TOKENS,
			maxTokens: MAX_OUTPUT_TOKENS,
		}));
	}

	/**
	 * The slug for a pi model id and thinking level (undefined is "off"): the nearest tier agy offers, the higher of two.
	 * A slug of agy's own list is taken as it is. With only the built-in list, agy decides about an id it does not hold.
	 */
	choose(modelId: string, level: string | undefined): Choice {
		const model = this.#models.find((candidate) => candidate.id === modelId);
		if (model?.tiers) {
			const effort = nearestEffort([...model.tiers.keys()], EFFORT_OF_LEVEL[level ?? "off"] ?? 1);
			return { ok: true, slug: model.tiers.get(effort) ?? modelId, effort };
		}
		if (model || this.#slugs.has(modelId) || !this.isListed) return { ok: true, slug: modelId, effort: null };
		const offered = this.#models.map((candidate) => candidate.id).join(", ");
		return { ok: false, message: `agy offers no model "${modelId}". Choose one of: ${offered}.` };
	}
}

/** Rows of `agy models`. Banners, notices and sign-in texts have no tab behind a slug. */
export function parseModelRows(stdout: string): readonly ModelRow[] {
	return stdout.split("\n").flatMap((line) => {
		const match = ROW.exec(line.trimEnd());
		return match?.[1] && match[2] ? [{ slug: match[1], name: match[2].trim() }] : [];
	});
}

/** The list kept in models-cache.json, per agy binary. */
export class ModelCache {
	readonly #store: JsonStore;
	readonly #registry: ProcessRegistry;

	constructor(store: JsonStore, registry: ProcessRegistry) {
		this.#store = store;
		this.#registry = registry;
	}

	/** Asks agy. Null when it fails or lists nothing; only a list with rows is kept. */
	async refresh(binary: Binary, config: Config, signal: AbortSignal): Promise<Catalog | null> {
		const result = await runCommand(
			{
				bin: binary.path,
				args: ["models"],
				env: config.childEnv,
				timeoutMs: MODELS_TIMEOUT_MS,
				maxBytes: MODELS_MAX_BYTES,
				signal,
			},
			this.#registry,
		);
		const rows = result.ok ? parseModelRows(result.stdout) : [];
		if (rows.length === 0) return null;
		await this.#store.update((file) => ({
			...file,
			version: 1,
			bin: config.bin ?? "agy",
			fingerprint: binary.fingerprint,
			fetchedAtMs: Date.now(),
			rows,
		}));
		return new Catalog(rows, true);
	}
}

export type LoadedCatalog = {
	readonly catalog: Catalog;
	readonly isFresh: boolean;
	/** The state of agy's file that listed it; null for the built-in list, and where it was not noted. */
	readonly fingerprint: string | null;
};

/** The kept list when it belongs to the configured agy, else the built-in one. For start-up. */
export function loadCatalog(store: JsonStore, config: Config): LoadedCatalog {
	const file = store.readSync();
	const rows = file.bin === (config.bin ?? "agy") ? toRows(file) : [];
	if (rows.length === 0) return { catalog: new Catalog(FALLBACK_ROWS, false), isFresh: false, fingerprint: null };
	const ageMs = Date.now() - Number(file.fetchedAtMs);
	return {
		catalog: new Catalog(rows, true),
		isFresh: ageMs >= 0 && ageMs < MODELS_FRESH_MS,
		fingerprint: typeof file.fingerprint === "string" ? file.fingerprint : null,
	};
}

function toRows(file: JsonObject): readonly ModelRow[] {
	const rows = file.rows;
	if (!Array.isArray(rows)) return [];
	return (rows as unknown[]).filter((row): row is ModelRow => {
		const { slug, name } = (row ?? {}) as { readonly slug?: unknown; readonly name?: unknown };
		return typeof slug === "string" && typeof name === "string";
	});
}

function toModels(rows: readonly ModelRow[]): readonly Model[] {
	const families = new Map<string, Map<Effort, string>>();
	for (const { slug } of rows) {
		const tier = splitTier(slug);
		if (tier) families.set(tier.base, (families.get(tier.base) ?? new Map()).set(tier.effort, slug));
	}
	const models = new Map<string, Model>();
	for (const { slug, name } of rows) {
		const tier = splitTier(slug);
		const tiers = tier && families.get(tier.base);
		if (tier && tiers && tiers.size > 1) {
			if (!models.has(tier.base))
				models.set(tier.base, { id: tier.base, name: name.replace(/\s*\((low|medium|high)\)$/i, ""), tiers });
		} else {
			models.set(slug, { id: slug, name, tiers: null });
		}
	}
	return [...models.values()];
}

function splitTier(slug: string): { readonly base: string; readonly effort: Effort } | null {
	const match = /^(.+)-(low|medium|high)$/.exec(slug);
	return match?.[1] ? { base: match[1], effort: match[2] as Effort } : null;
}

function nearestEffort(offered: readonly Effort[], wanted: number): Effort {
	const distance = (effort: Effort) =>
		Math.abs(EFFORTS.indexOf(effort) - wanted) - (EFFORTS.indexOf(effort) > wanted ? 0.5 : 0);
	return offered.reduce((best, effort) => (distance(effort) < distance(best) ? effort : best));
}

/** pi shows the levels agy has a tier for and hides the others. */
function toLevelMap(tiers: ReadonlyMap<Effort, string>): ThinkingLevelMap {
	const shown = (effort: Effort) => (tiers.has(effort) ? effort : null);
	return {
		off: null,
		minimal: null,
		low: shown("low"),
		medium: shown("medium"),
		high: shown("high"),
		xhigh: null,
		max: null,
	};
}

function tierRows(base: string, name: string, efforts: readonly Effort[]): readonly ModelRow[] {
	return efforts.map((effort) => ({
		slug: `${base}-${effort}`,
		name: `${name} (${effort[0]?.toUpperCase()}${effort.slice(1)})`,
	}));
}
