/** Which transcriber a recording goes to. Pure. */

import type { VoiceConfig } from "../config.ts";
import type { Transcriber } from "./transcriber.ts";

/** Of "auto" the first that can work: Gemini with a key, the command, agy. */
export function transcriberNameOf(
	{ transcriber, command }: Pick<VoiceConfig, "transcriber" | "command">,
	hasKey: boolean,
): Transcriber["name"] {
	if (transcriber !== "auto") return transcriber;
	if (hasKey) return "gemini";
	return command.length > 0 ? "command" : "agy";
}
