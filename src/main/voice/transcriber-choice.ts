/** Which transcriber a recording goes to. Pure. */

import type { VoiceConfig } from "../config.ts";
import type { Transcriber } from "./transcriber.ts";

/**
 * Of "auto" the first that can work: the command, which somebody has set up for this and which keeps what is said here; Gemini
 * with a key; agy.
 */
export function transcriberNameOf(
	{ transcriber, command }: Pick<VoiceConfig, "transcriber" | "command">,
	hasKey: boolean,
): Transcriber["name"] {
	if (transcriber !== "auto") return transcriber;
	if (command.length > 0) return "command";
	return hasKey ? "gemini" : "agy";
}
