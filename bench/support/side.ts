/**
 * One side of a pipeline case in a process of its own, so that its main thread, heap and compiled code are nobody else's.
 * Takes its plan as an argument, prints its result as one line of JSON, and fails when what arrived is not what was sent.
 */

import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import type { Load } from "./load.ts";
import { openControl, openLanes, openPoll, openPollControl, type Reader } from "./readers.ts";
import { type Spread, spreadOf } from "./spread.ts";
import { Tally } from "./tally.ts";

type Side = "lanes" | "control" | "poll" | "poll-control";

export type SidePlan = {
	readonly side: Side;
	readonly links: number;
	readonly eventsPerSecond: number;
	readonly jitterMs?: number;
	/** Flat out for `floodMs`, then as planned for `warmupMs`: compilers and ticks settle, nothing is measured. */
	readonly floodMs: number;
	readonly warmupMs: number;
	readonly windows: readonly WindowPlan[];
	/** The consumers stop for this long, from the first event on. */
	readonly holdMs?: number;
};

/** A stretch of measured time. Watching the delay costs main CPU of its own, so the CPU is best measured without. */
export type WindowPlan = { readonly ms: number; readonly watchDelay: boolean };

export type WindowResult = {
	readonly elapsedMs: number;
	readonly events: number;
	readonly mainCpuUs: number;
	/** All threads of the process, the sources not included. */
	readonly processCpuUs: number;
	/** How long the main thread could have run and had no core; 0 where the system does not tell. */
	readonly mainWaitMs: number;
	/** From a source's write to the consumer. */
	readonly latencyMs: Spread;
	/** Time between turns of a 1 ms timer inside libuv, and of a 4 ms timer in JavaScript beyond its time. */
	readonly loopDelayMs: Spread | null;
	readonly timerLatenessMs: Spread | null;
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

type Measured = Omit<WindowResult, "events"> & { readonly chars: number };

const TAIL_MS = 300;
const HOLD_SAMPLE_MS = 100;
const TIMER_MS = 4;
const DELAY_RESOLUTION_MS = 1;

const OPEN: Readonly<Record<Side, (links: number) => Promise<Reader>>> = {
	lanes: openLanes,
	control: openControl,
	poll: openPoll,
	"poll-control": openPollControl,
};

const [planSource] = process.argv.slice(2);
if (planSource === undefined) throw new Error("usage: node bench/support/side.ts <plan as JSON>");
process.stdout.write(`${JSON.stringify(await run(JSON.parse(planSource)))}\n`);

async function run(plan: SidePlan): Promise<SideResult> {
	const reader = await OPEN[plan.side](plan.links);
	const tallies = Array.from({ length: plan.links }, () => new Tally(plan.eventsPerSecond > 0));
	const rssBefore = process.memoryUsage.rss();
	const measuredMs = plan.windows.reduce((sum, window) => sum + window.ms, 0);
	const load: Load = {
		eventsPerSecond: plan.eventsPerSecond,
		forMs: plan.warmupMs + measuredMs + (plan.holdMs ?? 0) + TAIL_MS,
		floodMs: plan.floodMs,
		jitterMs: plan.jitterMs ?? 0,
	};
	const holding = plan.holdMs === undefined ? null : hold(reader, plan.holdMs);
	reader.start(load, tallies);
	const heldBytes = (await holding) ?? [];
	const rssGrowthBytes = process.memoryUsage.rss() - rssBefore;
	await delay(plan.floodMs + plan.warmupMs);
	const measured: Measured[] = [];
	for (const window of plan.windows) measured.push(await measure(window, tallies));
	await Promise.all(tallies.map((tally) => tally.finished));
	const totals = tallies.map((tally) => tally.verify());
	await reader.close();
	const totalEvents = totals.reduce((sum, { events }) => sum + events, 0);
	const charsPerEvent = totals.reduce((sum, { chars }) => sum + chars, 0) / totalEvents;
	// Flat-out events carry no time each; they are all of the same length on average.
	const windows = measured.map(({ chars, ...window }): WindowResult => {
		const events = plan.eventsPerSecond > 0 ? window.latencyMs.samples : Math.round(chars / charsPerEvent);
		return { ...window, events };
	});
	const pacedEvents = totals.reduce((sum, { stampedEvents }) => sum + stampedEvents, 0);
	return { windows, totalEvents, pacedEvents, heldBytes, rssGrowthBytes };
}

async function measure(plan: WindowPlan, tallies: readonly Tally[]): Promise<Measured> {
	for (const tally of tallies) tally.settle();
	const watch = plan.watchDelay ? watchDelay() : null;
	const startMs = performance.now();
	const mainCpu = process.threadCpuUsage();
	const processCpu = process.cpuUsage();
	const waitedMs = mainWaitMs();
	await delay(plan.ms);
	const main = process.threadCpuUsage(mainCpu);
	const all = process.cpuUsage(processCpu);
	const elapsedMs = performance.now() - startMs;
	const delays = watch?.() ?? { loopDelayMs: null, timerLatenessMs: null };
	const settled = tallies.map((tally) => tally.settle());
	return {
		elapsedMs,
		chars: settled.reduce((sum, { chars }) => sum + chars, 0),
		mainCpuUs: main.user + main.system,
		processCpuUs: all.user + all.system,
		mainWaitMs: mainWaitMs() - waitedMs,
		latencyMs: spreadOf(settled.flatMap(({ latenciesMs }) => latenciesMs)),
		...delays,
	};
}

/** The main thread's time in the run queue so far (the second figure of schedstat, in nanoseconds). */
function mainWaitMs(): number {
	if (process.platform !== "linux") return 0;
	return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}

/** Starts watching the event loop; the answer ends it. */
function watchDelay(): () => Pick<WindowResult, "loopDelayMs" | "timerLatenessMs"> {
	const histogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
	const latenessMs: number[] = [];
	let timer: NodeJS.Timeout;
	const arm = () => {
		const armedMs = performance.now();
		timer = setTimeout(() => {
			latenessMs.push(performance.now() - armedMs - TIMER_MS);
			arm();
		}, TIMER_MS);
	};
	histogram.enable();
	arm();
	return () => {
		clearTimeout(timer);
		histogram.disable();
		const percentile = (of: number) => histogram.percentile(of) / 1e6;
		return {
			loopDelayMs: { p50: percentile(50), p75: percentile(75), p99: percentile(99), samples: histogram.count },
			timerLatenessMs: spreadOf(latenessMs),
		};
	};
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
