import { describe, expect, test } from "vitest";
import { BYTES_PER_SAMPLE, FLOOR_DB, SAMPLE_RATE_HZ } from "../../../src/shared/audio.ts";
import { LevelMeter, type LevelReport } from "../../../src/workers/audio/levels.ts";

const WINDOW_MS = 50;

/** PCM of a sine; amplitude as a share of full scale. */
function sine(ms: number, amplitude: number, hz = 440): Buffer {
	const samples = Int16Array.from({ length: (ms * SAMPLE_RATE_HZ) / 1000 }, (_, index) =>
		Math.round(amplitude * 32_767 * Math.sin((2 * Math.PI * hz * index) / SAMPLE_RATE_HZ)),
	);
	return Buffer.from(samples.buffer);
}

/** Pushes chunks of the given sound as a clock advances by their length times `pace`. */
function listen(pcm: Buffer, chunkMs: number, pace = 1): { readonly meter: LevelMeter; readonly heard: LevelReport[] } {
	const heard: LevelReport[] = [];
	let nowMs = 0;
	const meter = new LevelMeter(
		(report) => heard.push(report),
		() => nowMs,
	);
	const chunkBytes = (chunkMs * SAMPLE_RATE_HZ * BYTES_PER_SAMPLE) / 1000;
	for (let at = 0; at < pcm.length; at += chunkBytes) {
		nowMs += chunkMs * pace;
		meter.push(pcm.subarray(at, at + chunkBytes));
	}
	return { meter, heard };
}

describe("a level", () => {
	test("is reported for each window of sound that comes in real time", () => {
		const { meter, heard } = listen(sine(1_000, 0.5), 10);
		expect(heard.map(({ capturedMs }) => capturedMs)).toEqual(
			Array.from({ length: 20 }, (_, index) => (index + 1) * WINDOW_MS),
		);
		expect(meter.capturedMs).toBe(1_000);
	});

	test("of a sine is 3.01 dB below its peak", () => {
		const { meter, heard } = listen(sine(500, 0.125), 50);
		for (const { rmsDb, peakDb } of heard) {
			expect(peakDb).toBeCloseTo(-18.06, 1);
			expect(rmsDb).toBeCloseTo(-21.07, 1);
		}
		expect(meter.loudestDb).toBeCloseTo(-21.07, 1);
	});

	test.each([
		["digital silence", Buffer.alloc(6_400), FLOOR_DB, FLOOR_DB],
		["the loudest there is", Buffer.from(Int16Array.from({ length: 3_200 }, () => -32_768).buffer), 0, 0],
		["the least there is", Buffer.from(Int16Array.from({ length: 3_200 }, () => 1).buffer), -90.3, -90.3],
	])("of %s", (_name, pcm, rmsDb, peakDb) => {
		const { meter, heard } = listen(pcm, 50);
		expect(heard).toHaveLength(4);
		expect(heard[0]?.rmsDb).toBeCloseTo(rmsDb, 1);
		expect(heard[0]?.peakDb).toBeCloseTo(peakDb, 1);
		expect(meter.loudestDb).toBeCloseTo(rmsDb, 1);
	});

	test("comes at most 20 times a second when a file is read at full speed, and covers all that came", () => {
		const loud = sine(50, 0.5);
		const { meter, heard } = listen(Buffer.concat([sine(5_000, 0.01), loud, sine(4_950, 0.01)]), 10, 0.1);
		expect(heard).toHaveLength(20);
		expect(Math.max(...heard.map(({ peakDb }) => peakDb))).toBeCloseTo(-6.02, 1);
		expect(meter.capturedMs).toBe(10_000);
		expect(meter.loudestDb).toBeCloseTo(-9.03, 1);
	});

	test("does not come before a whole window", () => {
		const { meter, heard } = listen(sine(49, 0.5), 49, 10);
		expect(heard).toEqual([]);
		expect(meter.capturedMs).toBe(49);
		expect(meter.loudestDb).toBe(FLOOR_DB);
	});
});

test("PCM may be cut anywhere", () => {
	const pcm = sine(200, 0.3);
	const whole = measure([pcm]);
	expect(whole.capturedMs).toBe(200);
	for (let cut = 0; cut <= pcm.length; cut++) {
		expect(measure([pcm.subarray(0, cut), pcm.subarray(cut)])).toEqual(whole);
	}
	for (const size of [1, 2, 3, 7, 1_599, 1_601]) {
		const parts = Array.from({ length: Math.ceil(pcm.length / size) }, (_, index) =>
			pcm.subarray(index * size, (index + 1) * size),
		);
		expect(measure(parts)).toEqual(whole);
	}
});

test("a byte without its sample does not count", () => {
	expect(measure([sine(50, 0.3), Buffer.from([7])]).capturedMs).toBe(50);
});

function measure(chunks: readonly Buffer[]): { readonly capturedMs: number; readonly loudestDb: number } {
	const meter = new LevelMeter(() => {});
	for (const chunk of chunks) meter.push(chunk);
	return { capturedMs: meter.capturedMs, loudestDb: meter.loudestDb };
}
