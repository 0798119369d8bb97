/**
 * Which model a delegated run gets: from what another model wrote ("flash", "opus 4.6", "gemini-3.8-flash-high") to a slug
 * of agy. A name matches a model when its words all stand in the model's id and its version is the beginning of the id's;
 * of several the newest is taken. Pure.
 */

import { AgyError } from "../../shared/errors.ts";
import type { Catalog } from "../models.ts";

export type ModelWish = {
	/** Undefined: the first model of agy's list. */
	readonly model: string | undefined;
	/** A thinking level of pi. */
	readonly thinking: string | undefined;
	/** The level when neither `thinking` nor the model's name says one. */
	readonly defaultThinking: string;
};

export type ChosenModel = {
	/** As pi knows it. */
	readonly id: string;
	readonly slug: string;
	/** What agy offers for the level that was asked for; null for a model without levels. */
	readonly effort: string | null;
};

/** An id that agy is asked about where its list is not known; never an option, for it begins with no dash. */
const SLUG = /^[A-Za-z0-9][A-Za-z0-9._/]*-[A-Za-z0-9._/-]+$/;
const TIER = /^(.*?)[\s:_/-]*\b(low|medium|high)$/;
/** Parts of an id that name a lesser or special model: taken only when asked for. */
const QUALIFIERS: ReadonlySet<string> = new Set(["lite", "mini", "nano", "oss", "preview", "exp"]);

/** Throws `model-unknown`, and `bad-argument` when the name and `thinking` ask for different levels. */
export function chooseModel(catalog: Catalog, { model, thinking, defaultThinking }: ModelWish): ChosenModel {
	const ids = catalog.toPiModels().map(({ id }) => id);
	const wanted = model?.trim().toLowerCase() ?? "";
	const id = find(ids, wanted);
	if (id !== null) return choose(catalog, id, thinking ?? defaultThinking);
	const [, base = "", tier = ""] = TIER.exec(wanted) ?? [];
	const tiered = tier === "" ? null : find(ids, base);
	if (tiered !== null) {
		const chosen = choose(catalog, tiered, tier);
		if (thinking === undefined || choose(catalog, tiered, thinking).slug === chosen.slug) return chosen;
		throw new AgyError("bad-argument", `model "${model}" and thinking "${thinking}" contradict each other. Give one.`);
	}
	if (!catalog.isListed && SLUG.test(model?.trim() ?? "")) return choose(catalog, model?.trim() ?? "", undefined);
	throw new AgyError(
		"model-unknown",
		`agy offers no model "${model}". Allowed: ${ids.join(", ")}, or a part of such a name (flash, pro, opus, "sonnet 4.6"), with -low, -medium or -high behind it.`,
	);
}

function choose(catalog: Catalog, id: string, level: string | undefined): ChosenModel {
	const choice = catalog.choose(id, level);
	if (!choice.ok) throw new AgyError("model-unknown", choice.message);
	return { id, slug: choice.slug, effort: choice.effort };
}

function find(ids: readonly string[], wanted: string): string | null {
	if (wanted === "") return ids[0] ?? null;
	const exact = ids.find((id) => id.toLowerCase() === wanted);
	if (exact !== undefined) return exact;
	const { words, version } = parse(wanted);
	if (words.length + version.length === 0 || wanted.startsWith("-")) return null;
	const matches = ids
		.map((id) => ({ id, ...parse(id.toLowerCase()) }))
		.filter((other) => words.every((word) => other.words.includes(word)))
		.filter((other) => version.every((number, index) => other.version[index] === number))
		.toSorted((a, b) => strangersIn(a.words, words) - strangersIn(b.words, words) || compare(b.version, a.version));
	return matches[0]?.id ?? null;
}

function parse(name: string): { readonly words: readonly string[]; readonly version: readonly number[] } {
	const parts = name.match(/[a-z]+|\d+/g) ?? [];
	return {
		words: parts.filter((part) => /[a-z]/.test(part)),
		version: parts.filter((part) => /\d/.test(part)).map(Number),
	};
}

function strangersIn(words: readonly string[], wanted: readonly string[]): number {
	return words.filter((word) => QUALIFIERS.has(word) && !wanted.includes(word)).length;
}

function compare(a: readonly number[], b: readonly number[]): number {
	for (let index = 0; index < Math.max(a.length, b.length); index++) {
		const difference = (a[index] ?? 0) - (b[index] ?? 0);
		if (difference !== 0) return difference;
	}
	return 0;
}
