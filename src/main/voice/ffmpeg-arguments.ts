/**
 * What ffmpeg is told. Every option means the same from ffmpeg 4.1 to 7.
 *
 * A recording has two outputs, each with filters of its own: in one common graph ffmpeg 7 holds the PCM back for as long
 * as silence is all that the other branch gets, and no level would move before the first word.
 *
 * `-nostdin` is not among the options: ffmpeg 7.0 then takes no signal any more, and its file would never be finished.
 * Without it ffmpeg looks for keys on stdin, where nobody writes any; with `pipe:0` as input it does not by itself.
 */

import { type AudioContainer, SAMPLE_RATE_HZ } from "../../shared/audio.ts";

export type Capturing = {
	/** ffmpeg's options for the input and the input itself: `["-f", "pulse", "-i", "default"]`, `["-i", "pipe:0"]`. */
	readonly input: readonly string[];
	readonly container: AudioContainer;
	/** What is written, absolute; replaced when it exists. */
	readonly path: string;
	/** ffmpeg ends by itself after this much sound, silence included. */
	readonly maxSeconds: number;
};

/** Below this it is silence. Quiet speech close to a microphone is above -40 dB, a fan or a street below -50. */
const SILENCE_DB = -45;
/** Kept in front of a word, whose first consonant may be below the threshold. */
const KEPT_BEFORE_SECONDS = 0.2;
/** A pause up to this long stays as it is: it tells sentences apart. */
const PAUSE_SECONDS = 1;
/**
 * The span whose loudness counts. So much stays behind a word, as the word is still in it: `stop_silence` would say so
 * directly, but ffmpeg 4.1 then loses the short pauses within speech.
 */
const WINDOW_SECONDS = 0.2;
/** Speech at 16 kHz needs no more. */
const BITRATE = "24k";

/** Samples are counted anew, so that a microphone's uneven time stamps leave no gaps. */
const TO_MONO = `aresample=${SAMPLE_RATE_HZ},aformat=sample_fmts=s16:channel_layouts=mono,asetpts=N/SR/TB`;
const WITHOUT_SILENCE = [
	"silenceremove=start_periods=1",
	`start_threshold=${SILENCE_DB}dB`,
	`start_silence=${KEPT_BEFORE_SECONDS}`,
	"stop_periods=-1",
	`stop_duration=${PAUSE_SECONDS}`,
	`stop_threshold=${SILENCE_DB}dB`,
	`window=${WINDOW_SECONDS}`,
].join(":");

const ENCODERS: Readonly<Record<AudioContainer, readonly string[]>> = {
	ogg: ["-c:a", "libopus", "-application", "voip", "-b:a", BITRATE, "-f", "ogg"],
	wav: ["-c:a", "pcm_s16le", "-f", "wav"],
};

/** PCM as it is heard on stdout, and the recording without its silence at `path`. SIGINT finishes it. */
export function captureArguments({ input, container, path, maxSeconds }: Capturing): readonly string[] {
	return [
		...["-hide_banner", "-loglevel", "warning", "-y"],
		...["-t", `${maxSeconds}`, ...input],
		// Flushed with every packet: levels must be live.
		...["-map", "0:a:0", "-af", TO_MONO, "-c:a", "pcm_s16le", "-f", "s16le", "-flush_packets", "1", "pipe:1"],
		...["-map", "0:a:0", "-af", `${TO_MONO},${WITHOUT_SILENCE}`, ...ENCODERS[container], path],
	];
}

/** Two tones each: rising when a recording starts, falling when it stops. In Hz. */
const CHIMES = { start: [660, 880], stop: [880, 660] } as const;
const TONE_SECONDS = 0.05;
/** A tone that starts or ends within a wave clicks. */
const FADE_SECONDS = 0.01;
/** A quarter of full scale: to be noticed, not to startle. */
const AMPLITUDE = 0.25;

/** Plays a sound of a tenth of a second to `output`: `["-f", "pulse", "default"]`, `["-f", "wav", path]`. */
export function chimeArguments(chime: {
	readonly output: readonly string[];
	readonly which: "start" | "stop";
}): readonly string[] {
	const tones = CHIMES[chime.which].map((hz) => {
		const fadeOut = `afade=t=out:st=${TONE_SECONDS - FADE_SECONDS}:d=${FADE_SECONDS}`;
		const tone = `aevalsrc=exprs=${AMPLITUDE}*sin(2*PI*${hz}*t):s=48000:d=${TONE_SECONDS}`;
		return `${tone},afade=t=in:d=${FADE_SECONDS},${fadeOut}`;
	});
	const graph = `${tones.map((tone, index) => `${tone}[t${index}]`).join(";")};[t0][t1]concat=n=2:v=0:a=1`;
	return ["-hide_banner", "-nostdin", "-loglevel", "warning", "-y", "-f", "lavfi", "-i", graph, ...chime.output];
}
