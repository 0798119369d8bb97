/**
 * The simulator's own environment variables (AGY_SIM_*), read once at the start of the process.
 * Nothing else in the environment changes what the simulator does.
 */
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

export type Settings = {
	/** State folder, the stand-in for ~/.gemini and the CLI's folder in it. */
	readonly homePath: string;
	/** Name of a built-in scenario (`steady:deltas=10` style arguments allowed) or absolute path of a JSON file. */
	readonly scenario: string;
	/** Version to report; undefined leaves the choice to the scenario. */
	readonly version: string | undefined;
	/** Text speed; 0 is as fast as possible, undefined leaves the choice to the scenario. */
	readonly tokensPerSecond: number | undefined;
	/** Every write to stdout is cut into pieces of this many bytes; 0 is one write a line. */
	readonly chunkBytes: number;
	/** Whether the conversation database is written; undefined leaves the choice to the scenario. */
	readonly database: boolean | undefined;
};

class SettingsError extends Error {}

export function readSettings(env: NodeJS.ProcessEnv): Settings {
	return {
		homePath: env.AGY_SIM_HOME || join(tmpdir(), `agy-sim-${userInfo().uid}`),
		scenario: env.AGY_SIM_SCENARIO || "demo",
		version: env.AGY_SIM_VERSION || undefined,
		tokensPerSecond: readNumber(env, "AGY_SIM_TOKENS_PER_SECOND"),
		chunkBytes: readNumber(env, "AGY_SIM_CHUNK_BYTES") ?? 0,
		database: readSwitch(env, "AGY_SIM_DATABASE"),
	};
}

function readNumber(env: NodeJS.ProcessEnv, name: string): number | undefined {
	const text = env[name];
	if (!text) return undefined;
	const value = Number(text);
	if (!Number.isFinite(value) || value < 0) throw new SettingsError(`${name} must be a number >= 0, not "${text}"`);
	return value;
}

function readSwitch(env: NodeJS.ProcessEnv, name: string): boolean | undefined {
	const text = env[name];
	if (!text) return undefined;
	if (text !== "on" && text !== "off") throw new SettingsError(`${name} must be on or off, not "${text}"`);
	return text === "on";
}
