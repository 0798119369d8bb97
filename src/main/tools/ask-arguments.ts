/** The checks of a call of the delegation tool before anything is started: each error says what is allowed. */

import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { AgyError } from "../../shared/errors.ts";
import type { JsonObject } from "../../shared/events.ts";
import type { Binary } from "../binary.ts";
import type { Config } from "../config.ts";
import type { Profile } from "../engines/engine.ts";
import { type AskArguments, DEFAULT_TIMEOUT_MIN, MODES } from "./ask-parameters.ts";
import { requireSchema } from "./json-answer.ts";

type Mode = Profile["mode"];

/** agy's ids are UUIDs; other forms may come, an option or a path may not. */
const CONVERSATION_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

export type CheckedArguments = {
	readonly prompt: string;
	readonly cwd: string;
	readonly mode: Mode;
	readonly files: readonly string[];
	readonly conversationId: string | null;
	readonly schema: JsonObject | null;
	readonly timeoutMin: number;
};

/** Throws `bad-argument`. `sessionCwd` is absolute. */
export async function checkArguments(
	{ prompt, cwd, mode, files, conversationId, schema, timeoutMinutes }: AskArguments,
	config: Pick<Config, "mode" | "skipPermissions">,
	sessionCwd: string,
): Promise<CheckedArguments> {
	if (prompt.trim() === "") throw new AgyError("bad-argument", "prompt is empty. Say what agy is to do.");
	const directory = resolve(sessionCwd, expandHome(cwd ?? "."));
	const found = await stat(directory).catch(() => null); // Missing, or closed to us: no place to work either way.
	if (!found?.isDirectory()) throw new AgyError("bad-argument", `cwd is ${directory}, which is no directory.`);
	if (conversationId !== undefined && !CONVERSATION_ID.test(conversationId)) {
		const remedy = "Give the id that an earlier result ended with, or leave it out.";
		throw new AgyError("bad-argument", `conversationId ${JSON.stringify(conversationId)} is no id of agy. ${remedy}`);
	}
	if (schema !== undefined) requireSchema(schema as JsonObject);
	return {
		prompt,
		cwd: directory,
		mode: checkMode(mode ?? config.mode, config),
		files: await checkFiles(files ?? [], directory),
		conversationId: conversationId ?? null,
		schema: (schema as JsonObject | undefined) ?? null,
		timeoutMin: timeoutMinutes ?? DEFAULT_TIMEOUT_MIN,
	};
}

/** Throws `agy-too-old`: what was asked for must not be dropped in silence. */
export function requireFlags({ version, missingFlags }: Binary, mode: Mode, agent: string | null): void {
	const asked = [...(mode === "default" ? [] : ["mode"]), ...(agent === null ? [] : ["agent"])];
	const missing = asked.find((flag) => missingFlags.includes(flag));
	if (missing === undefined) return;
	throw new AgyError("agy-too-old", `agy ${version} has no --${missing}. Run \`agy update\`, or do without it.`);
}

/** A model may ask for less than the user's settings allow, never for more. */
function checkMode(mode: Mode, config: Pick<Config, "mode" | "skipPermissions">): Mode {
	const allowed = MODES.filter((candidate) => {
		if (candidate === config.mode || candidate === "plan") return true;
		if (config.mode === "plan") return false;
		return config.skipPermissions || candidate === "default"; // accept-edits allows writing that default does not.
	});
	if (allowed.includes(mode)) return mode;
	const why = `the user's settings are AGY_MODE=${config.mode}, AGY_SKIP_PERMISSIONS=${config.skipPermissions ? "on" : "off"}`;
	throw new AgyError("bad-argument", `mode "${mode}" is not allowed: ${why}. Allowed: ${allowed.join(", ")}.`);
}

async function checkFiles(files: readonly string[], cwd: string): Promise<readonly string[]> {
	const paths = files.map((file) => resolve(cwd, expandHome(file)));
	for (const path of paths) {
		const isThere = await stat(path).then(
			() => true,
			() => false, // Missing, or closed to us and so to agy.
		);
		if (!isThere) throw new AgyError("bad-argument", `The file ${path} is not there. Correct files, or leave it out.`);
	}
	return paths;
}

function expandHome(path: string): string {
	return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
