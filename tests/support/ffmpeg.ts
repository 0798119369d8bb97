/** Real ffmpeg for tests: where it is, what a file sounds like, and sources of sound. */

import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { SAMPLE_RATE_HZ } from "../../src/shared/audio.ts";

/** A minute of sound is 2 MB. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

const require = createRequire(import.meta.url);

let foundPath: string | null = null;

/** The ffmpeg on PATH, else that of the dev dependency. Throws with what to install when there is neither. */
export function ffmpegPath(): string {
	foundPath ??= onPath("ffmpeg") ?? installedFfmpeg();
	return foundPath;
}

/** Runs ffmpeg to its end and answers what it printed. */
export function runFfmpeg(args: readonly string[]): Buffer {
	return execFileSync(ffmpegPath(), ["-hide_banner", "-nostdin", "-loglevel", "error", "-y", ...args], {
		maxBuffer: MAX_OUTPUT_BYTES,
		stdio: ["ignore", "pipe", "ignore"],
	});
}

/** The samples of a file at 16 kHz, mono. */
export function decodeToPcm(path: string): Int16Array {
	const bytes = runFfmpeg(["-i", path, "-f", "s16le", "-ar", `${SAMPLE_RATE_HZ}`, "-ac", "1", "pipe:1"]);
	return new Int16Array(new Uint8Array(bytes).buffer);
}

/** The loudest frequency between two, in Hz, to a fifth of a Hz: Goertzel's filter over a Hann window, step by step. */
export function spectralPeakHz(samples: Int16Array, fromHz: number, toHz: number): number {
	const windowed = Float64Array.from(
		samples,
		(sample, index) => sample * (1 - Math.cos((2 * Math.PI * index) / (samples.length - 1))),
	);
	const loudest = (from: number, to: number, stepHz: number) => {
		let best = { hz: from, power: -1 };
		for (let hz = from; hz <= to; hz += stepHz) {
			const power = powerAt(windowed, hz);
			if (power > best.power) best = { hz, power };
		}
		return best.hz;
	};
	const lobeHz = Math.max(0.2, SAMPLE_RATE_HZ / samples.length);
	const coarse = loudest(fromHz, toHz, lobeHz);
	return loudest(coarse - lobeHz, coarse + lobeHz, 0.2);
}

/** ffmpeg's input for `seconds` of tone at 1/8 of full scale, silent outside the given spans. */
export function toneInput(seconds: number, spans: readonly (readonly [from: number, to: number])[]): readonly string[] {
	const gate = spans.map(([from, to]) => `between(t,${from},${to})`).join("+");
	return ["-f", "lavfi", "-i", `aevalsrc=exprs='0.125*sin(2*PI*440*t)*(${gate})':s=48000:d=${seconds}`];
}

/**
 * ffmpeg's input for something like speech: espeak-ng's voice where it is installed, else four syllables a second, each
 * of a 120 Hz voice in the formants of an open vowel. `path` is where a voice is kept.
 */
export function speechInput(seconds: number, path: string): readonly string[] {
	const espeak = onPath("espeak-ng");
	if (espeak !== null) {
		execFileSync(espeak, [
			"-w",
			path,
			"One two three four five six seven eight nine ten. ".repeat(Math.ceil(seconds / 4)),
		]);
		return ["-i", path];
	}
	const partials = Array.from({ length: 24 }, (_, index) => {
		const hz = 120 * (index + 1);
		const near = [700, 1_220, 2_600].map((formant) => 1 / (1 + ((hz - formant) / 130) ** 2));
		return `${(0.12 * Math.max(...near)).toFixed(4)}*sin(2*PI*${hz}*t)`;
	});
	const syllables = "pow(max(0,sin(2*PI*4*t)),0.5)";
	return ["-f", "lavfi", "-i", `aevalsrc=exprs='${syllables}*(${partials.join("+")})':s=48000:d=${seconds}`];
}

function powerAt(samples: Float64Array, hz: number): number {
	const factor = 2 * Math.cos((2 * Math.PI * hz) / SAMPLE_RATE_HZ);
	let last = 0;
	let before = 0;
	for (const sample of samples) {
		const next = sample + factor * last - before;
		before = last;
		last = next;
	}
	return last * last + before * before - factor * last * before;
}

function onPath(name: string): string | null {
	for (const folder of (process.env.PATH ?? "").split(delimiter)) {
		const path = join(folder, name);
		try {
			accessSync(path, constants.X_OK);
			return path;
		} catch {} // not in this folder
	}
	return null;
}

function installedFfmpeg(): string {
	try {
		return (require("@ffmpeg-installer/ffmpeg") as { readonly path: string }).path;
	} catch (error) {
		throw new Error("There is no ffmpeg: install it, or the package @ffmpeg-installer/ffmpeg.", { cause: error });
	}
}
