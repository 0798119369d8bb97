/** A captured turn as it is written down: one JSON object a line, a head, entries, an end. */

import type { LinkId, RunExit } from "./messages.ts";

/** What is recorded of each link, and where. */
export type CaptureSettings = {
	/** Private, absolute; made when it is first needed. */
	readonly directory: string;
	/** Of each link the last so many turns are kept, from 1. */
	readonly turns: number;
};

export const CAPTURE_FORMAT = 1;

export type CaptureHead = { readonly capture: number; readonly link: LinkId; readonly startedAtMs: number };

export type CaptureEntry = {
	/** Milliseconds since the head. */
	readonly t: number;
	/** To agy's stdin, from its stdout, from its stderr. */
	readonly dir: "in" | "out" | "err";
	readonly line: string;
};

export type CaptureEnd = {
	/** The status of the turn's result, upper-cased; null when the output ended without one. */
	readonly end: { readonly status: string | null; readonly exit: RunExit | null; readonly droppedLines: number };
};

/** What a captured turn's file is called; sorts by time. */
export const CAPTURE_FILE = /^[\dTZ-]+_\d+_\d+_\d+\.ndjson$/;

export function captureFileName(startedAtMs: number, pid: number, link: LinkId, turn: number): string {
	return `${new Date(startedAtMs).toISOString().replaceAll(/[:.]/g, "-")}_${pid}_${link}_${turn}.ndjson`;
}
