/**
 * The consumer at the end of both sides of the pipeline suite: keeps the text of one link, as any user of the events
 * would, and notes when each piece came. What it costs is the same on both sides; hashes and latencies are worked out
 * when it settles, outside the measured time unless the stream runs flat out.
 */

import { createHash } from "node:crypto";
import type { AgyEvent } from "../../src/shared/events.ts";
import type { Account } from "./load.ts";

/** Flat-out text is settled in pieces of this length, so that it is not kept for the whole run. */
const SETTLE_CHARS = 16 * 1024;
const US_PER_MS = 1000;
/** What performance.now() lacks to be the clock the sources stamp with. */
const CLOCK_OFFSET_MS = measureClockOffsetMs();
const STAMP = /@(\d+);/g;

export type Settled = { readonly chars: number; readonly latenciesMs: readonly number[] };

export class Tally {
	/** Each event's text begins with the time it was sent at: `@<microseconds>;`. */
	readonly #isTimed: boolean;
	readonly #sha1 = createHash("sha1");
	#text = "";
	#receipts: { readonly atMs: number; readonly textEnd: number }[] = [];
	#settled: { chars: number; latenciesMs: number[] } = { chars: 0, latenciesMs: [] };
	#totalChars = 0;
	#stampCount = 0;
	#account: Account | null = null;
	#finish: () => void = () => {};
	/** Resolves with the end of the turn. */
	readonly finished = new Promise<void>((resolve) => {
		this.#finish = resolve;
	});

	constructor(isTimed: boolean) {
		this.#isTimed = isTimed;
	}

	take(event: AgyEvent): void {
		if (event.kind === "text") {
			this.#text += event.text;
			if (this.#isTimed) this.#receipts.push({ atMs: performance.now(), textEnd: this.#text.length });
			if (this.#text.length >= SETTLE_CHARS) this.#settleText();
		} else if (event.kind === "turn-end") {
			this.finish(JSON.parse(event.text));
		}
	}

	/** The turn is over, and this is what its source says it printed. */
	finish(account: Account): void {
		this.#account = account;
		this.#finish();
	}

	/** What came since the last call. */
	settle(): Settled {
		this.#settleText();
		const settled = this.#settled;
		this.#settled = { chars: 0, latenciesMs: [] };
		return settled;
	}

	/** Throws when the text is not, to the byte, what the source says it printed. Returns how much it was. */
	verify(): { readonly events: number; readonly stampedEvents: number; readonly chars: number } {
		this.settle();
		const sha1 = this.#sha1.digest("hex");
		const account = this.#account;
		if (account?.sha1 !== sha1) throw new Error(`received text with hash ${sha1}, sent was ${account?.sha1}`);
		return { events: account.events, stampedEvents: this.#stampCount, chars: this.#totalChars };
	}

	#settleText(): void {
		const text = this.#text;
		if (this.#isTimed) this.#settleStamps(text);
		this.#settled.chars += text.length;
		this.#totalChars += text.length;
		this.#sha1.update(text);
		this.#text = "";
		this.#receipts = [];
	}

	#settleStamps(text: string): void {
		let receipt = 0;
		for (const stamp of text.matchAll(STAMP)) {
			while ((this.#receipts[receipt]?.textEnd ?? Number.POSITIVE_INFINITY) <= stamp.index) receipt++;
			const atMs = this.#receipts[receipt]?.atMs ?? Number.NaN;
			this.#stampCount++;
			this.#settled.latenciesMs.push(atMs + CLOCK_OFFSET_MS - Number(stamp[1]) / US_PER_MS);
		}
	}
}

/** The thread may lose its core between two readings; the closest pair of many was not torn apart. */
function measureClockOffsetMs(): number {
	let offsetMs = 0;
	let closestMs = Number.POSITIVE_INFINITY;
	for (let attempt = 0; attempt < 100; attempt++) {
		const beforeMs = Number(process.hrtime.bigint()) / 1e6;
		const nowMs = performance.now();
		const spanMs = Number(process.hrtime.bigint()) / 1e6 - beforeMs;
		if (spanMs >= closestMs) continue;
		closestMs = spanMs;
		offsetMs = beforeMs + spanMs / 2 - nowMs;
	}
	return offsetMs;
}
