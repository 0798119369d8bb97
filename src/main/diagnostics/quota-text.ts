/** The quota as bars. Pure. */

import { inWords } from "./durations.ts";
import type { Quota, QuotaBucket } from "./quota.ts";

const SEGMENTS = 20;

export function renderQuota({ groups, fetchedAtMs }: Quota, nowMs: number): string {
	const buckets = groups.flatMap((group) => group.buckets);
	const width = Math.max(...buckets.map(({ window }) => window.length));
	const lines = groups.flatMap((group) => [
		group.name,
		...group.buckets.map((bucket) => `  ${renderBucket(bucket, width, nowMs)}`),
	]);
	return [...lines, `as of ${inWords(nowMs - fetchedAtMs)} ago`].join("\n");
}

/** Something left is never shown as nothing. */
function renderBucket({ window, remaining, resetsAtMs }: QuotaBucket, width: number, nowMs: number): string {
	const filled = remaining > 0 ? Math.max(1, Math.round(remaining * SEGMENTS)) : 0;
	const bar = "█".repeat(filled) + "░".repeat(SEGMENTS - filled);
	const percent = `${Math.floor(remaining * 100)} %`.padStart(5);
	const reset =
		resetsAtMs === null ? "" : `, resets ${resetsAtMs > nowMs ? `in ${inWords(resetsAtMs - nowMs)}` : "now"}`;
	return `${window.padEnd(width)}  ${bar} ${percent} left${reset}`;
}
