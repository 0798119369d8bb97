/**
 * Runs in a process of its own under a low limit of descriptors: all but a few of them are taken, turns are asked for, the
 * descriptors are given back, and turns are asked for again. Prints one line of JSON, what became of each.
 */
import { closeSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../support/condition.ts";
import { childrenOf } from "../support/process-table.ts";
import { hubs, type SdkSession } from "../support/sdk-session.ts";
import { FaultLog } from "./fault-log.ts";
import { PlayedTurn } from "./played-turn.ts";
import type { SessionPlan, TurnPlan } from "./schedule.ts";
import { SoakStage } from "./stage.ts";

export type FewDescriptorsResult = {
	readonly outcomes: readonly string[];
	readonly problems: readonly string[];
	readonly wereTaken: number;
};

const SESSIONS = 6;
/** Less than the pipes of one more process: a run of legacy-sqlite, which starts one, cannot. */
const FREE = 3;
const RETAKE_MS = 5;

// So that the disk is unmounted.
process.once("SIGTERM", () => process.exit(1));

const stage = new SoakStage();
const log = new FaultLog();
const turns: PlayedTurn[] = [];
const outcomes: string[] = [];
const problems: string[] = [];
const plan: TurnPlan = { kind: "medium", pauseMs: 0, abortMs: null, stalls: [] };
const sessions: { readonly plan: SessionPlan; readonly session: SdkSession }[] = [];
for (let slot = 0; slot < SESSIONS; slot++) {
	const session: SessionPlan = {
		name: `${slot}.0`,
		engine: slot % 3 === 0 ? "legacy-sqlite" : "stream-json",
		tokensPerSecond: 0,
		hasTool: false,
		turns: [],
	};
	sessions.push({ plan: session, session: await stage.open(session, { isKept: false }) });
}

async function round(number: number, isShort: boolean): Promise<void> {
	await Promise.all(
		sessions.map(async (each) => {
			const turn = new PlayedTurn(each.plan, plan, number, log);
			await turn.play(each.session);
			turns.push(turn);
			outcomes.push(`${isShort ? "short of descriptors" : "not short"}: ${turn.outcome}`);
		}),
	);
}

await round(0, false);
const end = log.begin({ kind: "few-descriptors" });
const taken = [...takeAllBut(FREE)];
const taking = setInterval(() => taken.push(...takeAllBut(FREE)), RETAKE_MS); // What a process gives back when it ends.
await round(1, true);
clearInterval(taking);
for (const descriptor of taken) closeSync(descriptor);
end();
await round(2, false);
const notes = stage.readNotes();
for (const turn of turns) {
	turn.compare(notes);
	problems.push(...turn.problems.map((problem) => `${turn.description}: ${problem}`));
}
for (const { session } of sessions) await session.close();
await until("nothing is left", () => hubs().length === 0 && childrenOf(process.pid).length === 0, 20_000).catch(
	(error: unknown) => problems.push(`${error}: ${childrenOf(process.pid).map((row) => row.command.slice(0, 100))}`),
);
await stage.close().catch((error: unknown) => problems.push(String(error)));
console.log(JSON.stringify({ outcomes, problems, wereTaken: taken.length } satisfies FewDescriptorsResult));
await delay(0);

function takeAllBut(free: number): readonly number[] {
	const descriptors: number[] = [];
	try {
		for (;;) descriptors.push(openSync("/dev/null", "r"));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EMFILE") throw error;
	}
	for (const descriptor of descriptors.splice(0, free)) closeSync(descriptor);
	return descriptors;
}
