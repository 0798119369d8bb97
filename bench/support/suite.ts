/** What a suite is, and what its cases answer with. */

import type { Spread } from "./spread.ts";

export type Suite = { readonly name: string; readonly cases: readonly BenchCase[] };

export type BenchCase = {
	readonly name: string;
	/** `isShort` asks for the form the check uses: the same work, less often. */
	run(isShort: boolean): Promise<CaseResult>;
	/** Left out of the check. Default: false. */
	readonly isFullOnly?: boolean;
};

export type CaseResult = {
	readonly rows: readonly Row[];
	/** What the budget speaks of, by measure: the last part of a key in budget.json. */
	readonly ratios: Readonly<Record<string, number>>;
	/**
	 * The control did not get the processor time to keep up with its sources. It then reads many events at once, late, and
	 * each costs it less than it would on a machine that is free.
	 */
	readonly isStarved?: boolean;
	/** Figures over a quantity that was varied; the report draws them. Default: none. */
	readonly series?: readonly Series[];
	/** Facts of the run that are no measurement: how much, that both sides agreed. */
	readonly notes: readonly string[];
};

/** One line of the table. */
export type Row = {
	readonly measure: string;
	readonly side: string;
	readonly unit: string;
	readonly spread: Spread;
};

/** One line of a plot. Series of the same measure belong into one. */
export type Series = {
	readonly measure: string;
	readonly side: string;
	readonly unit: string;
	readonly points: readonly { readonly x: number; readonly y: number }[];
};
