/**
 * Prints stream-json lines for the time a load asks for and keeps account of them, so that a reader can prove that nothing
 * was lost or changed.
 *
 * Paced: one write per event at fixed due times from a random phase; an event that is late is sent late and carries the
 * moment it was really written. Flat out: blocks of 64 KiB as fast as the pipe takes them, without times. Dozens of printers
 * share the machine with what is measured, so an event costs little here: lines are made beforehand, hashed afterwards.
 */

import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { deltaLine, PIECES } from "./agy-lines.ts";
import { type Account, type Load, nowUs } from "./load.ts";

const BLOCK_LINES = 320;
/** How long a slice of flat-out writing lasts before stdin is looked at again. */
const SLICE_MS = 50;
/** Stands for the time in a line that is made beforehand. */
const STAMP = "<stamp>";

export class LoadPrinter {
	readonly #fd: number;
	readonly #conversationId: string | undefined;
	readonly #sha1 = createHash("sha1");
	/** Printed and not yet hashed. */
	#unhashed = "";
	#eventCount = 0;

	/** Default: to stdout, and with a conversation id that all sources share. */
	constructor({ fd = 1, conversationId }: { readonly fd?: number; readonly conversationId?: string } = {}) {
		this.#fd = fd;
		this.#conversationId = conversationId;
	}

	/** Writes one piece of the answer. */
	say(text: string): void {
		this.#write(this.#line(text), text);
	}

	print(load: Load, then: () => void): void {
		this.#flood(load.floodMs, () => {
			if (load.eventsPerSecond > 0) this.#pace(load, then);
			else this.#flood(load.forMs, then);
		});
	}

	/** Of all that was printed. Called once, at the end. */
	account(): Account {
		this.#settle();
		return { events: this.#eventCount, sha1: this.#sha1.digest("hex") };
	}

	#pace(load: Load, then: () => void): void {
		const intervalMs = 1000 / load.eventsPerSecond;
		const total = Math.round(load.forMs / intervalMs);
		const startMs = performance.now() + Math.random() * intervalMs;
		const jitterMs = load.jitterMs ?? 0;
		let dueMs = startMs;
		let printed = 0;
		const lines = PIECES.map((piece) => ({ piece, parts: this.#line(`@${STAMP};${piece}`).split(STAMP) }));
		const printDue = () => {
			while (printed < total && performance.now() >= dueMs) {
				const { piece, parts } = lines[printed % lines.length] as (typeof lines)[number];
				const stamp = nowUs();
				this.#write(`${parts[0]}${stamp}${parts[1]}`, `@${stamp};${piece}`);
				printed++;
				dueMs = startMs + printed * intervalMs + Math.random() * jitterMs;
			}
			if (printed < total) setTimeout(printDue, Math.max(1, dueMs - performance.now()));
			else then();
		};
		printDue();
	}

	#flood(ms: number, then: () => void): void {
		const texts = Array.from({ length: BLOCK_LINES }, (_, index) => `@${PIECES[index % PIECES.length]}`);
		const block = Buffer.from(texts.map((text) => this.#line(text)).join(""));
		const blockText = texts.join("");
		const endMs = performance.now() + ms;
		const printSlice = () => {
			if (performance.now() >= endMs) return then();
			const sliceEndMs = Math.min(endMs, performance.now() + SLICE_MS);
			do {
				for (let start = 0; start < block.length; ) start += writeSync(this.#fd, block, start);
				this.#unhashed += blockText;
				this.#settle();
				this.#eventCount += BLOCK_LINES;
			} while (performance.now() < sliceEndMs);
			setImmediate(printSlice);
		};
		printSlice();
	}

	#write(line: string, text: string): void {
		writeSync(this.#fd, line);
		this.#unhashed += text;
		this.#eventCount++;
	}

	#settle(): void {
		this.#sha1.update(this.#unhashed);
		this.#unhashed = "";
	}

	#line(text: string): string {
		return deltaLine(text, 1, this.#conversationId);
	}
}
