/**
 * One side of a case of the pi suite in a process of its own: a real pi with many sessions, which all ask at once. Takes its
 * plan as an argument, prints its result as one line of JSON, and fails when what a session was told is not what was sent.
 */

import { setTimeout as delay } from "node:timers/promises";
import { Feed } from "./feed.ts";
import type { Load } from "./load.ts";
import { PiSessions, type PiSideName } from "./pi-sessions.ts";
import { StandInScript } from "./stand-in-script.ts";
import { Tally } from "./tally.ts";
import { type Measured, measure, toWindows, type WindowPlan, type WindowResult } from "./window.ts";

export type PiSidePlan = {
	readonly side: PiSideName;
	readonly sessions: number;
	/** 0: as fast as it is read. */
	readonly eventsPerSecond: number;
	/** A few sessions flat out for `floodMs`, then all as planned for `warmupMs`: nothing is measured. */
	readonly floodMs: number;
	readonly warmupMs: number;
	readonly windows: readonly WindowPlan[];
};

export type PiSideResult = {
	readonly windows: readonly WindowResult[];
	/** Proven equal, with their text, to what agy's stand-ins say they printed; of them those that were paced. */
	readonly totalEvents: number;
	readonly pacedEvents: number;
};

const TAIL_MS = 300;
/** A stand-in looks for the sign every 50 ms. */
const GO_MS = 60;
/** More of them would only keep the machine busy: it is pi's process that has to warm up. */
const FLOODING_SESSIONS = 4;

const [planSource] = process.argv.slice(2);
if (planSource === undefined) throw new Error("usage: node bench/support/pi-side.ts <plan as JSON>");
process.stdout.write(`${JSON.stringify(await run(JSON.parse(planSource)))}\n`);

async function run(plan: PiSidePlan): Promise<PiSideResult> {
	const isPaced = plan.eventsPerSecond > 0;
	// Paced sessions are many; sources that print flat out need a process each.
	const pi = await PiSessions.of(plan.side, isPaced ? "relay" : "stand-in");
	const measuredMs = plan.windows.reduce((sum, window) => sum + window.ms, 0);
	const { eventsPerSecond } = plan;
	const forMs = plan.warmupMs + measuredMs + TAIL_MS;
	const steady: Load = { eventsPerSecond, forMs: forMs + plan.floodMs, floodMs: 0 };
	const flooding: Load = { eventsPerSecond, forMs, floodMs: plan.floodMs };
	const loads = Array.from({ length: plan.sessions }, (_, index) => (index < FLOODING_SESSIONS ? flooding : steady));
	const script = isPaced ? await Feed.open(pi.sandbox.path, loads) : new StandInScript(pi.sandbox.path, loads);
	const turns: Promise<void>[] = [];
	const tallies: Tally[] = [];
	const begun: Promise<void>[] = [];
	for (const index of loads.keys()) {
		const tally = new Tally(isPaced);
		const first = Promise.withResolvers<void>();
		const session = await pi.open((text) => {
			first.resolve();
			tally.take({ kind: "text", step: 1, text });
		});
		tallies.push(tally);
		begun.push(first.promise);
		turns.push(session.prompt(script.prompt(index)));
	}
	await Promise.race([Promise.all(begun), Promise.all(turns)]);
	script.begin();
	await delay(GO_MS + plan.floodMs + plan.warmupMs);
	const measured: Measured[] = [];
	for (const window of plan.windows) measured.push(await measure(window, tallies));
	await Promise.all(turns);
	const totals = tallies.map((tally, index) => {
		tally.finish(script.account(index));
		return tally.verify();
	});
	await pi.close();
	return {
		windows: toWindows(measured, isPaced, totals),
		totalEvents: totals.reduce((sum, { events }) => sum + events, 0),
		pacedEvents: totals.reduce((sum, { stampedEvents }) => sum + stampedEvents, 0),
	};
}
