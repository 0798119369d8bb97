/**
 * The fall-back engine, for an agy whose stream-json cannot be used: each turn is a run of `agy -p`, and what it says and
 * does is read from the conversation database that it writes (docs/protocols/agy-database.md).
 */

import { MIN_LEGACY_AGY_VERSION, PRINT_TIMEOUT } from "../../shared/limits.ts";
import type { Engine, Profile, PromptPayload } from "./engine.ts";

export const legacySqliteEngine: Engine = {
	id: "legacy-sqlite",
	laneKind: "poll",
	requires: { version: MIN_LEGACY_AGY_VERSION, flags: ["print", "model", "conversation"] },
	isOneShot: true,
	args,
	payload: (prompt) => ({ event: "user", message: { role: "user", content: prompt } }),
	encodePrompt: (payload) => payload.message.content,
	parsePayload,
};

/** `--print=` and not `-p`: a prompt that begins with a dash is a value there too. */
function args(profile: Profile, conversationId: string | null, prompt: string): readonly string[] {
	const { mode, agent } = profile;
	const given = (flag: string, ...values: readonly string[]) =>
		profile.missingFlags.includes(flag) ? [] : [`--${flag}`, ...values];
	return [
		// Where agy has it, its first line names the conversation and its last one how the turn ended.
		...given("output-format", "stream-json"),
		...[profile.cwd, ...profile.addDirs].flatMap((directory) => ["--add-dir", directory]),
		...["--model", profile.modelSlug],
		...(mode === "default" ? [] : given("mode", mode)),
		...(agent === null ? [] : given("agent", agent)),
		...(profile.skipPermissions && mode !== "plan" ? given("dangerously-skip-permissions") : []),
		...(conversationId === null ? [] : ["--conversation", conversationId]),
		...(mode === "plan" ? [] : given("disable-slash-commands")),
		...given("print-timeout", PRINT_TIMEOUT),
		...profile.extraArgs,
		`--print=${prompt}`,
	];
}

function parsePayload(value: unknown): PromptPayload | null {
	const content = (value as { message?: { content?: unknown } } | null | undefined)?.message?.content;
	return typeof content === "string" ? legacySqliteEngine.payload(content) : null;
}
