import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { CaptureResult } from "../../../src/shared/audio.ts";
import type { RunExit } from "../../../src/shared/messages.ts";
import { Capture, FEED_HIGH_WATER_BYTES, Feed } from "../../../src/workers/audio/capture.ts";
import type { CaptureReport, DecoderSink } from "../../../src/workers/link.ts";
import { until } from "../../support/condition.ts";
import { runFfmpeg, toneInput } from "../../support/ffmpeg.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const DONE: RunExit = { code: 0, signal: null };

/** A link's side of a decoder, which keeps what it is told. */
class KeptSink {
	readonly reports: CaptureReport[] = [];
	readonly logs: string[] = [];
	written = "";
	hasInputEnded = false;
	/** While it takes nothing, what is written stays unwritten. */
	isTaking = true;
	isHeld = false;
	#unwrittenBytes = 0;
	#whenWritten = { bytes: 0, listener: () => {} };
	readonly sink: DecoderSink;

	constructor(link: number) {
		const unwrittenBytes = () => this.#unwrittenBytes;
		this.sink = {
			link,
			event: () => {},
			capture: (report) => this.reports.push(report),
			write: (bytes) => {
				this.written += Buffer.from(bytes).toString("latin1");
				if (!this.isTaking) this.#unwrittenBytes += bytes.length;
			},
			get unwrittenBytes() {
				return unwrittenBytes();
			},
			whenWrittenTo: (bytes, listener) => {
				this.#whenWritten = { bytes, listener };
			},
			hold: (isHeld) => {
				this.isHeld = isHeld;
			},
			endInput: () => {
				this.hasInputEnded = true;
			},
			reject: () => {},
			drift: () => {},
			flush: () => {},
			taken: () => {},
			isPaused: false,
			log: (text) => this.logs.push(text),
		};
	}

	/** Takes what is unwritten but so many bytes. */
	takeAllBut(bytes: number): void {
		this.#unwrittenBytes = bytes;
		if (bytes <= this.#whenWritten.bytes) this.#whenWritten.listener();
	}

	get result(): CaptureResult | undefined {
		const last = this.reports.at(-1);
		return last?.kind === "captured" ? last.result : undefined;
	}
}

async function finish(path: string, container: "ogg" | "wav", exit: RunExit = DONE): Promise<KeptSink> {
	const kept = new KeptSink(1);
	const capture = new Capture({ kind: "capture", path, container }, kept.sink);
	capture.push(Buffer.alloc(3_200, 1));
	capture.end();
	await new Promise<void>((resolve) => capture.finish(exit, resolve));
	return kept;
}

describe("a capture", () => {
	test.each(["ogg", "wav"] as const)("reports levels, then the checked %s file", async (container) => {
		const path = folder.at(`sound.${container}`);
		runFfmpeg([...toneInput(1, [[0, 1]]), "-ac", "1", "-c:a", container === "ogg" ? "libopus" : "pcm_s16le", path]);
		const kept = await finish(path, container);
		expect(kept.reports.map(({ kind }) => kind)).toEqual(["level", "captured"]);
		const result = kept.result as CaptureResult;
		expect(result.capturedMs).toBe(100);
		if (!result.encoded.ok) throw new Error(result.encoded.problem);
		const file = readFileSync(path);
		const { base64, byteLength, mimeType, durationMs } = result.encoded;
		if (container === "wav") expect(base64).toBeNull();
		else expect(Buffer.from(Buffer.from(base64 ?? []).toString("latin1"), "base64").equals(file)).toBe(true);
		expect(base64?.buffer.byteLength).toBe(base64?.byteLength);
		expect(byteLength).toBe(file.length);
		expect(mimeType).toBe(`audio/${container}`);
		expect(Math.abs(durationMs - 1_000)).toBeLessThan(25);
	});

	test.each([
		["a missing file", () => {}, DONE, "ffmpeg wrote no file."],
		["an empty file", (path: string) => writeFileSync(path, ""), DONE, "The Ogg file is empty."],
		["another file", (path: string) => writeFileSync(path, "#!/bin/sh\n".repeat(9)), DONE, "no Ogg file"],
		["a folder", (path: string) => mkdirSync(path), DONE, "cannot be read"],
		["a failed ffmpeg", () => {}, { code: 1, signal: null }, "wrote no file. ffmpeg ended with code 1."],
		["a killed ffmpeg", () => {}, { code: null, signal: "SIGKILL" }, "wrote no file. ffmpeg was ended by SIGKILL."],
		["an interrupted ffmpeg", () => {}, { code: 255, signal: null }, "ffmpeg wrote no file."],
	])("says what is wrong with %s", async (_name, prepare, exit, expected) => {
		const path = folder.at("sound.ogg");
		prepare(path);
		const { result } = await finish(path, "ogg", exit);
		expect(result?.encoded).toEqual({ ok: false, problem: expect.stringContaining(expected) });
		if (!expected.includes("code")) expect(JSON.stringify(result)).not.toContain("with code");
	});

	test("that is closed while its file is read reports no more", async () => {
		const kept = new KeptSink(1);
		let isEnded = false;
		const closed: string[] = [];
		const capture = new Capture({ kind: "capture", path: folder.at("sound.ogg"), container: "ogg" }, kept.sink, () =>
			closed.push("closed"),
		);
		capture.finish(DONE, () => {
			isEnded = true;
		});
		capture.close();
		// A second one that reads the same is done: so is the first.
		await finish(folder.at("sound.ogg"), "ogg");
		await finish(folder.at("sound.ogg"), "ogg");
		expect(kept.reports).toEqual([]);
		expect(isEnded).toBe(false);
		expect(closed).toEqual(["closed"]);
	});
});

describe("a feed", () => {
	test("goes into its capture and ends with it", () => {
		const capture = new KeptSink(1);
		const kept = new KeptSink(2);
		const feed = new Feed({ kind: "feed", into: 1 }, kept.sink, new Map([[1, capture.sink]]));
		feed.push(Buffer.from("ab"));
		feed.push(Buffer.from("c"));
		expect([capture.written, capture.hasInputEnded]).toEqual(["abc", false]);
		feed.end();
		expect(capture.hasInputEnded).toBe(true);
		expect(kept.logs).toEqual([]);
	});

	test("holds its recorder from the high-water mark on until the capture has caught up", () => {
		const capture = new KeptSink(1);
		const kept = new KeptSink(2);
		const feed = new Feed({ kind: "feed", into: 1 }, kept.sink, new Map([[1, capture.sink]]));
		capture.isTaking = false;
		feed.push(Buffer.alloc(FEED_HIGH_WATER_BYTES - 1));
		expect(kept.isHeld).toBe(false);
		feed.push(Buffer.alloc(1));
		expect(kept.isHeld).toBe(true);
		capture.takeAllBut(FEED_HIGH_WATER_BYTES / 2);
		expect(kept.isHeld).toBe(true);
		capture.takeAllBut(FEED_HIGH_WATER_BYTES / 4);
		expect(kept.isHeld).toBe(false);
	});

	test("without its capture is dropped, with one line in the log", async () => {
		const kept = new KeptSink(2);
		const feed = new Feed({ kind: "feed", into: 7 }, kept.sink, new Map());
		feed.push(Buffer.from("ab"));
		feed.push(Buffer.from("c"));
		feed.end();
		await until("a line", () => kept.logs.length > 0);
		expect(kept.logs).toEqual(["link 2 feeds link 7, which is no capture; its sound is dropped"]);
		expect(kept.written).toBe("");
	});
});
