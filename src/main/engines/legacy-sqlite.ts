/**
 * The fall-back engine, for an agy whose stream-json cannot be used: each turn is a run of `agy -p`, and what it says and
 * does is read from the conversation database that it writes (docs/protocols/agy-database.md).
 */

import { MIN_LEGACY_AGY_VERSION } from "../../shared/limits.ts";
import { given, parsePayload, profileArgs, toPayload } from "./arguments.ts";
import type { Engine, Profile } from "./engine.ts";

export const legacySqliteEngine: Engine = {
	id: "legacy-sqlite",
	laneKind: "poll",
	requires: { version: MIN_LEGACY_AGY_VERSION, flags: ["print", "model", "conversation"] },
	isOneShot: true,
	args,
	payload: toPayload,
	encodePrompt: (payload) => payload.message.content,
	parsePayload,
};

/** `--print=` and not `-p`: a prompt that begins with a dash is a value there too. */
function args(profile: Profile, conversationId: string | null, prompt: string): readonly string[] {
	return [
		// Where agy has it, its first line names the conversation and its last one how the turn ended.
		...given(profile, "output-format", "stream-json"),
		...profileArgs(profile, conversationId),
		`--print=${prompt}`,
	];
}
