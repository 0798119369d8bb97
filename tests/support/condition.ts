/** Waiting in tests: for a condition, checked again and again, with a deadline that names what did not happen. */
import { setTimeout as sleep } from "node:timers/promises";

/** Wide on purpose: it only ends a wait that would never end. */
const DEADLINE_MS = 60_000;
/** Seldom when it takes long: some conditions read the whole process table. */
const RECHECK_MS = { least: 5, most: 50, shareOfWait: 0.1 };

type Falsy = false | null | undefined | 0 | "";

/** Resolves with the first truthy value of `condition`. `what` may be made when the deadline has passed. */
export async function until<T>(
	what: string | (() => string),
	condition: () => T | Promise<T>,
	deadlineMs: number = DEADLINE_MS,
): Promise<Exclude<T, Falsy>> {
	const startMs = performance.now();
	for (;;) {
		const value = await condition();
		if (value) return value as Exclude<T, Falsy>;
		const waitedMs = performance.now() - startMs;
		if (waitedMs > deadlineMs) throw new Error(`did not happen in time: ${typeof what === "string" ? what : what()}`);
		await sleep(Math.min(RECHECK_MS.most, Math.max(RECHECK_MS.least, waitedMs * RECHECK_MS.shareOfWait)));
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
