/** What main and the audio lane know together about sound. */

/** 16 kHz mono, what transcribers work with; each sample a little-endian signed 16-bit integer. */
export const SAMPLE_RATE_HZ = 16_000;
export const BYTES_PER_SAMPLE = 2;

/** What is reported for digital silence, and the least that is reported at all, in dB of full scale. */
export const FLOOR_DB = -100;

/** Opus in Ogg is a tenth of WAV's size; WAV is what every local transcriber reads. */
export type AudioContainer = "ogg" | "wav";

/** One span of sound, in dB of full scale: 0 is the loudest there is, FLOOR_DB the least. */
export type Level = { readonly rmsDb: number; readonly peakDb: number };

/** What came of a capture. */
export type CaptureResult = {
	/** Milliseconds that were heard, before silence was taken out. */
	readonly capturedMs: number;
	/** The RMS of the loudest span that levels were reported for, in dB of full scale. */
	readonly loudestDb: number;
	readonly encoded:
		| {
				readonly ok: true;
				readonly mimeType: "audio/ogg" | "audio/wav";
				/** Milliseconds that are left without silence, as the container says. */
				readonly durationMs: number;
				readonly byteLength: number;
				/** The whole file in base64, as ASCII bytes; null for WAV, which only programs of this machine read, by its path. */
				readonly base64: Uint8Array | null;
		  }
		/** The file is missing, torn or no such container. */
		| { readonly ok: false; readonly problem: string };
};
