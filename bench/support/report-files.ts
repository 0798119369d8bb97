/**
 * The report of a full run: a Markdown page with its figures and a plot for each measure of a sweep. Written from the
 * record of the run alone, so it can be made again from the JSON.
 */

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Verdict } from "./budget.ts";
import { toSvg } from "./plots.ts";
import { figure } from "./report.ts";
import type { CaseResult, Series } from "./suite.ts";

/** What a run writes as JSON. */
export type RunRecord = {
	/** As Date.toJSON writes it. */
	readonly startedAt: string;
	readonly check: boolean;
	readonly node: string;
	readonly platform: string;
	readonly arch: string;
	readonly cpu: string;
	readonly cores: number;
	/** Over 1, 5 and 15 minutes. */
	readonly loadBefore: readonly number[];
	readonly loadAfter: readonly number[];
	readonly results: readonly { readonly name: string; readonly runs: readonly CaseResult[] }[];
	readonly verdicts: readonly Verdict[];
};

/** Replaces the report and the plots in `directory`. */
export async function writeReport(run: RunRecord, directory: string): Promise<void> {
	await mkdir(directory, { recursive: true });
	for (const name of await readdir(directory)) if (name.endsWith(".svg")) await rm(join(directory, name));
	const plots = plotsOf(run);
	for (const { file, series } of plots) await writeFile(join(directory, file), toSvg(series, "sessions"));
	await writeFile(join(directory, "report.md"), toMarkdown(run, plots));
}

type Plot = {
	readonly name: string;
	readonly file: string;
	readonly measure: string;
	readonly series: readonly Series[];
};

function plotsOf(run: RunRecord): readonly Plot[] {
	return run.results.flatMap(({ name, runs }) => {
		const byMeasure = Map.groupBy(runs.at(-1)?.series ?? [], ({ measure }) => measure);
		return [...byMeasure].map(([measure, series]) => ({
			name,
			file: `${toSlug(`${name} ${measure}`)}.svg`,
			measure,
			series,
		}));
	});
}

function toMarkdown(run: RunRecord, plots: readonly Plot[]): string {
	const loads = [run.loadBefore, run.loadAfter].map(([minute]) => (minute ?? 0).toFixed(1));
	return [
		"# Benchmarks",
		"Written by `npm run bench`; how each figure is taken, and why the ratios are what counts: [bench/README.md](../../bench/README.md).",
		`${run.startedAt.slice(0, 10)}, Node ${run.node}, ${run.platform} ${run.arch}, ${run.cores} cores, ${run.cpu}. Load ${loads[0]} before, ${loads[1]} after.`,
		...plots.map(({ name, file, measure }) => `![${name}: ${measure}](${file})`),
		"## Budgets",
		table(
			["budget", "measured", "bound", "target", ""],
			run.verdicts.map(({ key, entry, ratio, bound, passed }) => {
				const isMost = entry.atMost !== undefined;
				const isMet = isMost ? ratio <= (entry.target ?? 0) : ratio >= (entry.target ?? 0);
				const target = entry.target === undefined ? "" : `${entry.target}${isMet ? "" : ", missed"}`;
				return [`\`${key}\``, figure(ratio), `${isMost ? "≤" : "≥"} ${bound}`, target, passed ? "kept" : "not kept"];
			}),
		),
		"## Figures",
		...run.results.flatMap(({ name, runs }) => caseSection(name, runs.at(-1))),
		"",
	].join("\n\n");
}

function caseSection(name: string, result: CaseResult | undefined): readonly string[] {
	if (!result) return [];
	const rows = result.rows.map(({ measure, side, unit, spread: { p50, p75, p99, samples } }) =>
		samples === 1
			? [measure, side, unit, figure(p50), "", "", "1"]
			: [measure, side, unit, figure(p50), figure(p75), figure(p99), `${samples}`],
	);
	return [
		`### ${name}`,
		table(["measure", "side", "unit", "p50", "p75", "p99", "samples"], rows),
		result.notes.map((note) => `- ${note}`).join("\n"),
	];
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
	return [headings, headings.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function toSlug(text: string): string {
	return text
		.toLowerCase()
		.replaceAll(/[^a-z0-9]+/g, "-")
		.replace(/-$/, "");
}
