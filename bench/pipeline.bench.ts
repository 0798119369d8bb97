/**
 * The whole way, from a child's write to a callback in main, through real processes: the lanes against a control that
 * reads and parses the same children on the main thread. Each side runs in a process of its own (support/side.ts), which
 * also proves that both delivered what was sent.
 */

import { HIGH_WATER_BYTES } from "../src/shared/limits.ts";
import { cpuRows, delayRows, row, single } from "./support/comparison.ts";
import { mainCpuPerEvent, runSide } from "./support/run-side.ts";

import type { SidePlan } from "./support/side.ts";
import { type Spread, spreadOf } from "./support/spread.ts";
import type { CaseResult, Suite } from "./support/suite.ts";
import type { WindowResult } from "./support/window.ts";

const LINKS = 16;
const EVENTS_PER_SECOND = 200;
const MANY = { links: 64, eventsPerSecond: 100 };
/** So many sources flat out would keep the machine busy beyond their time: a few do it for all. */
const MANY_WARM_UP = { floodMs: 300, floodingLinks: 4, warmupMs: 1_000, isFed: true };
const GROWTH_EVENTS_PER_SECOND = 3_200;
const WARM_UP = { floodMs: 1_000, warmupMs: 500 };
/** Far enough apart that each event finds a quiet link, at intervals no timer is in step with. */
const QUIET_EVENTS_PER_SECOND = 8;
const QUIET_JITTER_MS = 40;
/** A control that gets the processor when it asks has an event within 0.3 ms. */
const STARVED_LATENCY_MS = 1;
const HOLD_MS = 10_000;
const HELD_LINKS = 4;
const SIDES = ["lanes", "control"] as const;

export const pipelineSuite: Suite = {
	name: "pipeline",
	cases: [
		{ name: "paced", run: measurePaced },
		{ name: "many-links", run: measureManyLinks },
		{ name: "growth", run: measureGrowth },
		{ name: "flat-out", run: measureFlatOut },
		{ name: "quiet-link", run: measureQuietLink },
		{ name: "stopped-reader", run: measureStoppedReader },
	],
};

/** Token streams of many sessions at once. */
async function measurePaced(isShort: boolean): Promise<CaseResult> {
	const { rows, lanesCpu, controlCpu, events } = await comparePaced(
		{ links: LINKS, eventsPerSecond: EVENTS_PER_SECOND, ...WARM_UP },
		isShort,
	);
	return {
		rows,
		ratios: { "main-cpu-per-event": mainCpuPerEvent(controlCpu) / mainCpuPerEvent(lanesCpu) },
		isStarved: controlCpu.latencyMs.p50 > STARVED_LATENCY_MS,
		notes: [`${LINKS} links x ${EVENTS_PER_SECOND} events/s; each side delivered all ${events}, the text as sent`],
	};
}

/** The same of a host with as many sessions as the pool lets run. */
async function measureManyLinks(isShort: boolean): Promise<CaseResult> {
	const compared = await comparePaced({ ...MANY, ...MANY_WARM_UP }, isShort);
	const { rows, lanesCpu, controlCpu, lanesDelay, controlDelay, events } = compared;
	if (!lanesDelay.loopDelayMs || !controlDelay.loopDelayMs) throw new Error("a side did not watch its event loop");
	return {
		rows,
		ratios: {
			"main-cpu-per-event": mainCpuPerEvent(controlCpu) / mainCpuPerEvent(lanesCpu),
			"loop-delay-p99": controlDelay.loopDelayMs.p99 / lanesDelay.loopDelayMs.p99,
		},
		isStarved: controlCpu.latencyMs.p50 > STARVED_LATENCY_MS,
		notes: [
			`${MANY.links} links x ${MANY.eventsPerSecond} events/s; each side delivered all ${events}, the text as sent; ` +
				`write to emit p99 through lanes ${lanesCpu.latencyMs.p99.toFixed(1)} ms (target: below 40 ms)`,
		],
	};
}

/** What more sessions cost main when they print no more between them. */
async function measureGrowth(isShort: boolean): Promise<CaseResult> {
	const windows = [{ ms: isShort ? 2_000 : 6_000, watchDelay: false }];
	const runWith = async (links: number) => {
		const eventsPerSecond = GROWTH_EVENTS_PER_SECOND / links;
		const plan = { links, eventsPerSecond, ...MANY_WARM_UP, windows };
		const [window] = (await runSide({ ...plan, side: "lanes" })).windows;
		if (!window) throw new Error("a side did not measure its window");
		return window;
	};
	const one = await runWith(1);
	const many = await runWith(MANY.links);
	const shareOf = ({ mainCpuUs, elapsedMs }: WindowResult) => mainCpuUs / 1000 / elapsedMs;
	return {
		rows: [
			row("main CPU", "1 link", "% of a core", single(shareOf(one) * 100)),
			row("main CPU", `${MANY.links} links`, "% of a core", single(shareOf(many) * 100)),
			...cpuRows("1 link", one),
			...cpuRows(`${MANY.links} links`, many),
		],
		ratios: { "main-cpu-per-event": mainCpuPerEvent(many) / mainCpuPerEvent(one) },
		notes: [`${GROWTH_EVENTS_PER_SECOND} events/s in all, through lanes`],
	};
}

/** Both sides with a paced load; the CPU in one window, the event loop in another. */
async function comparePaced(load: Omit<SidePlan, "side" | "windows">, isShort: boolean) {
	const windows = [
		{ ms: isShort ? 2_500 : 6_000, watchDelay: false },
		{ ms: isShort ? 1_500 : 6_000, watchDelay: true },
	];
	const lanes = await runSide({ ...load, windows, side: "lanes" });
	const control = await runSide({ ...load, windows, side: "control" });
	const [lanesCpu, lanesDelay] = lanes.windows;
	const [controlCpu, controlDelay] = control.windows;
	if (!lanesCpu || !lanesDelay || !controlCpu || !controlDelay) throw new Error("a side did not measure its windows");
	if (lanes.pacedEvents !== control.pacedEvents) throw new Error("the sides delivered different numbers of events");
	const rows = [
		...cpuRows("lanes", lanesCpu),
		...cpuRows("control", controlCpu),
		row("write to emit", "lanes", "ms", lanesCpu.latencyMs),
		row("write to emit", "control", "ms", controlCpu.latencyMs),
		...delayRows("lanes", lanesDelay),
		...delayRows("control", controlDelay),
	];
	return { rows, lanesCpu, lanesDelay, controlCpu, controlDelay, events: lanes.pacedEvents };
}

/** Sources that print as fast as they are read: the worst a main thread can meet. */
async function measureFlatOut(isShort: boolean): Promise<CaseResult> {
	const windows = [{ ms: isShort ? 3_000 : 8_000, watchDelay: true }];
	const plan = { links: LINKS, eventsPerSecond: 0, ...WARM_UP, windows };
	const [lanes] = (await runSide({ ...plan, side: "lanes" })).windows;
	const [control] = (await runSide({ ...plan, side: "control" })).windows;
	if (!lanes?.loopDelayMs || !control?.loopDelayMs) throw new Error("a side did not measure its window");
	return {
		rows: [
			...cpuRows("lanes", lanes),
			...cpuRows("control", control),
			...delayRows("lanes", lanes),
			...delayRows("control", control),
		],
		ratios: {
			"loop-delay-p99": control.loopDelayMs.p99 / lanes.loopDelayMs.p99,
			"main-cpu-per-event": mainCpuPerEvent(control) / mainCpuPerEvent(lanes),
			"events-read": lanes.events / lanes.elapsedMs / (control.events / control.elapsedMs),
		},
		notes: [
			`${LINKS} links; ${eventsPerSecond(lanes)} events/s through lanes, ${eventsPerSecond(control)} in the control`,
		],
	};
}

/** The first token after silence. Both sides at the same time, so that they meet the same machine. */
async function measureQuietLink(isShort: boolean): Promise<CaseResult> {
	const windows = [{ ms: isShort ? 5_000 : 15_000, watchDelay: false }];
	const load = { links: 1, eventsPerSecond: QUIET_EVENTS_PER_SECOND, jitterMs: QUIET_JITTER_MS };
	const plan = { ...load, ...WARM_UP, windows };
	const [lanes, control] = await Promise.all(SIDES.map(async (side) => (await runSide({ ...plan, side })).windows[0]));
	if (!lanes || !control) throw new Error("a side did not measure its window");
	const addedMs = lanes.latencyMs.p50 - control.latencyMs.p50;
	return {
		rows: [
			row("write to emit", "lanes", "ms", lanes.latencyMs),
			row("write to emit", "control", "ms", control.latencyMs),
		],
		ratios: { "latency-p50": lanes.latencyMs.p50 / control.latencyMs.p50 },
		notes: [
			`1 link x ${QUIET_EVENTS_PER_SECOND} events/s; the lane adds ${addedMs.toFixed(3)} ms at p50 (target: below 1.5 ms)`,
		],
	};
}

/** Consumers that take nothing for ten seconds while the sources print flat out. */
async function measureStoppedReader(): Promise<CaseResult> {
	const load = { links: HELD_LINKS, eventsPerSecond: 0, floodMs: 0, warmupMs: 0, windows: [] };
	const lanes = await runSide({ ...load, side: "lanes", holdMs: HOLD_MS });
	const held = spreadOf(lanes.heldBytes);
	const mostBytes = Math.max(...lanes.heldBytes);
	return {
		rows: [row("bytes held", "lanes", "KiB", scaled(held, 1 / 1024))],
		ratios: { "held-to-high-water": mostBytes / (HELD_LINKS * HIGH_WATER_BYTES) },
		notes: [
			`${HELD_LINKS} links, reader stopped for ${HOLD_MS / 1000} s; memory of the process grew by ` +
				`${(lanes.rssGrowthBytes / 1024 / 1024).toFixed(1)} MiB; then all ${lanes.totalEvents} events arrived`,
		],
	};
}

function eventsPerSecond(window: WindowResult): string {
	return Math.round((window.events / window.elapsedMs) * 1000).toLocaleString("en");
}

function scaled({ p50, p75, p99, samples }: Spread, factor: number): Spread {
	return { p50: p50 * factor, p75: p75 * factor, p99: p99 * factor, samples };
}
