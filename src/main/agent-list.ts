/** Which custom agents agy has: what `agy agent` lists for a directory. */

import { AgyError } from "../shared/errors.ts";
import { MODELS_MAX_BYTES, MODELS_TIMEOUT_MS } from "../shared/limits.ts";
import type { Binary } from "./binary.ts";
import type { Config } from "./config.ts";
import type { ProcessRegistry } from "./processes/registry.ts";
import { runCommand } from "./processes/run.ts";

/** A name at the start of a line, alone or set off from what is said of it; not the first word of a sentence. */
const NAME = /^\s*[*-]?\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:$|\t| {2,}|: | - )/;

/** Their names; none when there are none. Throws `agy-failed`. */
export async function listAgents(
	{ path }: Binary,
	{ childEnv }: Config,
	cwd: string,
	registry: ProcessRegistry,
): Promise<readonly string[]> {
	const limits = { timeoutMs: MODELS_TIMEOUT_MS, maxBytes: MODELS_MAX_BYTES };
	const result = await runCommand({ bin: path, args: ["agent"], env: childEnv, cwd, ...limits }, registry);
	if (!result.ok || result.code !== 0) throw new AgyError("agy-failed", `\`${path} agent\` did not answer.`);
	return result.stdout.split("\n").flatMap((line) => NAME.exec(line)?.[1] ?? []);
}
