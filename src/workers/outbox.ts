/**
 * What a lane sends: one frame a tick, whatever the number of links, and the account of what main has not consumed.
 *
 * The tick is adaptive. The first event of a quiet link and everything urgent leave with the chunk they came in. Else at
 * most one frame leaves in a tick: at once when the last one left that long ago, or else at its end, with all that came
 * meanwhile. A tick is a few milliseconds, longer the more links stream, at most one display frame. Adjacent pieces of the
 * same text within a frame become one.
 */

import type { AgyEvent } from "../shared/events.ts";
import { FRAME_BYTES, MAX_TICK_MS, QUIET_AFTER_MS, TICK_MS, TICK_MS_PER_BUSY_LINK } from "../shared/limits.ts";
import type { Frame, LaneMessage, LinkId } from "../shared/messages.ts";
import type { Timing } from "../shared/timing.ts";
import { Meter } from "./meter.ts";

type OpenBatch = { kind: "events"; link: LinkId; bytes: number; events: AgyEvent[] };

/** One link's share of the account. */
type Ledger = {
	/** Where further events of this link go; null after another kind of message, so that order is kept. */
	batch: OpenBatch | null;
	/** The frame being built holds a message of this link. */
	reported: boolean;
	/** Input of an incomplete line: no message stands for it yet, so main cannot acknowledge it. */
	carriedBytes: number;
	/** Input behind the messages in the frame being built. */
	pendingBytes: number;
	/** Frames posted and not acknowledged, oldest first. */
	readonly posted: { readonly seq: number; readonly bytes: number }[];
	heldBytes: number;
	lastEventMs: number;
};

export type OutboxStats = {
	readonly frames: number;
	readonly events: number;
	readonly heldBytes: number;
	readonly queuedMessages: number;
	readonly tickMs: number;
	/** From the first report in a frame to the frame's post. */
	readonly tick: Timing;
};

export class Outbox {
	readonly #post: (frame: Frame<LaneMessage>) => void;
	readonly #ledgers = new Map<LinkId, Ledger>();
	#messages: LaneMessage[] = [];
	#pendingBytes = 0;
	#seq = 0;
	#timer: NodeJS.Timeout | null = null;
	#flushWithChunk = false;
	#lastFrameMs = Number.NEGATIVE_INFINITY;
	#tickMs = TICK_MS;
	#fixedTickMs = 0;
	#eventCount = 0;
	/** When the frame being built got its first report; null when it has none, or was made to leave at once. */
	#reportedMs: number | null = null;
	readonly #waits = new Meter();

	constructor(post: (frame: Frame<LaneMessage>) => void) {
		this.#post = post;
	}

	addLink(link: LinkId): void {
		this.#ledgers.set(link, {
			batch: null,
			reported: false,
			carriedBytes: 0,
			pendingBytes: 0,
			posted: [],
			heldBytes: 0,
			lastEventMs: Number.NEGATIVE_INFINITY,
		});
	}

	removeLink(link: LinkId): void {
		this.#ledgers.delete(link);
	}

	/** Adds an event to the frame being built. */
	event(link: LinkId, event: AgyEvent): void {
		const ledger = this.#ledgers.get(link);
		if (!ledger) return;
		this.#eventCount++;
		if (!ledger.batch) {
			ledger.batch = { kind: "events", link, bytes: 0, events: [] };
			this.#messages.push(ledger.batch);
			ledger.reported = true;
		}
		const events = ledger.batch.events;
		const last = events.at(-1);
		if (event.kind === "text" && !event.replaces && last?.kind === "text" && last.step === event.step) {
			events[events.length - 1] = { ...last, text: last.text + event.text };
		} else {
			events.push(event);
		}
		if (event.kind === "turn-end") this.#flushWithChunk = true;
	}

	/** Adds any other message. Those are rare and do not wait. */
	message(message: LaneMessage): void {
		this.#messages.push(message);
		if ("link" in message) {
			const ledger = this.#ledgers.get(message.link);
			if (ledger) {
				ledger.batch = null;
				ledger.reported = true;
			}
		}
		this.#flushWithChunk = true;
	}

	/** A chunk of `bytes` input of this link has been decoded: accounts for it and decides when the frame leaves. */
	endChunk(link: LinkId, bytes: number, nowMs: number): void {
		const ledger = this.#ledgers.get(link);
		if (ledger) {
			ledger.carriedBytes += bytes;
			if (ledger.reported) this.#charge(ledger, nowMs);
		}
		if (this.#reportedMs === null && this.#messages.length > 0) this.#reportedMs = nowMs;
		const leftMs = this.#lastFrameMs + this.#tickMs - nowMs;
		if (this.#flushWithChunk || this.#pendingBytes >= FRAME_BYTES || leftMs <= 0) this.flush();
		else if (!this.#timer && this.#messages.length > 0) {
			this.#timer = setTimeout(() => this.flush(), leftMs);
		}
	}

	/** Sends what there is. */
	flush(): void {
		this.#flushWithChunk = false;
		this.close();
		if (this.#messages.length === 0) return;
		const seq = ++this.#seq;
		this.#lastFrameMs = performance.now();
		if (this.#reportedMs !== null) this.#waits.record(this.#lastFrameMs - this.#reportedMs);
		this.#reportedMs = null;
		let busyLinks = 0;
		for (const ledger of this.#ledgers.values()) {
			if (this.#lastFrameMs - ledger.lastEventMs <= QUIET_AFTER_MS) busyLinks++;
			ledger.batch = null;
			ledger.reported = false;
			if (ledger.pendingBytes === 0) continue;
			ledger.posted.push({ seq, bytes: ledger.pendingBytes });
			ledger.pendingBytes = 0;
		}
		const messages = this.#messages;
		this.#messages = [];
		this.#pendingBytes = 0;
		this.#tickMs = this.#fixedTickMs || Math.min(MAX_TICK_MS, Math.max(TICK_MS, busyLinks * TICK_MS_PER_BUSY_LINK));
		this.#post({ seq, messages });
	}

	/** Main has consumed the link's share of all frames up to `seq`. */
	acknowledge(link: LinkId, seq: number): void {
		const ledger = this.#ledgers.get(link);
		if (!ledger) return;
		while (ledger.posted[0] && ledger.posted[0].seq <= seq) {
			ledger.heldBytes -= ledger.posted.shift()?.bytes ?? 0;
		}
	}

	/** Input bytes of this link that main has not consumed. */
	heldBytes(link: LinkId): number {
		return this.#ledgers.get(link)?.heldBytes ?? 0;
	}

	/** Fixes the tick; 0 gives it back. */
	setTickMs(tickMs: number): void {
		this.#fixedTickMs = tickMs;
		this.#tickMs = tickMs || TICK_MS;
	}

	stats(): OutboxStats {
		let heldBytes = 0;
		for (const ledger of this.#ledgers.values()) heldBytes += ledger.heldBytes;
		return {
			frames: this.#seq,
			events: this.#eventCount,
			heldBytes,
			queuedMessages: this.#messages.length,
			tickMs: this.#tickMs,
			tick: this.#waits.timing,
		};
	}

	/** Ends the tick. */
	close(): void {
		if (this.#timer) clearTimeout(this.#timer);
		this.#timer = null;
	}

	#charge(ledger: Ledger, nowMs: number): void {
		const bytes = ledger.carriedBytes;
		ledger.carriedBytes = 0;
		ledger.pendingBytes += bytes;
		ledger.heldBytes += bytes;
		this.#pendingBytes += bytes;
		if (ledger.batch) ledger.batch.bytes += bytes;
		if (nowMs - ledger.lastEventMs > QUIET_AFTER_MS) this.#flushWithChunk = true;
		ledger.lastEventMs = nowMs;
	}
}
