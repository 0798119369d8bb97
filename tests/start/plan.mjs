// Decides how pi is started: its arguments, its environment and the line that says so. Pure, so that it can be tested.

import { join } from "node:path";
import { ROOT } from "./project.mjs";

export const SIMULATOR = join(ROOT, "tests", "agy-sim", "agy");
/** Any model of ours, whatever the list is: pi takes the best match within the provider. */
export const OUR_MODEL = ["--provider", "antigravity", "--model", "gemini"];

/** Explicit, because `-ne` (see piArgs) leaves out pi's own extensions as well. */
const PI_EXTENSIONS = ["builtin:codemode", "builtin:tool-search", "builtin:mcp"];
const PI_COMMANDS = new Set(["install", "remove", "uninstall", "update", "list", "config", "auth", "mcp"]);
const CHOOSES_MODEL = new Set(["--model", "--models", "--provider"]);
const RESTORES_MODEL = new Set(["-c", "--continue", "-r", "--resume", "--session", "--session-id", "--fork"]);

/**
 * @typedef {object} StartPlan
 * @property {readonly string[]} args
 * @property {NodeJS.ProcessEnv} env
 * @property {readonly string[]} folders to make before the start, private to the user
 * @property {string | undefined} settings a file to make where it is not there, so that nothing is asked at the first start
 * @property {string | undefined} notice
 */

/**
 * @param {readonly string[]} userArgs
 * @param {NodeJS.ProcessEnv} env
 * @param {import("./agy.mjs").AgyState} agy
 * @returns {StartPlan}
 */
export function planStart(userArgs, env, agy) {
	if (agy.usable) {
		return {
			args: piArgs(userArgs, [ROOT]),
			env: { ...env, AGY_BIN: agy.path },
			folders: [],
			settings: undefined,
			notice: undefined,
		};
	}
	const notice = `Simulated agy, no real model: ${agy.reason}. ${agy.remedy}`;
	const isolated = isolatedEnv(join(ROOT, ".pi-home"), env);
	return {
		args: piArgs(userArgs, [ROOT, join(ROOT, "tests", "start", "notice.ts")]),
		// The notice extension shows it inside pi, whose screen hides what was printed before.
		env: { ...isolated.env, PI_AGY_NOTICE: notice },
		folders: isolated.folders,
		settings: isolated.settings,
		notice,
	};
}

/**
 * The environment of a pi on the simulator: everything that pi, the extension and agy keep or read lies under
 * `privateHome`, and pi stays off the network.
 * @param {string} privateHome
 * @param {NodeJS.ProcessEnv} env
 */
export function isolatedEnv(privateHome, env) {
	const home = join(privateHome, "home");
	const agentDir = join(privateHome, "agent");
	// The simulator keeps there what agy keeps in ~/.gemini.
	const simulatorHome = join(home, ".gemini");
	/** @type {NodeJS.ProcessEnv} */
	const isolated = {
		...env,
		HOME: home,
		USERPROFILE: home,
		PI_CODING_AGENT_DIR: agentDir,
		PI_OFFLINE: "1",
		AGY_BIN: SIMULATOR,
		AGY_SIM_HOME: simulatorHome,
		AGY_CONVERSATIONS_DIR: join(simulatorHome, "antigravity-cli", "conversations"),
	};
	// These would lead out of the private home.
	for (const name of ["PI_CODING_AGENT_SESSION_DIR", "PI_PACKAGE_DIR", "AGY_ACP_BIN"]) delete isolated[name];
	const ownDir = join(agentDir, "pi-agy");
	return { env: isolated, folders: [agentDir, ownDir, simulatorHome], settings: join(ownDir, "config.json") };
}

/**
 * @param {readonly string[]} userArgs
 * @param {readonly string[]} ourExtensions
 */
function piArgs(userArgs, ourExtensions) {
	if (PI_COMMANDS.has(userArgs[0] ?? "")) return [...userArgs];
	// `-ne` keeps an installed copy of this package out: two copies of one extension stop pi.
	const extensions = [...ourExtensions, ...PI_EXTENSIONS].flatMap((path) => ["-e", path]);
	return ["-ne", ...extensions, ...(choosesModel(userArgs) ? [] : OUR_MODEL), ...userArgs];
}

/** @param {readonly string[]} userArgs */
function choosesModel(userArgs) {
	const end = userArgs.indexOf("--");
	const options = end === -1 ? userArgs : userArgs.slice(0, end);
	return options.some((option) => CHOOSES_MODEL.has(option) || RESTORES_MODEL.has(option));
}
