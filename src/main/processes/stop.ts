/** The end of the stop ladder, the same for a process of ours and for what a killed pi left behind. */

import { setTimeout as delay } from "node:timers/promises";
import { TERM_GRACE_MS } from "../../shared/limits.ts";
import { isAlive, type ProcessIdentity, signalProven } from "./proof.ts";

const STOP_POLL_MS = 20;

/** SIGTERM, then SIGKILL, to whatever of `family` still runs. */
export async function stopFamily(family: readonly ProcessIdentity[]): Promise<void> {
	if ((await signalProven(family, "SIGTERM")) === 0) return;
	const deadlineMs = performance.now() + TERM_GRACE_MS;
	while (performance.now() < deadlineMs) {
		await delay(STOP_POLL_MS);
		if (!(await Promise.all(family.map(isAlive))).includes(true)) return;
	}
	await signalProven(family, "SIGKILL");
}
