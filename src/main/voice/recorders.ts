/** What can record on this machine, in the order in which it is tried, and what a failed recorder has to say. Pure but for the question to ffmpeg. */

import { AgyError } from "../../shared/errors.ts";
import { redact } from "../../shared/redact.ts";
import type { VoiceConfig } from "../config.ts";
import { toPlainText } from "../plain-text.ts";
import type { CommandResult } from "../processes/run.ts";

export type Recorder = {
	/** As doctor and messages name it. */
	readonly name: string;
	/** ffmpeg's input, as its arguments. */
	readonly input: readonly string[];
	/** Program and arguments that feed ffmpeg; empty when ffmpeg records by itself. */
	readonly program: readonly string[];
	/** ffmpeg's output for sounds, as its arguments; null when it has none there. */
	readonly output: readonly string[] | null;
};

/** Runs ffmpeg with these arguments to its end. */
export type AskFfmpeg = (args: readonly string[]) => Promise<CommandResult>;

export const FFMPEG_HINT =
	"Install ffmpeg (Debian, Ubuntu: apt install ffmpeg; macOS: brew install ffmpeg; Windows: winget install ffmpeg), or set voiceFfmpeg to its path.";

/**
 * What a program gives is looked at for half a second in place of five, or nothing would move on the screen meanwhile.
 * In microseconds. WAV alone takes 128 KB whatever is said here: four seconds of 16 kHz.
 */
const PIPE_INPUT = ["-analyzeduration", "500000", "-i", "pipe:0"];

/** The configured input or recorder alone, else those of the system that this ffmpeg knows. Throws `recording-failed` when there is none. */
export async function findRecorders(
	{ input, recorder, output }: Pick<VoiceConfig, "input" | "recorder" | "output">,
	platform: NodeJS.Platform,
	ask: AskFfmpeg,
): Promise<readonly Recorder[]> {
	const sink = output.length > 0 ? output : null;
	if (recorder.length > 0)
		return [{ name: `the program ${recorder[0]}`, input: PIPE_INPUT, program: recorder, output: sink }];
	if (input.length > 0) return [{ name: "the input of voiceInput", input, program: [], output: sink }];
	const devices = parseDevices(await ask(["-hide_banner", "-devices"]));
	const found = (await systemRecorders(platform, ask)).filter(({ format }) => devices.has(format));
	if (found.length > 0) return found.map(({ format: _, ...rest }) => ({ ...rest, output: sink ?? rest.output }));
	throw new AgyError(
		"recording-failed",
		`This ffmpeg cannot record: it was built without ${platform === "darwin" ? "AVFoundation" : platform === "win32" ? "DirectShow, or there is no microphone" : "PulseAudio and ALSA"}. Install a full ffmpeg, or set voiceRecorder to a program that records.`,
	);
}

async function systemRecorders(
	platform: NodeJS.Platform,
	ask: AskFfmpeg,
): Promise<readonly (Recorder & { readonly format: string })[]> {
	if (platform === "darwin") {
		const input = ["-f", "avfoundation", "-i", ":default"];
		return [{ name: "AVFoundation", format: "avfoundation", input, program: [], output: ["-f", "audiotoolbox", "-"] }];
	}
	if (platform === "win32") {
		// DirectShow has no default device; the list is an error for ffmpeg, and stands on stderr.
		const listed = await ask(["-hide_banner", "-list_devices", "true", "-f", "dshow", "-i", "dummy"]);
		return parseMicrophones(listed.ok ? listed.stderr : "").map((name) => ({
			...{ name: `DirectShow, ${name}`, format: "dshow", program: [], output: null },
			input: ["-f", "dshow", "-i", `audio=${name}`],
		}));
	}
	return [
		{ name: "PulseAudio or PipeWire", format: "pulse", device: "default" },
		{ name: "ALSA", format: "alsa", device: "default" },
	].map(({ name, format, device }) => ({
		...{ name, format, program: [], input: ["-f", format, "-i", device] },
		output: format === "pulse" ? ["-f", "pulse", "pi"] : ["-f", "alsa", device],
	}));
}

/** ` D  pulse   Pulse audio input` and ` DE alsa  ...`: the names of what can be read. */
export function parseDevices(result: CommandResult): ReadonlySet<string> {
	const lines = result.ok ? result.stdout.split(/\r?\n/) : [];
	return new Set(lines.flatMap((line) => /^ D[E ] (\S+)/.exec(line)?.[1]?.split(",") ?? []));
}

/** `[dshow @ 0x..] "Microphone (USB)" (audio)`, and the older form with a heading above the names. */
export function parseMicrophones(stderr: string): readonly string[] {
	const names: string[] = [];
	let isAudio = false;
	for (const line of stderr.split(/\r?\n/)) {
		if (/DirectShow (audio|video) devices/.test(line)) isAudio = line.includes("audio devices");
		const [, name, kind] = /"([^"@][^"]*)"(?: \((audio|video)[^)]*\))?\s*$/.exec(line) ?? [];
		if (
			name !== undefined &&
			(kind === "audio" || (kind === undefined && isAudio)) &&
			!line.includes("Alternative name")
		)
			names.push(name);
	}
	return names;
}

type Failure = "busy" | "refused" | "missing" | "other";

const FAILURES: readonly (readonly [Failure, RegExp])[] = [
	["busy", /device or resource busy|resource busy|in use by another|already in use/i],
	["refused", /permission denied|operation not permitted|not authorized|access is denied|access denied/i],
	[
		"missing",
		/connection refused|no such (file|device|process|entity)|cannot find card|unknown (pcm|input format)|input\/output error|could not (find|enumerate)|invalid (device|argument)|cannot open audio device/i,
	],
];

/** What ffmpeg's last words mean. */
export function classify(stderr: string): Failure {
	return FAILURES.find(([, pattern]) => pattern.test(stderr))?.[0] ?? "other";
}

/** One sentence and the remedy for recorders that all failed: that of the one that came closest to recording. */
export function toRecordingError(tried: readonly { readonly name: string; readonly stderr: string }[]): AgyError {
	const failures = tried.map(({ name, stderr }) => ({ name, stderr, failure: classify(stderr) }));
	const order: readonly Failure[] = ["busy", "refused", "other", "missing"];
	const [worst] = failures.sort((a, b) => order.indexOf(a.failure) - order.indexOf(b.failure));
	const names = tried.map(({ name }) => name).join(", ");
	if (worst?.failure === "busy")
		return failed(
			`The microphone is in use by another program (${worst.name}). Close that program, or choose another input with voiceInput.`,
		);
	if (worst?.failure === "refused")
		return failed(
			`pi may not use the microphone (${worst.name}). Allow it: on macOS and Windows in the privacy settings for your terminal, on Linux by joining the group "audio".`,
		);
	if (worst?.failure === "other")
		return failed(
			`Recording failed (${worst.name}): ${lastLine(worst.stderr) || "nothing was heard and nothing was said why"}. Check the microphone, or set voiceInput.`,
		);
	return failed(
		`No microphone was found (tried ${names}). Connect one, or set voiceInput (ffmpeg's input) or voiceRecorder (a program that records).`,
	);
}

/** A recording whose sound has stopped to come, though nothing has ended. */
export function stalled({ name, program }: Recorder, stallMs: number): AgyError {
	const remedy =
		program.length > 0
			? "Run that program in a terminal to see what it waits for, or change voiceRecorder"
			: "Check that the microphone is still connected, or choose another with voiceInput";
	return failed(
		`The recording was given up, for no sound has come from ${name} for ${stallMs / 1_000} s. ${remedy}, then record again.`,
	);
}

/** What ffmpeg, arecord and sox print while all is well, or at any end. */
const HARMLESS: readonly RegExp[] = [
	/^Press \[q\]|^Exiting normally|^Received >? ?\d|^Last message repeated/i,
	/Guessed Channel Layout|Estimating duration from bitrate|Timestamps are unset|non[- ]monoton|Queue input is backward/i,
	/Thread message queue blocking|ALSA buffer xrun|is deprecated|Discarding ID3|Past duration|No bit rate set|detected only with low score|Ignoring maximum wav data size|^To ignore this/i,
	/^(\[[^\]]*\] )?(size|video|frame)[=:] *(\d|N\/A)|^(Input|Output) #\d|^Stream (#|mapping)|^(Duration|Metadata|encoder) *:/i,
	/^Recording (WAVE|raw data)|^Aborted by signal|^In:\s*[\d.]+%|^Done\.$/i,
];
/** What only repeats that it failed. */
const VAGUE =
	/^Conversion failed|^Error opening (input|output)|^Error parsing options|^Failed to set value|Output file (is empty|#\d+ does not contain)|^Nothing was written|^Finishing stream|^\[out#|^Task finished|^Terminating thread|: (Invalid (argument|data found when processing input)|Input\/output error)\.?$/i;

/** The last line that says why, else the last that is not harmless; without a full stop. "" when there is none. */
export function lastLine(stderr: string): string {
	const lines = toPlainText(stderr.replaceAll("\r", "\n"))
		.split("\n")
		.map((line) => line.trim())
		.filter((line) => line !== "" && !HARMLESS.some((pattern) => pattern.test(line)));
	const reason = lines.findLast((line) => !VAGUE.test(line)) ?? lines.at(-1) ?? "";
	return redact(reason).slice(0, 200).replace(/\.$/, "");
}

function failed(message: string): AgyError {
	return new AgyError("recording-failed", message);
}
