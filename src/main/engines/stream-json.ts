/** The default engine: one persistent agy process per session that takes and prints NDJSON (docs/protocols/agy-stream-json.md). */

import { MIN_AGY_VERSION } from "../../shared/limits.ts";
import { parsePayload, profileArgs, toPayload } from "./arguments.ts";
import type { Engine, Profile } from "./engine.ts";

export const streamJsonEngine: Engine = {
	id: "stream-json",
	laneKind: "decode",
	requires: {
		version: MIN_AGY_VERSION,
		flags: ["input-format", "output-format", "add-dir", "model", "conversation"],
	},
	isOneShot: false,
	args,
	payload: toPayload,
	encodePrompt: (payload) => `${JSON.stringify(payload)}\n`,
	parsePayload,
};

/** No `-p`: it would make agy discard stdin or swallow the next flag as its prompt. */
function args(profile: Profile, conversationId: string | null): readonly string[] {
	return [
		...["--input-format", "stream-json", "--output-format", "stream-json"],
		...profileArgs(profile, conversationId),
	];
}
