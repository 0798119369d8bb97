/**
 * --model and --effort against the list of models: which pairs agy takes, and the words it refuses the others with.
 * Ids of tiered families end in their effort; the bare family name is accepted only together with --effort.
 */
import type { ModelRow } from "../scenario/scenario.ts";

export type ModelChoice =
	| { readonly ok: true; readonly model: string | undefined }
	| { readonly ok: false; readonly error: string };

const TIERS = ["low", "medium", "high"];

export const DEFAULT_MODELS: readonly ModelRow[] = [
	...tiered("gemini-3.8-flash", "Gemini 3.8 Flash", ["high", "medium", "low"]),
	...tiered("gemini-3.7-flash", "Gemini 3.7 Flash", ["high", "medium", "low"]),
	...tiered("gemini-3.6-flash", "Gemini 3.6 Flash", ["high", "medium", "low"]),
	{ id: "gemini-3.5-flash-lite", label: "Gemini 3.5 Flash Lite" },
	...tiered("gemini-3.1-pro", "Gemini 3.1 Pro", ["high", "low"]),
	{ id: "claude-sonnet-4-6", label: "Claude Sonnet 4.6" },
	{ id: "claude-opus-4-6-thinking", label: "Claude Opus 4.6 (Thinking)" },
];

export function chooseModel(
	rows: readonly ModelRow[],
	model: string | undefined,
	effort: string | undefined,
): ModelChoice {
	if (model === undefined) return { ok: true, model: undefined };
	const tiers = TIERS.filter((tier) => rows.some((row) => row.id === `${model}-${tier}`));
	if (tiers.length > 0) {
		if (effort !== undefined && tiers.includes(effort)) return { ok: true, model: `${model}-${effort}` };
		return { ok: false, error: `--model ${model} requires --effort (available: ${tiers.join(", ")})` };
	}
	if (!rows.some((row) => row.id === model)) {
		const ids = rows.map((row) => `\n  ${row.id}`).join("");
		const reason = `model ${model} is not recognized as a known model or custom model in settings`;
		const asked = `--model "${model}" --effort "${effort ?? ""}"`;
		return { ok: false, error: `invalid model selection (${asked}): ${reason}\nAvailable models:${ids}` };
	}
	if (effort === undefined) return { ok: true, model };
	const tier = TIERS.find((name) => model.endsWith(`-${name}`));
	if (tier === undefined) return { ok: false, error: `--effort is not supported for model "${model}"` };
	if (tier !== effort) return { ok: false, error: `--model ${model} conflicts with --effort=${effort}` };
	return { ok: true, model };
}

function tiered(family: string, label: string, tiers: readonly string[]): readonly ModelRow[] {
	return tiers.map((tier) => ({
		id: `${family}-${tier}`,
		label: `${label} (${tier.charAt(0).toUpperCase()}${tier.slice(1)})`,
	}));
}
