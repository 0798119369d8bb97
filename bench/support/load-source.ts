/**
 * A child process in place of agy, as fast as a Node program gets: it waits for a prompt with a load on stdin, then prints
 * stream-json lines for the time the prompt asks for and ends the turn with its own account of what it printed, so that
 * a reader can prove that nothing was lost or changed. It exits when its stdin ends.
 *
 * Paced: one write per event at fixed due times from a random phase; an event that is late is sent late and carries the
 * moment it was really written. Flat out: blocks of 64 KiB as fast as the pipe takes them, without times.
 */

import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { deltaLine, deltaLines, initLine, PIECES, resultLine } from "./agy-lines.ts";
import { type Account, type Load, nowUs } from "./load.ts";

const BLOCK_LINES = 320;
const STDOUT = 1;
/** How long a slice of flat-out writing lasts before stdin is looked at again. */
const SLICE_MS = 50;

const sha1 = createHash("sha1");
let eventCount = 0;

writeSync(STDOUT, initLine());
const input = createInterface({ input: process.stdin });
input.on("line", (prompt) => {
	const load = JSON.parse(JSON.parse(prompt).message.content) as Load | null;
	if (!load) return;
	flood(load.floodMs, () => {
		if (load.eventsPerSecond > 0) pace(load);
		else flood(load.forMs, finish);
	});
});
input.once("close", () => process.exit(0));

function pace(load: Load): void {
	const intervalMs = 1000 / load.eventsPerSecond;
	const total = Math.round(load.forMs / intervalMs);
	const startMs = performance.now() + Math.random() * intervalMs;
	const jitterMs = load.jitterMs ?? 0;
	let dueMs = startMs;
	let printed = 0;
	const printDue = () => {
		while (printed < total && performance.now() >= dueMs) {
			const text = `@${nowUs()};${PIECES[printed % PIECES.length]}`;
			writeSync(STDOUT, deltaLine(text));
			sha1.update(text);
			eventCount++;
			printed++;
			dueMs = startMs + printed * intervalMs + Math.random() * jitterMs;
		}
		if (printed < total) setTimeout(printDue, Math.max(1, dueMs - performance.now()));
		else finish();
	};
	printDue();
}

function flood(ms: number, then: () => void): void {
	const texts = deltaLines(BLOCK_LINES).map((_, index) => `@${PIECES[index % PIECES.length]}`);
	const block = Buffer.from(texts.map((text) => deltaLine(text)).join(""));
	const blockText = texts.join("");
	const endMs = performance.now() + ms;
	const printSlice = () => {
		if (performance.now() >= endMs) return then();
		const sliceEndMs = Math.min(endMs, performance.now() + SLICE_MS);
		do {
			for (let start = 0; start < block.length; ) start += writeSync(STDOUT, block, start);
			sha1.update(blockText);
			eventCount += BLOCK_LINES;
		} while (performance.now() < sliceEndMs);
		setImmediate(printSlice);
	};
	printSlice();
}

function finish(): void {
	const account: Account = { events: eventCount, sha1: sha1.digest("hex") };
	writeSync(STDOUT, resultLine(JSON.stringify(account)));
}
