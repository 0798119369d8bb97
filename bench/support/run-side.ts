/** Runs one side of a case in a process of its own (side.ts). */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SidePlan, SideResult, WindowResult } from "./side.ts";

/** A side takes up to 20 s; one that hangs must not hang the check. */
const SIDE_TIMEOUT_MS = 120_000;
const SIDE = fileURLToPath(new URL("./side.ts", import.meta.url));

const run = promisify(execFile);

export async function runSide(plan: SidePlan): Promise<SideResult> {
	const args = ["--disable-warning=ExperimentalWarning", SIDE, JSON.stringify(plan)];
	const { stdout } = await run(process.execPath, args, { timeout: SIDE_TIMEOUT_MS });
	return JSON.parse(stdout);
}

export function mainCpuPerEvent(window: WindowResult): number {
	return window.mainCpuUs / window.events;
}
