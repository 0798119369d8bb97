/** The rows by which a window of one side is reported. Pure. */

import { mainCpuPerEvent } from "./run-side.ts";
import type { Spread } from "./spread.ts";
import type { Row } from "./suite.ts";
import type { WindowResult } from "./window.ts";

export function sideRows(side: string, window: WindowResult): readonly Row[] {
	const latency = window.latencyMs.samples > 0 ? [row("write to emit", side, "ms", window.latencyMs)] : [];
	return [...cpuRows(side, window), ...latency, ...delayRows(side, window)];
}

export function cpuRows(side: string, window: WindowResult): readonly Row[] {
	return [
		row("main CPU an event, whole window", side, "us", single(mainCpuPerEvent(window))),
		row("all threads' CPU an event", side, "us", single(window.processCpuUs / window.events)),
	];
}

export function delayRows(side: string, window: WindowResult): readonly Row[] {
	return [
		...(window.loopDelayMs ? [row("event-loop delay", side, "ms", window.loopDelayMs)] : []),
		...(window.timerLatenessMs ? [row("timer lateness", side, "ms", window.timerLatenessMs)] : []),
	];
}

export function row(measure: string, side: string, unit: string, spread: Spread): Row {
	return { measure, side, unit, spread };
}

export function single(value: number): Spread {
	return { p50: value, p75: value, p99: value, samples: 1 };
}
