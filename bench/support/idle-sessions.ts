/**
 * Sessions of one pi that did a turn each and wait, their agy ended, in a process of its own. Arguments: side, a few
 * sessions, many sessions. Prints what the process holds with either as one line of JSON. Needs --expose-gc.
 */

import { setTimeout as delay } from "node:timers/promises";
import { until } from "../../tests/support/condition.ts";
import { type ProcessRow, processesWithVariable } from "../../tests/support/process-table.ts";
import { PiSessions, type PiSideName } from "./pi-sessions.ts";
import { LAST_PROMPT } from "./stand-in-task.ts";

export type Memory = { readonly rssBytes: number; readonly heapBytes: number };
export type IdleResult = { readonly few: Memory; readonly many: Memory };

/** What ends with a session's agy has ended, and the collector has had its turns. */
const COLLECTIONS = 5;
const COLLECTION_PAUSE_MS = 200;

const [side = "", few = "1", many = "33"] = process.argv.slice(2);
const pi = await PiSessions.of(side as PiSideName, "stand-in");
const result: IdleResult = { few: await holdSessions(Number(few)), many: await holdSessions(Number(many)) };
await pi.close();
process.stdout.write(`${JSON.stringify(result)}\n`);

async function holdSessions(count: number): Promise<Memory> {
	while (pi.count < count) await (await pi.open(() => {})).prompt(LAST_PROMPT);
	await until("every agy has left", () => processesWithVariable("HOME", pi.sandbox.path).every(isNoStandIn));
	for (let collection = 0; collection < COLLECTIONS; collection++) {
		globalThis.gc?.();
		await delay(COLLECTION_PAUSE_MS);
	}
	return { rssBytes: process.memoryUsage.rss(), heapBytes: process.memoryUsage().heapUsed };
}

function isNoStandIn({ command }: ProcessRow): boolean {
	return !command.includes("stand-in.ts");
}
