/** Waiting in tests: for a condition, checked again and again, with a deadline that names what did not happen. */
import { setTimeout as sleep } from "node:timers/promises";

/** Wide on purpose: it only ends a wait that would never end. */
const DEADLINE_MS = 60_000;
const RECHECK_MS = 10;

type Falsy = false | null | undefined | 0 | "";

/** Resolves with the first truthy value of `condition`. `what` may be made when the deadline has passed. */
export async function until<T>(
	what: string | (() => string),
	condition: () => T | Promise<T>,
	deadlineMs: number = DEADLINE_MS,
): Promise<Exclude<T, Falsy>> {
	const endMs = performance.now() + deadlineMs;
	for (;;) {
		const value = await condition();
		if (value) return value as Exclude<T, Falsy>;
		if (performance.now() > endMs)
			throw new Error(`did not happen in time: ${typeof what === "string" ? what : what()}`);
		await sleep(RECHECK_MS);
	}
}

/** The value of `promise`, or an error that says what it was waited for. */
export async function within<T>(what: string, promise: Promise<T>, deadlineMs: number = DEADLINE_MS): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const deadline = new Promise<never>((_resolve, reject) => {
		timer = setTimeout(() => reject(new Error(`did not happen in time: ${what}`)), deadlineMs);
	});
	try {
		return await Promise.race([promise, deadline]);
	} finally {
		clearTimeout(timer);
	}
}
