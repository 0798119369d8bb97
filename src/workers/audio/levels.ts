/**
 * PCM -> how loud it is. Sound is measured in windows of LEVEL_INTERVAL_MS. A report covers all whole windows since the
 * last one and is made at the end of a chunk, LEVEL_INTERVAL_MS of the clock after the last at the earliest: a microphone
 * gives one for each window, a file that is read at full speed gives few, of long spans.
 *
 * Each sample is touched once; nothing is allocated per sample or window. Samples are read in the byte order of the
 * machine, which is little-endian wherever agy runs.
 */

import { BYTES_PER_SAMPLE, FLOOR_DB, type Level, SAMPLE_RATE_HZ } from "../../shared/audio.ts";
import { LEVEL_INTERVAL_MS } from "../../shared/limits.ts";

const WINDOW_SAMPLES = (SAMPLE_RATE_HZ * LEVEL_INTERVAL_MS) / 1000;
const FULL_SCALE = 32_768;

export type LevelReport = Level & { readonly capturedMs: number };

export class LevelMeter {
	readonly #report: (report: LevelReport) => void;
	readonly #nowMs: () => number;
	/** The first byte of a sample that was cut; -1 for none. */
	#carriedByte = -1;
	#samples = 0;
	#window = { samples: 0, squares: 0, peak: 0 };
	#span = { windows: 0, squares: 0, peak: 0 };
	#loudestSquares = 0;
	#lastReportMs = Number.NEGATIVE_INFINITY;

	constructor(report: (report: LevelReport) => void, nowMs: () => number = () => performance.now()) {
		this.#report = report;
		this.#nowMs = nowMs;
	}

	get capturedMs(): number {
		return (this.#samples / SAMPLE_RATE_HZ) * 1000;
	}

	/** The RMS of the loudest whole window, in dB of full scale. */
	get loudestDb(): number {
		return toDb(this.#loudestSquares / WINDOW_SAMPLES);
	}

	/** Takes PCM that may be cut anywhere. */
	push(chunk: Buffer): void {
		let start = 0;
		if (this.#carriedByte >= 0 && chunk.length > 0) {
			const first = this.#carriedByte | ((chunk[0] as number) << 8);
			this.#measure(Int16Array.of(first));
			this.#carriedByte = -1;
			start = 1;
		}
		const count = (chunk.length - start) >> 1;
		const end = start + count * BYTES_PER_SAMPLE;
		if (end < chunk.length) this.#carriedByte = chunk[end] as number;
		if (count > 0) this.#measure(toSamples(chunk, start, count));
		this.#reportWhenDue();
	}

	#measure(samples: Int16Array): void {
		this.#samples += samples.length;
		const window = this.#window;
		for (let at = 0; at < samples.length; ) {
			const end = Math.min(samples.length, at + WINDOW_SAMPLES - window.samples);
			let squares = 0;
			let peak = 0;
			for (let index = at; index < end; index++) {
				const sample = samples[index] as number;
				const size = sample < 0 ? -sample : sample;
				squares += size * size;
				if (size > peak) peak = size;
			}
			window.samples += end - at;
			window.squares += squares;
			window.peak = Math.max(window.peak, peak);
			at = end;
			if (window.samples === WINDOW_SAMPLES) this.#endWindow();
		}
	}

	#endWindow(): void {
		const { squares, peak } = this.#window;
		this.#loudestSquares = Math.max(this.#loudestSquares, squares);
		this.#span.windows++;
		this.#span.squares += squares;
		this.#span.peak = Math.max(this.#span.peak, peak);
		this.#window.samples = 0;
		this.#window.squares = 0;
		this.#window.peak = 0;
	}

	#reportWhenDue(): void {
		const { windows, squares, peak } = this.#span;
		if (windows === 0) return;
		const nowMs = this.#nowMs();
		if (nowMs - this.#lastReportMs < LEVEL_INTERVAL_MS) return;
		this.#lastReportMs = nowMs;
		this.#span.windows = 0;
		this.#span.squares = 0;
		this.#span.peak = 0;
		this.#report({
			capturedMs: this.capturedMs,
			rmsDb: toDb(squares / (windows * WINDOW_SAMPLES)),
			peakDb: toDb(peak * peak),
		});
	}
}

/** A view where the bytes lie on even addresses, else a copy. */
function toSamples(chunk: Buffer, start: number, count: number): Int16Array {
	const offset = chunk.byteOffset + start;
	if (offset % BYTES_PER_SAMPLE === 0) return new Int16Array(chunk.buffer, offset, count);
	const copy = new Uint8Array(count * BYTES_PER_SAMPLE);
	copy.set(chunk.subarray(start, start + copy.length));
	return new Int16Array(copy.buffer);
}

function toDb(square: number): number {
	return square === 0 ? FLOOR_DB : Math.max(FLOOR_DB, 10 * Math.log10(square / (FULL_SCALE * FULL_SCALE)));
}
