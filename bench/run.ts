/**
 * Runs the benches: `node bench/run.ts [--check] [--suite name]`. Prints a table per case and writes everything to
 * bench/results/<time>.json, and says which budgets were kept. `--check` runs the short form, gives a case that falls
 * short up to three runs, of which the best counts, and exits 1 when a budget is not kept. The full form of all suites
 * writes docs/benchmarks as well; `--report <results.json>` writes it anew from an earlier run.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { audioSuite } from "./audio.bench.ts";
import { bridgeSuite } from "./bridge.bench.ts";
import { decodeSuite } from "./decode.bench.ts";
import { hopSuite } from "./hop.bench.ts";
import { piSuite } from "./pi.bench.ts";
import { pipelineSuite } from "./pipeline.bench.ts";
import { pollSuite } from "./poll.bench.ts";
import { startUpSuite } from "./start-up.bench.ts";
import { type Budget, judge, parseBudget, type Verdict } from "./support/budget.ts";
import { formatCase, formatVerdict } from "./support/report.ts";
import { type RunRecord, writeReport } from "./support/report-files.ts";
import type { BenchCase, CaseResult, Suite } from "./support/suite.ts";

const SUITES: readonly Suite[] = [
	decodeSuite,
	hopSuite,
	pipelineSuite,
	pollSuite,
	bridgeSuite,
	audioSuite,
	piSuite,
	startUpSuite,
];
const MAX_RUNS = 3;
const REPORT_DIR = join(import.meta.dirname, "..", "docs", "benchmarks");
const RESULTS_DIR = join(import.meta.dirname, "results");

const { values: options } = parseArgs({
	options: { check: { type: "boolean", default: false }, suite: { type: "string" }, report: { type: "string" } },
});
if (options.report !== undefined) {
	await writeReport(JSON.parse(await readFile(options.report, "utf8")), REPORT_DIR);
	process.exit();
}
const suites = SUITES.filter(({ name }) => options.suite === undefined || name === options.suite);
if (suites.length === 0)
	throw new Error(`No suite ${options.suite}; there are ${SUITES.map(({ name }) => name).join(", ")}.`);

const budget = parseBudget(await readFile(join(import.meta.dirname, "budget.json"), "utf8"));
const startedAt = new Date();
const loadBefore = loadavg();
const results: { readonly name: string; readonly runs: readonly CaseResult[] }[] = [];
const verdicts: Verdict[] = [];

for (const suite of suites) {
	for (const benchCase of suite.cases) {
		if (options.check && benchCase.isFullOnly) continue;
		const name = `${suite.name}/${benchCase.name}`;
		const { runs, judged } = await runCase(name, benchCase, budget);
		results.push({ name, runs });
		verdicts.push(...judged);
	}
}

await mkdir(RESULTS_DIR, { recursive: true });
const resultsPath = join(RESULTS_DIR, `${startedAt.toISOString().replaceAll(/[:.]/g, "-")}.json`);
const machine = { node: process.version, platform: process.platform, arch: process.arch, cpu: cpus()[0]?.model ?? "" };
const record: RunRecord = {
	startedAt: startedAt.toISOString(),
	check: options.check,
	...machine,
	cores: availableParallelism(),
	loadBefore,
	loadAfter: loadavg(),
	results,
	verdicts,
};
await writeFile(resultsPath, `${JSON.stringify(record, null, "\t")}\n`);
if (!options.check && options.suite === undefined) await writeReport(record, REPORT_DIR);

const failed = verdicts.filter(({ passed }) => !passed);
print(`\n${verdicts.map(formatVerdict).join("\n")}`);
print(
	`\n${((Date.now() - startedAt.getTime()) / 1000).toFixed(0)} s, load ${loadBefore[0]?.toFixed(1)} to ${loadavg()[0]?.toFixed(1)}; ${resultsPath}`,
);
print(`${verdicts.length - failed.length} passed, ${failed.length} failed`);
if (options.check && failed.length > 0) process.exitCode = 1;

/** Runs a case; in a check again while one of its budgets was not kept by any of its runs. */
async function runCase(
	name: string,
	benchCase: BenchCase,
	wholeBudget: Budget,
): Promise<{ readonly runs: readonly CaseResult[]; readonly judged: readonly Verdict[] }> {
	const entries = Object.entries(wholeBudget).filter(([key]) => key.startsWith(`${name}/`));
	const kept = new Map<string, Verdict>();
	const runs: CaseResult[] = [];
	for (;;) {
		const result = await benchCase.run(options.check);
		runs.push(result);
		print(formatCase(name, result));
		for (const [key, entry] of entries) {
			const verdict = judge(key, entry, result);
			if (!kept.get(key)?.passed) kept.set(key, verdict);
		}
		const judged = [...kept.values()];
		if (!options.check || runs.length === MAX_RUNS || judged.every(({ passed }) => passed)) return { runs, judged };
	}
}

function print(text: string): void {
	process.stdout.write(`${text}\n`);
}
