/** Runs one side of a case in a process of its own (side.ts, pi-side.ts). */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { PiSidePlan, PiSideResult } from "./pi-side.ts";
import type { SidePlan, SideResult } from "./side.ts";
import type { WindowResult } from "./window.ts";

/** A side takes up to 30 s; one that hangs must not hang the check. */
const SIDE_TIMEOUT_MS = 120_000;
const SIDE = fileURLToPath(new URL("./side.ts", import.meta.url));
const PI_SIDE = fileURLToPath(new URL("./pi-side.ts", import.meta.url));

const run = promisify(execFile);

export async function runSide(plan: SidePlan): Promise<SideResult> {
	return JSON.parse(await runScript(SIDE, plan));
}

/** The same through the real pi. */
export async function runPiSide(plan: PiSidePlan): Promise<PiSideResult> {
	return JSON.parse(await runScript(PI_SIDE, plan));
}

export function mainCpuPerEvent(window: WindowResult): number {
	return window.mainCpuUs / window.events;
}

async function runScript(script: string, plan: object): Promise<string> {
	const args = ["--disable-warning=ExperimentalWarning", script, JSON.stringify(plan)];
	return (await run(process.execPath, args, { timeout: SIDE_TIMEOUT_MS })).stdout;
}
