/** The sounds at the start and the end of a recording. Where there is no sink they are silently not heard: they are a comfort, not an answer. */

import type { LogLevel } from "../../shared/lane-control.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import { runCommand } from "../processes/run.ts";
import { chimeArguments } from "./ffmpeg-arguments.ts";
import { lastLine } from "./recorders.ts";

/** A sound is a tenth of a second long; a sound server that has to start takes the rest. */
const CHIME_TIMEOUT_MS = 3_000;
const CHIME_MAX_BYTES = 64 * 1024;

export type Chime = {
	readonly which: "start" | "stop";
	readonly ffmpeg: string;
	/** ffmpeg's output, as its arguments. */
	readonly output: readonly string[];
	readonly env: Readonly<Record<string, string>>;
};

/** Plays it to its end. Never rejects. */
export async function playChime(
	{ which, ffmpeg, output, env }: Chime,
	registry: ProcessRegistry,
	log: (level: LogLevel, text: string) => void,
): Promise<void> {
	const args = chimeArguments({ output, which });
	const limits = { timeoutMs: CHIME_TIMEOUT_MS, maxBytes: CHIME_MAX_BYTES };
	const played = await runCommand({ bin: ffmpeg, args, env, ...limits }, registry);
	if (played.ok && played.code === 0) return;
	log("info", `the ${which} sound was not played: ${played.ok ? lastLine(played.stderr) : played.error.message}`);
}
