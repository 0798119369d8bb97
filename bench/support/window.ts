/** Stretches of measured time of one side: its CPU, its event loop, and what its consumers got meanwhile. */

import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { type Spread, spreadOf } from "./spread.ts";
import type { Tally } from "./tally.ts";

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

/** Events are not known before the end: flat-out ones are counted by their characters. */
export type Measured = Omit<WindowResult, "events"> & { readonly chars: number };

const TIMER_MS = 4;
const DELAY_RESOLUTION_MS = 1;

export async function measure(plan: WindowPlan, tallies: readonly Tally[]): Promise<Measured> {
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

/** What the windows were worth in events, once all that was sent is known. Flat-out events are of the same length on average. */
export function toWindows(
	measured: readonly Measured[],
	isPaced: boolean,
	totals: readonly { readonly events: number; readonly chars: number }[],
): readonly WindowResult[] {
	const events = totals.reduce((sum, total) => sum + total.events, 0);
	const charsPerEvent = totals.reduce((sum, total) => sum + total.chars, 0) / events;
	return measured.map(({ chars, ...window }) => ({
		...window,
		events: isPaced ? window.latencyMs.samples : Math.round(chars / charsPerEvent),
	}));
}
