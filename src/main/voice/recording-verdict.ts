/** What a capture that is over is worth: its encoded sound, or why nothing is made of it. Pure. */

import type { CaptureResult } from "../../shared/audio.ts";
import { AgyError } from "../../shared/errors.ts";
import type { CaptureEnd } from "./capture.ts";
import { lastLine } from "./recorders.ts";

/** A key pressed by mistake, or twice. */
const MIN_CAPTURE_MS = 300;
/** What is left when silence is taken out; a short "yes" is longer. */
const MIN_SPEECH_MS = 100;
/** Speech into a bad microphone lies above it, the noise of a muted one below. */
export const SILENCE_DB = -50;

export type Encoded = Extract<CaptureResult["encoded"], { readonly ok: true }>;

/** The encoded sound. Throws `recording-failed` with what is wrong with it, and what the capture failed with. */
export function judgeRecording({ result, stderr, failure, exit }: CaptureEnd, source: "microphone" | "file"): Encoded {
	if (failure) throw failure;
	if (result === null) throw failed("The recording was lost: ffmpeg ended before it was ready. Record again.");
	const { encoded, capturedMs, loudestDb } = result;
	const isFile = source === "file";
	if (isFile && capturedMs === 0)
		throw failed(`The file holds no sound that ffmpeg can read: ${lastLine(stderr) || "it is empty"}.`);
	if (capturedMs < MIN_CAPTURE_MS)
		throw failed(`The ${isFile ? "file" : "recording"} is too short (${Math.round(capturedMs)} ms). Nothing was sent.`);
	if (loudestDb < SILENCE_DB)
		throw failed(
			`Nothing was heard (the loudest was ${Math.round(loudestDb)} dB). ${isFile ? "Nothing was sent." : "Check that the right microphone is used (voiceInput sets it) and not muted. Nothing was sent."}`,
		);
	if (!encoded.ok) {
		const how = exit?.signal ? `ffmpeg was ended by ${exit.signal}` : lastLine(stderr) || encoded.problem;
		throw failed(`The recording is damaged: ${how}. Record again.`);
	}
	if (encoded.durationMs < MIN_SPEECH_MS) throw failed("Nothing but silence was recorded. Nothing was sent.");
	return encoded;
}

function failed(message: string): AgyError {
	return new AgyError("recording-failed", message);
}
