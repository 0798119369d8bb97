/** The rungs of the stop ladder, the same for a process of ours and for what a killed pi left behind. */

import { setTimeout as delay } from "node:timers/promises";
import { TERM_GRACE_MS } from "../../shared/limits.ts";
import { familyOf, isAlive, isSame, type ProcessIdentity, signalProven } from "./proof.ts";

const STOP_POLL_MS = 20;

/** SIGTERM, then SIGKILL, to whatever of `family` still runs. */
export async function stopFamily(family: readonly ProcessIdentity[]): Promise<void> {
	if (await endsBy("SIGTERM", family, TERM_GRACE_MS)) return;
	await signalProven(family, "SIGKILL");
}

/** Stops what `leader` has started since its family was listed: it is in its group, also when the leader has gone. */
export async function stopRest(leader: ProcessIdentity): Promise<void> {
	const rest = await familyOf(leader.pid);
	// Another process with its id would be somebody else's, and so would be the group.
	if (rest.every((member) => member.pid !== leader.pid || isSame(member, leader))) await stopFamily(rest);
}

/** Signals whatever of `family` still runs. Whether nothing does after `graceMs`, at the latest. */
export async function endsBy(
	signal: NodeJS.Signals,
	family: readonly ProcessIdentity[],
	graceMs: number,
): Promise<boolean> {
	if ((await signalProven(family, signal)) === 0) return true;
	const deadlineMs = performance.now() + graceMs;
	while (performance.now() < deadlineMs) {
		await delay(STOP_POLL_MS);
		if (!(await Promise.all(family.map(isAlive))).includes(true)) return true;
	}
	return false;
}
