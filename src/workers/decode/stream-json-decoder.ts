/**
 * Bytes of agy's stdout -> AgyEvents: framing (line-reader.ts), JSON, mapping (stream-json.ts), and what to do with a
 * line that is none. Three rules for bad lines, in this order: a frame glued behind noise is cut free; a frame broken by
 * a raw newline is joined with the next line once; anything else is reported and skipped. Text that comes a second time
 * is left out (resend-guard.ts).
 *
 * Most lines are one more piece of the same answer and differ only in the last string. `#decodeRepeat` recognises them
 * by their common prefix and parses just that string (bench case `decode/short-lines`).
 */

import type { DriftKind } from "../../shared/drift.ts";
import type { AgyEvent } from "../../shared/events.ts";
import { REJECTED_SAMPLE_CHARS } from "../../shared/limits.ts";
import type { RejectReason } from "../../shared/messages.ts";
import { LineReader } from "./line-reader.ts";
import { ResendGuard } from "./resend-guard.ts";
import { fields, toEvents } from "./stream-json.ts";
import { unknownFieldsOf, unknownStatusOf } from "./unknown-fields.ts";

export type DecoderSink = {
	event(event: AgyEvent): void;
	reject(reason: RejectReason, byteLength: number, sample: string): void;
	/** A name that is not known, beside the unknown events. */
	drift?(what: DriftKind, name: string): void;
};

/** The first lines of a process are all looked at for unknown fields, of the later ones each so many-th: it costs a tenth of the parsing. */
const LOOK_AT_FIRST = 200;
const LOOK_AT_EACH = 16;
const DELTA_KEY = Buffer.from('"text_delta":');
const DELTA_END = '"}}';
const PROBE = "\u00b7 probe \u00b7";
const FRAME_STARTS = ['{"event":', '{"type":'];

export class StreamJsonDecoder {
	readonly #sink: DecoderSink;
	readonly #lines: LineReader;
	readonly #guard = new ResendGuard();
	#parsedLines = 0;
	/** A line that starts like a frame and is no JSON: perhaps broken by a raw newline. */
	#broken: string | null = null;
	/** Everything of the last plain delta line before its text, and the step it belongs to. */
	#repeatPrefix: Buffer | null = null;
	#repeatStep = 0;

	constructor(sink: DecoderSink, maxLineBytes: number) {
		this.#sink = sink;
		this.#lines = new LineReader(
			{
				line: (bytes) => this.#decode(bytes),
				tooLong: (byteLength, start) =>
					this.#reject("too-long", byteLength, start.toString("utf8", 0, 4 * REJECTED_SAMPLE_CHARS)),
			},
			maxLineBytes,
		);
	}

	/** Bytes of an incomplete line that are held. */
	get heldBytes(): number {
		return this.#lines.heldBytes;
	}

	/** Takes ownership of `chunk`. */
	push(chunk: Buffer): void {
		this.#lines.push(chunk);
	}

	end(): void {
		this.#lines.end();
		this.#rejectBroken();
	}

	#decode(bytes: Buffer): void {
		if (this.#decodeRepeat(bytes)) return;
		const source = bytes.toString("utf8");
		const parsed = parse(source);
		if (!parsed.ok) {
			this.#decodeBadLine(source, bytes.length);
			return;
		}
		this.#rejectBroken();
		const value = fields(parsed.value);
		if (!value) {
			this.#reject("not-object", bytes.length, source);
			return;
		}
		const events = toEvents(value);
		this.#noteDrift(value);
		this.#emit(events);
		this.#learnRepeat(bytes, events);
	}

	#decodeRepeat(bytes: Buffer): boolean {
		const prefix = this.#repeatPrefix;
		if (!prefix || this.#broken !== null || bytes.length <= prefix.length) return false;
		if (bytes.compare(prefix, 0, prefix.length, 0, prefix.length) !== 0) return false;
		const text = parseDeltaTail(bytes.toString("utf8", prefix.length));
		if (text === null || text === "") return false;
		this.#emitText(this.#repeatStep, text);
		return true;
	}

	#learnRepeat(bytes: Buffer, events: readonly AgyEvent[]): void {
		const event = events[0];
		if (events.length !== 1 || event?.kind !== "text") return;
		const key = bytes.lastIndexOf(DELTA_KEY);
		if (key === -1) return;
		const prefixEnd = key + DELTA_KEY.length;
		if (parseDeltaTail(bytes.toString("utf8", prefixEnd)) === null) return;
		// Another text in its place must come out as that text, or the last string is not the one that counts.
		const probe = parse(`${bytes.toString("utf8", 0, prefixEnd)}"${PROBE}${DELTA_END}`);
		const probed = probe.ok ? toEvents(fields(probe.value) ?? {})[0] : undefined;
		if (probed?.kind !== "text" || probed.text !== PROBE) return;
		this.#repeatPrefix = Buffer.from(bytes.subarray(0, prefixEnd));
		this.#repeatStep = event.step;
	}

	#decodeBadLine(source: string, byteLength: number): void {
		const joined = this.#broken === null ? null : parse(`${this.#broken}\\n${source}`);
		if (joined?.ok && fields(joined.value)) {
			this.#broken = null;
			this.#emit(toEvents(joined.value as { readonly [key: string]: unknown }));
			return;
		}
		this.#rejectBroken();
		if (this.#decodeGlued(source)) return;
		if (source.startsWith("{")) this.#broken = source;
		else this.#reject("not-json", byteLength, source);
	}

	#decodeGlued(source: string): boolean {
		for (const frameStart of FRAME_STARTS) {
			const at = source.indexOf(frameStart, 1);
			if (at === -1) continue;
			const parsed = parse(source.slice(at));
			const value = parsed.ok ? fields(parsed.value) : null;
			if (!value) continue;
			const noise = source.slice(0, at);
			this.#reject("not-json", Buffer.byteLength(noise), noise);
			this.#emit(toEvents(value));
			return true;
		}
		return false;
	}

	#rejectBroken(): void {
		if (this.#broken === null) return;
		const broken = this.#broken;
		this.#broken = null;
		this.#reject("not-json", Buffer.byteLength(broken), broken);
	}

	/** Lines that are the last one with another piece of text have nothing new, and do not come here. */
	#noteDrift(line: { readonly [key: string]: unknown }): void {
		if (++this.#parsedLines > LOOK_AT_FIRST && this.#parsedLines % LOOK_AT_EACH !== 0) return;
		for (const name of unknownFieldsOf(line)) this.#sink.drift?.("field", name);
		const status = unknownStatusOf(line);
		if (status !== null) this.#sink.drift?.("status", status);
	}

	#emit(events: readonly AgyEvent[]): void {
		for (const event of events) {
			if (event.kind === "text") {
				this.#emitText(event.step, event.text);
				continue;
			}
			if (event.kind === "model-call" || event.kind === "turn-end") this.#guard.end();
			this.#sink.event(event);
		}
	}

	#emitText(step: number, piece: string): void {
		const text = this.#guard.newPart(step, piece);
		if (text !== "") this.#sink.event({ kind: "text", step, text });
	}

	#reject(reason: RejectReason, byteLength: number, start: string): void {
		this.#sink.reject(reason, byteLength, start.slice(0, REJECTED_SAMPLE_CHARS));
	}
}

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

function parse(source: string): Parsed {
	try {
		return { ok: true, value: JSON.parse(source) };
	} catch {
		return { ok: false }; // The caller decides between noise, a glued and a broken frame.
	}
}

/** The text of `"…"}}`, or null when more than one string stands there. */
function parseDeltaTail(tail: string): string | null {
	if (!tail.startsWith('"') || !tail.endsWith(DELTA_END)) return null;
	const parsed = parse(tail.slice(0, 1 - DELTA_END.length));
	return parsed.ok && typeof parsed.value === "string" ? parsed.value : null;
}
