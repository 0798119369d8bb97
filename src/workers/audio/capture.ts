/**
 * The two decoders of an audio lane.
 *
 * A capture follows an ffmpeg that records: levels come from the PCM on its stdout while it runs; when it has ended, the
 * file that it encoded is read, checked and reported as base64. Whatever is wrong with the file is a result, not a failure
 * of the lane. A feed hands what a recorder prints to the stdin of such an ffmpeg, and holds a recorder back that is
 * faster than ffmpeg.
 *
 * Both are sampling: sound is never held back for main, whose levels are few however long it does not listen.
 */

import { open } from "node:fs/promises";
import type { CaptureResult } from "../../shared/audio.ts";
import type { CaptureSpec, FeedSpec, LinkId, RunExit } from "../../shared/messages.ts";
import type { Decoder, DecoderSink } from "../link.ts";
import type { ContainerCheck } from "./container-check.ts";
import { LevelMeter } from "./levels.ts";
import { checkOggOpus } from "./ogg.ts";
import { checkWav } from "./wav.ts";

/** Half an hour of WAV; a larger file is none that was asked for. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/**
 * Sound that ffmpeg has not taken: five seconds of stereo at 48 kHz, so that no microphone is held back while ffmpeg
 * starts. Above it the recorder is not read.
 */
export const FEED_HIGH_WATER_BYTES = 1024 * 1024;
/** Below it the recorder is read again. */
const FEED_LOW_WATER_BYTES = 256 * 1024;
/** What ffmpeg exits with when a signal has ended its recording. */
const INTERRUPTED_CODE = 255;

const CONTAINERS = {
	ogg: { mimeType: "audio/ogg", check: checkOggOpus },
	wav: { mimeType: "audio/wav", check: checkWav },
} as const satisfies Record<
	CaptureSpec["container"],
	{ mimeType: string; check: (file: Uint8Array) => ContainerCheck }
>;

export class Capture implements Decoder {
	readonly isSampling = true;
	readonly #spec: CaptureSpec;
	readonly #sink: DecoderSink;
	readonly #meter: LevelMeter;
	readonly #onClose: () => void;
	#isClosed = false;

	constructor(spec: CaptureSpec, sink: DecoderSink, onClose: () => void = () => {}) {
		this.#spec = spec;
		this.#sink = sink;
		this.#onClose = onClose;
		this.#meter = new LevelMeter((report) => sink.capture({ kind: "level", ...report }));
	}

	push(chunk: Buffer): void {
		this.#meter.push(chunk);
	}

	/** The file is read when the process has ended, which alone says that it is whole. */
	end(): void {}

	finish(exit: RunExit, onEnd: () => void): void {
		void encodedFile(this.#spec, exit).then((encoded) => {
			if (this.#isClosed) return;
			const { capturedMs, loudestDb } = this.#meter;
			this.#sink.capture({ kind: "captured", result: { capturedMs, loudestDb, encoded } });
			onEnd();
		});
	}

	close(): void {
		this.#isClosed = true;
		this.#onClose();
	}
}

export class Feed implements Decoder {
	readonly isSampling = true;
	readonly #spec: FeedSpec;
	readonly #sink: DecoderSink;
	readonly #captures: ReadonlyMap<LinkId, DecoderSink>;
	#isMissNoted = false;

	/** `captures` are those of the lane at any time. */
	constructor(spec: FeedSpec, sink: DecoderSink, captures: ReadonlyMap<LinkId, DecoderSink>) {
		this.#spec = spec;
		this.#sink = sink;
		this.#captures = captures;
	}

	push(chunk: Buffer): void {
		const capture = this.#capture();
		capture?.write(chunk);
		if (!capture || capture.unwrittenBytes < FEED_HIGH_WATER_BYTES) return;
		this.#sink.hold(true);
		capture.whenWrittenTo(FEED_LOW_WATER_BYTES, () => this.#sink.hold(false));
	}

	end(): void {
		this.#capture()?.endInput();
	}

	/** Told once: a recorder that goes on behind the end of its capture would say so with every chunk. */
	#capture(): DecoderSink | undefined {
		const capture = this.#captures.get(this.#spec.into);
		if (!capture && !this.#isMissNoted) {
			this.#isMissNoted = true;
			this.#sink.log(
				`link ${this.#sink.link} feeds link ${this.#spec.into}, which is no capture; its sound is dropped`,
			);
		}
		return capture;
	}
}

async function encodedFile(spec: CaptureSpec, exit: RunExit): Promise<CaptureResult["encoded"]> {
	const { mimeType, check } = CONTAINERS[spec.container];
	const read = await readRecording(spec.path);
	const checked = read.ok ? check(read.file) : read;
	if (!read.ok || !checked.ok) {
		const text = checked.ok ? "" : checked.problem;
		return { ok: false, problem: `${text}${exitSentence(exit)}` };
	}
	const { file } = read;
	const base64 = spec.container === "ogg" ? toBase64(file) : null;
	return { ok: true, mimeType, durationMs: checked.durationMs, byteLength: file.length, base64 };
}

type Read = { readonly ok: true; readonly file: Buffer } | { readonly ok: false; readonly problem: string };

async function readRecording(path: string): Promise<Read> {
	try {
		const handle = await open(path);
		try {
			const { size } = await handle.stat();
			if (size > MAX_FILE_BYTES) return { ok: false, problem: `The recording is larger than ${MAX_FILE_BYTES} bytes.` };
			return { ok: true, file: await handle.readFile() };
		} finally {
			await handle.close();
		}
	} catch (error) {
		const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
		return {
			ok: false,
			problem: isMissing ? "ffmpeg wrote no file." : `The recording cannot be read: ${String(error)}.`,
		};
	}
}

/** Says how ffmpeg ended where that is no ordinary end. */
function exitSentence({ code, signal }: RunExit): string {
	if (signal !== null) return ` ffmpeg was ended by ${signal}.`;
	return code === 0 || code === INTERRUPTED_CODE ? "" : ` ffmpeg ended with code ${code}.`;
}

/** As ASCII bytes that alone fill their buffer. */
function toBase64(file: Buffer): Uint8Array<ArrayBuffer> {
	const text = file.toString("base64");
	const bytes = new Uint8Array(text.length);
	Buffer.from(bytes.buffer).write(text, "latin1");
	return bytes;
}
