/**
 * One side of a pipeline case in a process of its own, so that its main thread, heap and compiled code are nobody else's.
 * Takes its plan as an argument, prints its result as one line of JSON, and fails when what arrived is not what was sent.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Load } from "./load.ts";
import { openControl, openLanes, openPoll, openPollControl, type Reader } from "./readers.ts";
import { Tally } from "./tally.ts";
import { type Measured, measure, toWindows, type WindowPlan, type WindowResult } from "./window.ts";

type Side = "lanes" | "control" | "poll" | "poll-control";

export type SidePlan = {
	readonly side: Side;
	readonly links: number;
	readonly eventsPerSecond: number;
	readonly jitterMs?: number;
	/** Flat out for `floodMs`, then as planned for `warmupMs`: compilers and ticks settle, nothing is measured. */
	readonly floodMs: number;
	/** How many links are flooded. Default: all of them. */
	readonly floodingLinks?: number;
	/** The children are relays, fed by one process: for more of them than the machine could run as sources. Default: false. */
	readonly isFed?: boolean;
	readonly warmupMs: number;
	readonly windows: readonly WindowPlan[];
	/** The consumers stop for this long, from the first event on. */
	readonly holdMs?: number;
};

export type SideResult = {
	readonly windows: readonly WindowResult[];
	/** Proven equal, with their text, to what the sources say they printed. */
	readonly totalEvents: number;
	/** Those of them that were paced: the same number on both sides. */
	readonly pacedEvents: number;
	/** Samples while the consumers stood still. */
	readonly heldBytes: readonly number[];
	readonly rssGrowthBytes: number;
};

const TAIL_MS = 300;
const HOLD_SAMPLE_MS = 100;

const OPEN: Readonly<Record<Side, (links: number, isFed: boolean) => Promise<Reader>>> = {
	lanes: openLanes,
	control: openControl,
	poll: openPoll,
	"poll-control": openPollControl,
};

const [planSource] = process.argv.slice(2);
if (planSource === undefined) throw new Error("usage: node bench/support/side.ts <plan as JSON>");
process.stdout.write(`${JSON.stringify(await run(JSON.parse(planSource)))}\n`);

async function run(plan: SidePlan): Promise<SideResult> {
	const reader = await OPEN[plan.side](plan.links, plan.isFed ?? false);
	const tallies = Array.from({ length: plan.links }, () => new Tally(plan.eventsPerSecond > 0));
	const rssBefore = process.memoryUsage.rss();
	const measuredMs = plan.windows.reduce((sum, window) => sum + window.ms, 0);
	const forMs = plan.warmupMs + measuredMs + (plan.holdMs ?? 0) + TAIL_MS;
	const { eventsPerSecond, floodMs, jitterMs = 0 } = plan;
	const flooding: Load = { eventsPerSecond, forMs, floodMs, jitterMs };
	const steady: Load = { eventsPerSecond, forMs: forMs + floodMs, floodMs: 0, jitterMs };
	const loads = tallies.map((_, index) => (index < (plan.floodingLinks ?? plan.links) ? flooding : steady));
	const holding = plan.holdMs === undefined ? null : hold(reader, plan.holdMs);
	await reader.start(loads, tallies);
	const heldBytes = (await holding) ?? [];
	const rssGrowthBytes = process.memoryUsage.rss() - rssBefore;
	await delay(plan.floodMs + plan.warmupMs);
	const measured: Measured[] = [];
	for (const window of plan.windows) measured.push(await measure(window, tallies));
	await Promise.all(tallies.map((tally) => tally.finished));
	const totals = tallies.map((tally) => tally.verify());
	await reader.close();
	const totalEvents = totals.reduce((sum, { events }) => sum + events, 0);
	const windows = toWindows(measured, plan.eventsPerSecond > 0, totals);
	const pacedEvents = totals.reduce((sum, { stampedEvents }) => sum + stampedEvents, 0);
	return { windows, totalEvents, pacedEvents, heldBytes, rssGrowthBytes };
}

async function hold(reader: Reader, ms: number): Promise<readonly number[]> {
	const heldBytes: number[] = [];
	const { promise, resolve } = Promise.withResolvers<void>();
	reader.holdUntil(promise);
	for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
		await delay(HOLD_SAMPLE_MS);
		heldBytes.push(await reader.heldBytes());
	}
	resolve();
	return heldBytes;
}
