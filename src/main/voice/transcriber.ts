/**
 * What turns a recording into text, and the rules that hold for every way of doing it: a time limit, an end on request, one
 * more try when the cause may be gone in a moment, and never an empty answer. A way of its own is a file beside this one.
 */

import { setTimeout as delay } from "node:timers/promises";
import { AgyError, toError } from "../../shared/errors.ts";
import { redact } from "../../shared/redact.ts";
import { toPlainText } from "../plain-text.ts";
import { excerptOf } from "./excerpt.ts";

export type Recorded = {
	readonly mimeType: "audio/ogg" | "audio/wav";
	readonly durationMs: number;
	/** Absolute, mode 0600, deleted by its owner after the transcription. */
	readonly path: string;
	/** The whole file in base64, as ASCII bytes; null for WAV. */
	readonly base64: Uint8Array | null;
};

export type Transcriber = {
	readonly name: "gemini" | "command" | "agy";
	/**
	 * The text that was spoken. Fails with an AgyError: `transcription-failed`, or `cancelled` after an abort. `isTransient`
	 * in its details says that another try may succeed, `retryAfterMs` when.
	 */
	transcribe(recorded: Recorded, signal: AbortSignal): Promise<string>;
};

export type TranscriptionLimits = {
	/** The least time a transcription gets, in milliseconds. */
	readonly timeLimitMs: number;
	/** The wait before the second try where nothing says how long. */
	readonly retryWaitMs: number;
	/** A longer wait is not waited: a person sits before the screen. */
	readonly maxRetryWaitMs: number;
};

/** A minute is long for a service, and short for a local program that has to load its model first. */
const LIMITS: TranscriptionLimits = { timeLimitMs: 60_000, retryWaitMs: 1_000, maxRetryWaitMs: 5_000 };

/** A long recording gets its own length on top: local programs on a small machine work at about the pace of speech. */
export function timeLimitMs(recorded: Recorded, leastMs: number = LIMITS.timeLimitMs): number {
	return leastMs + recorded.durationMs;
}

/** The transcriber with the rules above. All of its failures are AgyErrors that may be shown. */
export function withRules(transcriber: Transcriber, limits: TranscriptionLimits = LIMITS): Transcriber {
	return {
		name: transcriber.name,
		async transcribe(recorded, signal) {
			if (signal.aborted) throw cancelled();
			const limitMs = timeLimitMs(recorded, limits.timeLimitMs);
			const cut = new AbortController();
			const interrupted = new Promise<never>((_resolve, reject) => {
				cut.signal.addEventListener("abort", () => reject(cut.signal.reason), { once: true });
			});
			const onAbort = () => cut.abort(cancelled());
			const timer = setTimeout(() => cut.abort(tooSlow(transcriber.name, limitMs)), limitMs);
			signal.addEventListener("abort", onAbort, { once: true });
			try {
				const text = await Promise.race([attempt(transcriber, recorded, limits, cut.signal), interrupted]);
				return toText(text);
			} catch (error) {
				throw cut.signal.aborted ? cut.signal.reason : toShown(error);
			} finally {
				clearTimeout(timer);
				signal.removeEventListener("abort", onAbort);
			}
		},
	};
}

async function attempt(
	transcriber: Transcriber,
	recorded: Recorded,
	limits: TranscriptionLimits,
	signal: AbortSignal,
): Promise<string> {
	try {
		return await transcriber.transcribe(recorded, signal);
	} catch (error) {
		const waitMs = retryWaitMs(error, limits);
		if (waitMs === null || signal.aborted) throw error;
		await delay(waitMs, undefined, { signal });
		return await transcriber.transcribe(recorded, signal);
	}
}

/** Null where no second try makes sense. */
function retryWaitMs(error: unknown, limits: TranscriptionLimits): number | null {
	if (!(error instanceof AgyError) || error.details.isTransient !== true) return null;
	const { retryAfterMs } = error.details;
	const waitMs = typeof retryAfterMs === "number" ? retryAfterMs : limits.retryWaitMs;
	return waitMs <= limits.maxRetryWaitMs ? waitMs : null;
}

/** It goes into an editor: no control sequences. */
function toText(answer: string): string {
	const text = toPlainText(answer).trim();
	if (text !== "") return text;
	throw new AgyError(
		"transcription-failed",
		"Nothing was understood in the recording. Speak closer to the microphone, or check which one is used: voiceInput sets it.",
	);
}

function toShown(error: unknown): AgyError {
	if (error instanceof AgyError) {
		return new AgyError(error.code, redact(error.message), { cause: error.cause, details: error.details });
	}
	return new AgyError(
		"transcription-failed",
		`The recording could not be transcribed: ${excerptOf(toError(error).message)}. Try again, or set another voiceTranscriber.`,
	);
}

export function cancelled(): AgyError {
	return new AgyError("cancelled", "The transcription was cancelled.");
}

export function tooSlow(name: Transcriber["name"], limitMs: number): AgyError {
	const remedy =
		name === "command"
			? "Give voiceCommand a smaller model"
			: "Try again, record less at a time, or set another voiceTranscriber";
	return new AgyError(
		"transcription-failed",
		`The transcription took longer than ${Math.round(limitMs / 1000)} s and was stopped. ${remedy}.`,
	);
}
