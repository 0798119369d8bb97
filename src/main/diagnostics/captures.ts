/** The captured turns on disk, which the lanes write: where they lie, which one is of use for a report, which are too old. */

import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { CAPTURE_FILE, type CaptureEnd } from "../../shared/capture.ts";
import type { Config } from "../config.ts";

/** Over all links that ever were; each keeps its own few. */
const MAX_FILES = 200;
/** How far back a failed turn is looked for. */
const LOOK_AT_FILES = 20;
const GOOD_STATUSES: ReadonlySet<string | null> = new Set(["SUCCESS", "OK"]);
/** A larger one makes no report that can be sent; it can be sent by itself. */
const MAX_REPORTED_BYTES = 1024 * 1024;

export function capturesDirOf({ dataDir }: Pick<Config, "dataDir">): string {
	return join(dataDir, "captures");
}

/** Removes the oldest beyond those that are kept, and halves of a killed pi. Never throws. */
export async function sweepCaptures(directory: string): Promise<void> {
	const names = await namesIn(directory);
	for (const name of names.slice(MAX_FILES)) await rm(join(directory, name), { force: true });
	const all = await readdir(directory).catch(() => []); // Nothing was ever captured.
	const tooOldMs = Date.now() - 60_000; // A younger half may be another pi's, at work.
	for (const name of all.filter((candidate) => candidate.endsWith(".part"))) {
		const changedMs = (await stat(join(directory, name)).catch(() => null))?.mtimeMs; // It is whole by now.
		if (changedMs !== undefined && changedMs < tooOldMs) await rm(join(directory, name), { force: true });
	}
}

/** The lines of the last captured turn that did not end well; null when there is none. */
export async function lastFailedCapture(
	directory: string,
): Promise<{ readonly name: string; readonly lines: readonly string[] } | null> {
	for (const name of (await namesIn(directory)).slice(0, LOOK_AT_FILES)) {
		const path = join(directory, name);
		const size = (await stat(path).catch(() => null))?.size ?? 0; // Its link has just made room for another.
		if (size === 0 || size > MAX_REPORTED_BYTES) continue;
		const lines = (await readFile(path, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
		if (!GOOD_STATUSES.has(statusOf(lines.at(-1) ?? ""))) return { name, lines };
	}
	return null;
}

/** Newest first. */
async function namesIn(directory: string): Promise<readonly string[]> {
	const names = await readdir(directory).catch(() => []); // Nothing was ever captured.
	return names
		.filter((name) => CAPTURE_FILE.test(name))
		.toSorted()
		.toReversed();
}

function statusOf(lastLine: string): string | null {
	try {
		return (JSON.parse(lastLine) as CaptureEnd).end.status;
	} catch {
		return null; // Cut off: it did not end well.
	}
}
