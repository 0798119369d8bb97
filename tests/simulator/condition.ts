/** Waiting in tests: for a condition, checked again and again, with a deadline that names what did not happen. */
import { setTimeout as sleep } from "node:timers/promises";

const DEADLINE_MS = 60_000;
const RECHECK_MS = 5;

export async function until(what: string, condition: () => boolean): Promise<void> {
	const deadlineMs = performance.now() + DEADLINE_MS;
	while (!condition()) {
		if (performance.now() > deadlineMs) throw new Error(`did not happen in time: ${what}`);
		await sleep(RECHECK_MS);
	}
}
