/** The table and the lines a run prints. Pure. */

import type { Verdict } from "./budget.ts";
import type { CaseResult } from "./suite.ts";

const HEADINGS = ["measure", "side", "unit", "p50", "p75", "p99", "samples"];

/** One case: its rows, its ratios, its notes. */
export function formatCase(name: string, result: CaseResult): string {
	const rows = result.rows.map(({ measure, side, unit, spread: { p50, p75, p99, samples } }) => [
		measure,
		side,
		unit,
		...(samples === 1 ? [figure(p50), "", ""] : [figure(p50), figure(p75), figure(p99)]),
		String(samples),
	]);
	const table = [HEADINGS, ...rows];
	const widths = HEADINGS.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
	const lines = table.map((row) =>
		row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))),
	);
	const ratios = Object.entries(result.ratios).map(([key, ratio]) => `${key} ${figure(ratio)}`);
	return [
		`\n${name}`,
		...lines.map((cells) => `  ${cells.join("  ")}`.trimEnd()),
		`  ratios: ${ratios.join(", ")}${result.isStarved ? " (the control was starved)" : ""}`,
		...result.notes.map((note) => `  ${note}`),
	].join("\n");
}

export function formatVerdict({ key, entry, ratio, bound, passed }: Verdict): string {
	const isStarved = bound !== (entry.atLeast ?? entry.atMost);
	const limit = `${entry.atMost === undefined ? "at least" : "at most"} ${bound}${isStarved ? ", starved machine" : ""}`;
	const isMet = entry.atMost === undefined ? ratio >= (entry.target ?? 0) : ratio <= (entry.target ?? 0);
	const target = entry.target === undefined ? "" : `, target ${entry.target} ${isMet ? "met" : "missed"}`;
	return `${passed ? "ok  " : "FAIL"} ${key}: ${figure(ratio)} (${limit}${target})${passed ? "" : ` - ${entry.reason}`}`;
}

/** Three significant digits. */
export function figure(value: number): string {
	if (!Number.isFinite(value)) return "-";
	return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(3)).toString();
}
