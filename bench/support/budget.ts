/** budget.json: what is promised, as ratios, and whether a run keeps it. Pure. */

import type { CaseResult } from "./suite.ts";

export type Budget = Readonly<Record<string, BudgetEntry>>;

export type BudgetEntry = {
	/** The ratio may not be smaller (`atLeast`) or greater (`atMost`); exactly one of them is given. */
	readonly atLeast?: number;
	readonly atMost?: number;
	/** In place of `atLeast` in a run in which the control was starved (CaseResult.isStarved). */
	readonly atLeastStarved?: number;
	/** What the design promises on a free machine, where that is more than `atLeast`. Reported, not enforced. */
	readonly target?: number;
	readonly reason: string;
};

export type Verdict = {
	readonly key: string;
	readonly entry: BudgetEntry;
	/** NaN when the run did not measure it. */
	readonly ratio: number;
	/** The bound that counted. */
	readonly bound: number;
	readonly passed: boolean;
};

/** Judges one run of a case. `key` is `suite/case/measure`. */
export function judge(key: string, entry: BudgetEntry, result: CaseResult): Verdict {
	const ratio = result.ratios[key.slice(key.lastIndexOf("/") + 1)] ?? Number.NaN;
	if (entry.atMost !== undefined) return { key, entry, ratio, bound: entry.atMost, passed: ratio <= entry.atMost };
	const atLeast = entry.atLeast ?? Number.NaN;
	const bound = result.isStarved ? (entry.atLeastStarved ?? atLeast) : atLeast;
	return { key, entry, ratio, bound, passed: ratio >= bound };
}

/** Checks the file's shape: a budget that is misread would pass everything. */
export function parseBudget(source: string): Budget {
	const budget = JSON.parse(source) as Budget;
	for (const [key, { atLeast, atMost, reason }] of Object.entries(budget)) {
		if (Number.isFinite(atLeast) === Number.isFinite(atMost))
			throw new Error(`budget.json: ${key} needs exactly one of atLeast and atMost`);
		if (!reason) throw new Error(`budget.json: ${key} needs a reason`);
	}
	return budget;
}
