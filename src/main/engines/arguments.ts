/** What both ways of starting agy have in common: the arguments of a profile, and the payload that pi's hook sees. Pure. */

import { PRINT_TIMEOUT } from "../../shared/limits.ts";
import type { Profile, PromptPayload } from "./engine.ts";

/** A flag with its values; nothing where this agy does not have it. */
export function given({ missingFlags }: Profile, flag: string, ...values: readonly string[]): readonly string[] {
	return missingFlags.includes(flag) ? [] : [`--${flag}`, ...values];
}

export function profileArgs(profile: Profile, conversationId: string | null): readonly string[] {
	const { mode, agent } = profile;
	return [
		...[profile.cwd, ...profile.addDirs].flatMap((directory) => ["--add-dir", directory]),
		...["--model", profile.modelSlug],
		...(mode === "default" ? [] : given(profile, "mode", mode)),
		...(agent === null ? [] : given(profile, "agent", agent)),
		// In plan mode the flag would let agy edit: the mode is ignored under it.
		...(profile.skipPermissions && mode !== "plan" ? given(profile, "dangerously-skip-permissions") : []),
		...(conversationId === null ? [] : ["--conversation", conversationId]),
		// A user text that begins with "/" is text. Plan mode is a slash command inside agy and dies with them.
		...(mode === "plan" ? [] : given(profile, "disable-slash-commands")),
		...given(profile, "print-timeout", PRINT_TIMEOUT),
		...profile.extraArgs,
	];
}

export function toPayload(prompt: string): PromptPayload {
	return { event: "user", message: { role: "user", content: prompt } };
}

export function parsePayload(value: unknown): PromptPayload | null {
	const content = (value as { message?: { content?: unknown } } | null | undefined)?.message?.content;
	return typeof content === "string" ? toPayload(content) : null;
}
