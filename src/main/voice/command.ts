/**
 * Transcription by a local program, whisper.cpp for one: the recording never leaves the machine. The program gets the
 * file's path and prints the text.
 */

import { AgyError } from "../../shared/errors.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import { runCommand } from "../processes/run.ts";
import { fillIn, hasMark, programProblem } from "./program.ts";
import { cancelled, type Recorded, type Transcriber, timeLimitMs, tooSlow } from "./transcriber.ts";

/** Hours of speech as text, beside what such programs print about themselves. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** whisper.cpp writes hours, openai-whisper leaves them out below one. */
const TIME_STAMP = /^\s*\[(?:\d+:)?\d\d:\d\d[.,]\d{3} --> (?:\d+:)?\d\d:\d\d[.,]\d{3}\]\s*/;
/** What whisper prints for a stretch without speech. */
const NO_SPEECH = /\[\s*(?:BLANK_AUDIO|silence|no speech)\s*\]/gi;

export type CommandOptions = {
	/**
	 * The program and its arguments; no shell. `{file}` in an argument is the recording's path, which comes last where no
	 * argument holds it; `{language}` is the language.
	 */
	readonly command: readonly string[];
	/** As the program names it. Default: auto, whisper's word for finding out. */
	readonly language?: string | null;
	readonly env: Readonly<Record<string, string>>;
	readonly registry: ProcessRegistry;
};

export function commandTranscriber(options: CommandOptions): Transcriber {
	return { name: "command", transcribe: (recorded, signal) => transcribe(options, recorded, signal) };
}

async function transcribe(options: CommandOptions, recorded: Recorded, signal: AbortSignal): Promise<string> {
	const { command } = options;
	if (!command[0]) throw failed("No program for transcription is set");
	const withFile = hasMark(command, "file") ? command : [...command, "{file}"];
	const { bin, args } = fillIn(withFile, { file: recorded.path, language: options.language || "auto" });
	const timeoutMs = timeLimitMs(recorded);
	const result = await runCommand(
		{ bin, args, env: options.env, timeoutMs, maxBytes: MAX_OUTPUT_BYTES, signal },
		options.registry,
	);
	if (!result.ok && result.reason === "cancelled") throw cancelled();
	if (!result.ok && result.reason === "timeout") throw tooSlow("command", timeoutMs);
	const problem = programProblem(bin, result);
	if (problem !== null) throw failed(problem);
	return result.ok ? toTranscript(result.stdout) : "";
}

/** Lines with time stamps are pieces of one text; other lines are the program's own lay-out and stay. */
function toTranscript(stdout: string): string {
	const lines = stdout.split(/\r?\n/);
	const text = lines.some((line) => TIME_STAMP.test(line))
		? lines
				.map((line) => line.replace(TIME_STAMP, "").trim())
				.filter((line) => line !== "")
				.join(" ")
		: stdout;
	return text.replaceAll(NO_SPEECH, "").trim();
}

function failed(problem: string): AgyError {
	return new AgyError(
		"transcription-failed",
		`${problem}. Run voiceCommand in a terminal to see what it needs; /agy set voiceCommand changes it.`,
	);
}
