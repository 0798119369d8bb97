/** Whether the transcription program can be started, asked before anybody speaks in vain. */

import { isAbsolute, resolve } from "node:path";
import { AgyError } from "../../shared/errors.ts";
import { toPlainText } from "../plain-text.ts";
import { findProgram, problemOf } from "../programs.ts";

/** Throws `transcription-failed` with the setting to change. */
export async function requireTranscriptionProgram(
	command: readonly string[],
	searchPath: readonly string[],
): Promise<void> {
	const [bin] = command;
	if (!bin)
		throw failed(
			"voiceTranscriber is command, but voiceCommand is not set. Set it to a program and its arguments, such as whisper-cli -nt -f {file}.",
		);
	const problem = await problemOfProgram(bin, searchPath);
	if (problem !== null)
		throw failed(
			`voiceCommand starts ${toPlainText(bin)}, which ${problem}. Correct voiceCommand, or set another voiceTranscriber.`,
		);
}

/** A name without a folder is looked up as a shell does. */
async function problemOfProgram(bin: string, searchPath: readonly string[]): Promise<string | null> {
	if (!isAbsolute(bin) && !/[/\\]/.test(bin))
		return (await findProgram(bin, searchPath)) === null
			? "is in no folder of PATH as a program that can be run"
			: null;
	const problem = await problemOf(resolve(bin));
	return problem === "missing" ? "does not exist" : problem;
}

function failed(message: string): AgyError {
	return new AgyError("transcription-failed", message);
}
