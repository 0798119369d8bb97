/** What keeps voice from working as it was set up. What nobody has set up is no problem. */

import { toError } from "../../shared/errors.ts";
import type { Config } from "../config.ts";
import { toPlainText } from "../plain-text.ts";
import { problemOf } from "../programs.ts";
import { requireTranscriptionProgram } from "../voice/readiness.ts";

/** A sentence or two each, with the setting to change. */
export async function voiceProblemsOf({ voice, searchPath }: Pick<Config, "voice" | "searchPath">) {
	const { ffmpeg, command, transcriber } = voice;
	const problems: string[] = [];
	const ofFfmpeg = ffmpeg === null ? null : await problemOf(ffmpeg);
	if (ffmpeg !== null && ofFfmpeg !== null)
		problems.push(
			`voiceFfmpeg is ${toPlainText(ffmpeg)}, which ${ofFfmpeg === "missing" ? "does not exist" : ofFfmpeg}. Correct it, or /agy reset voiceFfmpeg.`,
		);
	if (transcriber === "command" || (transcriber === "auto" && command.length > 0))
		await requireTranscriptionProgram(command, searchPath).catch((error: unknown) =>
			problems.push(toError(error).message),
		);
	return problems;
}
