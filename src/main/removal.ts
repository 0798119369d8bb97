/**
 * Removes files and folders of ours from a disk that may fail for a while: full, read-only, gone. What could not be removed
 * is tried again until it is, because its owner lives, and nobody else removes what a living process has made. The
 * tries keep no process alive: what is left at its end is swept by the next one.
 */

import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** After this it is tried again the first time: a disk that was full for a moment has room then. */
const AGAIN_MS = 500;
/** Each further wait is twice as long, up to this. */
const AGAIN_MAX_MS = 30_000;

/** Removes the file, or the folder with all that is in it. Throws when the disk does not let go of it; it is tried again then. */
export function removeOwn(path: string): Promise<void> {
	return removeUntilDone(() => rm(path, { recursive: true, force: true }));
}

/** Runs `remove`. Throws when it does; then it runs again until it does not. */
export async function removeUntilDone(remove: () => Promise<void>): Promise<void> {
	try {
		await remove();
	} catch (error) {
		void again(remove);
		throw error;
	}
}

async function again(remove: () => Promise<void>): Promise<void> {
	for (let waitMs = AGAIN_MS; ; waitMs = Math.min(2 * waitMs, AGAIN_MAX_MS)) {
		await delay(waitMs, undefined, { ref: false });
		const isDone = await remove().then(
			() => true,
			() => false, // The disk still fails: whoever asked was told.
		);
		if (isDone) return;
	}
}
