/**
 * Through the real pi: many sessions of one process, made with pi's SDK, whose agy (support/stand-in.ts) all print at once.
 * Our extension against an extension without threads (support/control-extension.ts); each side has a process of its own
 * (support/pi-side.ts), which also proves that every session was told what was sent.
 */

import { sideRows } from "./support/comparison.ts";
import type { PiSidePlan, PiSideResult } from "./support/pi-side.ts";
import { mainCpuPerEvent, runPiSide } from "./support/run-side.ts";
import type { CaseResult, Series, Suite } from "./support/suite.ts";
import type { WindowResult } from "./support/window.ts";

const PACED = { sessions: 64, eventsPerSecond: 100 };
const FLAT_OUT = { sessions: 16, eventsPerSecond: 0 };
const SWEEP_SESSIONS = [1, 4, 16, 64];
const WARM_UP = { floodMs: 300, warmupMs: 1_000 };
/** A control that gets the processor when it asks has an event within 0.3 ms. */
const STARVED_LATENCY_MS = 1;

export const piSuite: Suite = {
	name: "pi",
	cases: [
		{ name: "paced", run: measurePaced },
		{ name: "flat-out", run: measureFlatOut },
		{ name: "sweep", run: measureSweep, isFullOnly: true },
	],
};

type Sides = {
	readonly ours: PiSideResult & { readonly window: WindowResult };
	readonly control: PiSideResult & { readonly window: WindowResult };
};

/** Token streams in 64 sessions of one pi. */
async function measurePaced(isShort: boolean): Promise<CaseResult> {
	const { ours, control } = await runBoth({ ...PACED, ...WARM_UP, ms: isShort ? 2_000 : 8_000, watchDelay: false });
	if (ours.pacedEvents !== control.pacedEvents) throw new Error("the sides delivered different numbers of events");
	return {
		rows: [...sideRows("ours", ours.window), ...sideRows("control", control.window)],
		ratios: { "main-cpu-per-event": mainCpuPerEvent(control.window) / mainCpuPerEvent(ours.window) },
		isStarved: control.window.latencyMs.p50 > STARVED_LATENCY_MS,
		notes: [
			`${PACED.sessions} sessions x ${PACED.eventsPerSecond} events/s; each side delivered all ${ours.pacedEvents}, the text as sent`,
		],
	};
}

/** What agy prints as fast as pi takes it. */
async function measureFlatOut(isShort: boolean): Promise<CaseResult> {
	const { ours, control } = await runBoth({ ...FLAT_OUT, ...WARM_UP, ms: isShort ? 2_000 : 6_000, watchDelay: true });
	const rate = ({ events, elapsedMs }: WindowResult) => events / elapsedMs;
	return {
		rows: [...sideRows("ours", ours.window), ...sideRows("control", control.window)],
		ratios: {
			"main-cpu-per-event": mainCpuPerEvent(control.window) / mainCpuPerEvent(ours.window),
			"events-read": rate(ours.window) / rate(control.window),
		},
		notes: [
			`${FLAT_OUT.sessions} sessions; ${Math.round(rate(ours.window))} events/ms in ours, ${Math.round(rate(control.window))} in the control`,
		],
	};
}

/** How cost and latency grow with the number of sessions. */
async function measureSweep(): Promise<CaseResult> {
	const sides = new Map<number, Sides>();
	for (const sessions of SWEEP_SESSIONS) {
		const load = { sessions, eventsPerSecond: PACED.eventsPerSecond, ms: 6_000, watchDelay: false };
		sides.set(sessions, await runBoth({ ...load, ...WARM_UP }));
	}
	const series = (measure: string, unit: string, of: (window: WindowResult) => number): readonly Series[] =>
		(["ours", "control"] as const).map((side) => ({
			...{ measure, unit, side },
			points: [...sides].map(([sessions, found]) => ({ x: sessions, y: of(found[side].window) })),
		}));
	return {
		rows: [...sides].flatMap(([sessions, { ours, control }]) => [
			...sideRows(`ours, ${sessions}`, ours.window),
			...sideRows(`control, ${sessions}`, control.window),
		]),
		series: [
			...series("main CPU an event", "us", mainCpuPerEvent),
			...series("write to emit, p50", "ms", ({ latencyMs }) => latencyMs.p50),
			...series("write to emit, p99", "ms", ({ latencyMs }) => latencyMs.p99),
		],
		ratios: {},
		notes: [`${PACED.eventsPerSecond} events/s a session`],
	};
}

async function runBoth(
	plan: Omit<PiSidePlan, "side" | "windows"> & { readonly ms: number; readonly watchDelay: boolean },
): Promise<Sides> {
	const { ms, watchDelay, ...load } = plan;
	const runOne = async (side: PiSidePlan["side"]) => {
		const result = await runPiSide({ ...load, side, windows: [{ ms, watchDelay }] });
		const [window] = result.windows;
		if (!window) throw new Error("a side did not measure its window");
		return { ...result, window };
	};
	return { ours: await runOne("ours"), control: await runOne("control") };
}
