/**
 * The whole way, from a child's write to a callback in main, through real processes: the lanes against a control that
 * reads and parses the same children on the main thread. Each side runs in a process of its own (support/side.ts), which
 * also proves that both delivered what was sent.
 */

import { HIGH_WATER_BYTES } from "../src/shared/limits.ts";
import { mainCpuPerEvent, runSide } from "./support/run-side.ts";
import type { WindowResult } from "./support/side.ts";
import { type Spread, spreadOf } from "./support/spread.ts";
import type { CaseResult, Row, Suite } from "./support/suite.ts";

const LINKS = 16;
const EVENTS_PER_SECOND = 200;
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
		{ name: "flat-out", run: measureFlatOut },
		{ name: "quiet-link", run: measureQuietLink },
		{ name: "stopped-reader", run: measureStoppedReader },
	],
};

/** Token streams of many sessions at once. */
async function measurePaced(isShort: boolean): Promise<CaseResult> {
	const windows = [
		{ ms: isShort ? 2_500 : 6_000, watchDelay: false },
		{ ms: isShort ? 1_500 : 6_000, watchDelay: true },
	];
	const plan = { links: LINKS, eventsPerSecond: EVENTS_PER_SECOND, ...WARM_UP, windows };
	const lanes = await runSide({ ...plan, side: "lanes" });
	const control = await runSide({ ...plan, side: "control" });
	const [lanesCpu, lanesDelay] = lanes.windows;
	const [controlCpu, controlDelay] = control.windows;
	if (!lanesCpu || !lanesDelay || !controlCpu || !controlDelay) throw new Error("a side did not measure its windows");
	if (lanes.pacedEvents !== control.pacedEvents) throw new Error("the sides delivered different numbers of events");
	return {
		rows: [
			...cpuRows("lanes", lanesCpu),
			...cpuRows("control", controlCpu),
			row("write to emit", "lanes", "ms", lanesCpu.latencyMs),
			row("write to emit", "control", "ms", controlCpu.latencyMs),
			...delayRows("lanes", lanesDelay),
			...delayRows("control", controlDelay),
		],
		ratios: { "main-cpu-per-event": mainCpuPerEvent(controlCpu) / mainCpuPerEvent(lanesCpu) },
		isStarved: controlCpu.latencyMs.p50 > STARVED_LATENCY_MS,
		notes: [
			`${LINKS} links x ${EVENTS_PER_SECOND} events/s; each side delivered all ${lanes.pacedEvents}, the text as sent`,
		],
	};
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

function cpuRows(side: string, window: WindowResult): readonly Row[] {
	return [
		row("main CPU an event, whole window", side, "us", single(mainCpuPerEvent(window))),
		row("all threads' CPU an event", side, "us", single(window.processCpuUs / window.events)),
	];
}

function delayRows(side: string, window: WindowResult): readonly Row[] {
	return [
		...(window.loopDelayMs ? [row("event-loop delay", side, "ms", window.loopDelayMs)] : []),
		...(window.timerLatenessMs ? [row("timer lateness", side, "ms", window.timerLatenessMs)] : []),
	];
}

function row(measure: string, side: string, unit: string, spread: Spread): Row {
	return { measure, side, unit, spread };
}

function single(value: number): Spread {
	return { p50: value, p75: value, p99: value, samples: 1 };
}

function scaled({ p50, p75, p99, samples }: Spread, factor: number): Spread {
	return { p50: p50 * factor, p75: p75 * factor, p99: p99 * factor, samples };
}
