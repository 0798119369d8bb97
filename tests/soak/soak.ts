/**
 * Load and faults for as long as asked: `node tests/soak/soak.ts [--minutes N] [--seed S] [--sessions N] [--short]`. Many pi
 * sessions in this process against the simulated agy, in rounds; what may never happen is checked all along. The seed
 * decides the schedule; a failure names it. Exits with 1 when an invariant is broken.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { setup as buildSimulator } from "../start/built-simulator.ts";
import { takeHoldings } from "./leftovers.ts";
import { Memory, type Slope } from "./memory.ts";
import { Report } from "./report.ts";
import { Round } from "./round.ts";
import { TURN_KINDS } from "./scenario.ts";
import { digestOf, FAULT_KINDS, planSession } from "./schedule.ts";
import { SoakStage } from "./stage.ts";
import { StreamWatch } from "./stream-watch.ts";

const SHORT = { rounds: 2, roundMs: 15_000, sessions: 24 };
const LONG = { roundMs: 20_000, sessions: 64, minutes: 10 };
/** Percent over ten minutes. */
const MAX_SLOPE_PERCENT = 1;
/** Last sample to first: a short run cannot tell a slope, only growth without bounds. */
const MAX_SHORT_GROWTH = { heapBytes: 1.3, rssBytes: 1.6 };

const { values } = parseArgs({
	options: {
		minutes: { type: "string" },
		seed: { type: "string" },
		sessions: { type: "string" },
		short: { type: "boolean", default: false },
	},
});
const seed = toNumber("seed", values.seed) ?? randomInt(2 ** 31);
const slots = toNumber("sessions", values.sessions) ?? (values.short ? SHORT.sessions : LONG.sessions);
const minutes = toNumber("minutes", values.minutes) ?? LONG.minutes;
const { roundMs } = values.short ? SHORT : LONG;

// So that the disk is unmounted.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const removeSimulator = await buildSimulator();
const stage = new SoakStage();
const report = new Report(seed);
const memory = new Memory();
try {
	await run();
} finally {
	await stage
		.close()
		.catch((error: unknown) => report.check("no process and no file is left at the end", String(error)));
	removeSimulator();
}
report.print();
process.exitCode = report.failed > 0 ? 1 : 0;

async function run(): Promise<void> {
	report.say(
		`seed ${seed}, ${slots} sessions, rounds of ${roundMs / 1000} s, schedule ${digestOf(seed, slots, roundMs)}`,
	);
	const streams = new StreamWatch();
	const generations = Array.from({ length: slots }, () => 0);
	await warmUp();
	const before = takeHoldings();
	const endMs = performance.now() + minutes * 60_000;
	for (let number = 1; values.short ? number <= SHORT.rounds : performance.now() < endMs; number++) {
		const round = new Round({ seed, number, ms: roundMs, generations, stage, report, streams, before });
		const turns = await round.run();
		stage.clear();
		await memory.sample();
		report.say(
			`round ${number}: ${turns} turns, ${streams.count} streams so far, ${report.failed} failed; ${memory.last}`,
		);
	}
	judgeMemory();
	report.checkCoverage(kindsExpected(), FAULT_KINDS);
}

/** What a process has only once, such as the threads of libuv, is there before anything is compared. */
async function warmUp(): Promise<void> {
	for (const engine of ["stream-json", "legacy-sqlite"] as const) {
		const session = await stage.open({ ...planSession(seed, 1, 0), name: `1000.${engine.length}`, engine });
		await session.ask(`cards soak/1000.${engine.length}/0`);
		await session.close();
	}
	stage.clear();
}

/** In a table name such as "stream-json short". */
function kindsExpected(): readonly string[] {
	return TURN_KINDS.map((kind) => `stream-json ${kind}`);
}

function judgeMemory(): void {
	for (const what of ["heapBytes", "rssBytes"] as const) {
		const slope = memory.slopeOf(what);
		const growth = memory.growthOf(what);
		report.say(`${what}: ${slope ? toText(slope) : "too few samples for a slope"}; last to first ${growth.toFixed(3)}`);
		if (slope)
			report.check(
				"memory is flat",
				slope.percent - 2 * slope.error <= MAX_SLOPE_PERCENT
					? ""
					: `${what}: ${toText(slope)}; at most ${MAX_SLOPE_PERCENT} %`,
			);
		else
			report.check(
				"memory does not run away",
				growth <= MAX_SHORT_GROWTH[what] ? "" : `${what} is ${growth.toFixed(2)} times the first`,
			);
	}
}

function toText({ percent, error }: Slope): string {
	return `${percent.toFixed(2)} ± ${(2 * error).toFixed(2)} % in 10 minutes`;
}

function toNumber(name: string, value: string | undefined): number | null {
	if (value === undefined) return null;
	if (!/^\d+(\.\d+)?$/.test(value)) throw new Error(`--${name} ${value} is no number`);
	return Number(value);
}
