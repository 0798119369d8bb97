/** What can record on this machine, in the order in which it is tried, and what a failed recorder has to say. Pure but for the question to ffmpeg. */

import { AgyError } from "../../shared/errors.ts";
import { redact } from "../../shared/redact.ts";
import type { VoiceConfig } from "../config.ts";
import type { CommandResult } from "../processes/run.ts";
import { toPlainText } from "./plain-text.ts";

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

/** The configured input or recorder alone, else those of the system that this ffmpeg knows. Throws `recording-failed` when there is none. */
export async function findRecorders(
	{ input, recorder, output }: Pick<VoiceConfig, "input" | "recorder" | "output">,
	platform: NodeJS.Platform,
	ask: AskFfmpeg,
): Promise<readonly Recorder[]> {
	const sink = output.length > 0 ? output : null;
	if (recorder.length > 0)
		return [{ name: `the program ${recorder[0]}`, input: ["-i", "pipe:0"], program: recorder, output: sink }];
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

export function lastLine(stderr: string): string {
	return redact(toPlainText(stderr).trim().split("\n").at(-1)?.trim() ?? "").slice(0, 200);
}

function failed(message: string): AgyError {
	return new AgyError("recording-failed", message);
}
