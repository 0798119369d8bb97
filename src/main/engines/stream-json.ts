/** The default engine: one persistent agy process per session that takes and prints NDJSON (docs/protocols/agy-stream-json.md). */

import { MIN_AGY_VERSION, PRINT_TIMEOUT } from "../../shared/limits.ts";
import type { Engine, Profile, PromptPayload } from "./engine.ts";

export const streamJsonEngine: Engine = {
	id: "stream-json",
	laneKind: "decode",
	requires: {
		version: MIN_AGY_VERSION,
		flags: ["input-format", "output-format", "add-dir", "model", "conversation"],
	},
	isOneShot: false,
	args,
	payload: (prompt) => ({ event: "user", message: { role: "user", content: prompt } }),
	encodePrompt: (payload) => `${JSON.stringify(payload)}\n`,
	parsePayload,
};

/** No `-p`: it would make agy discard stdin or swallow the next flag as its prompt. */
function args(profile: Profile, conversationId: string | null): readonly string[] {
	const { mode, agent } = profile;
	const given = (flag: string, ...values: readonly string[]) =>
		profile.missingFlags.includes(flag) ? [] : [`--${flag}`, ...values];
	return [
		...["--input-format", "stream-json", "--output-format", "stream-json"],
		...[profile.cwd, ...profile.addDirs].flatMap((directory) => ["--add-dir", directory]),
		...["--model", profile.modelSlug],
		...(mode === "default" ? [] : given("mode", mode)),
		...(agent === null ? [] : given("agent", agent)),
		// In plan mode the flag would let agy edit: the mode is ignored under it.
		...(profile.skipPermissions && mode !== "plan" ? given("dangerously-skip-permissions") : []),
		...(conversationId === null ? [] : ["--conversation", conversationId]),
		// A user text that begins with "/" is text. Plan mode is a slash command inside agy and dies with them.
		...(mode === "plan" ? [] : given("disable-slash-commands")),
		...given("print-timeout", PRINT_TIMEOUT),
		...profile.extraArgs,
	];
}

function parsePayload(value: unknown): PromptPayload | null {
	const content = (value as { message?: { content?: unknown } } | null | undefined)?.message?.content;
	return typeof content === "string" ? streamJsonEngine.payload(content) : null;
}
