// Finds the agy that pi would use and asks whether it is one and signed in. The answer to the second is its model list: agy
// prints one `id<TAB>name` row per model when it is, and only text when it is not. Nothing else of agy's is read or changed.

import { spawn } from "node:child_process";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";

const ANSWER_TIMEOUT_MS = 15_000;
/** Some versions leave a helper behind that keeps stdout open; what agy printed has arrived long before this. */
const OUTPUT_AFTER_EXIT_MS = 500;
const MAX_ANSWER_BYTES = 1024 * 1024;
const VERSION = /^\s*v?\d+\.\d+\.\d+/;
const MODEL_ROW = /^[A-Za-z0-9._/-]+\t/m;

/**
 * @typedef {{ readonly usable: true, readonly path: string }} UsableAgy
 * @typedef {{ readonly usable: false, readonly reason: string, readonly remedy: string }} UnusableAgy
 * @typedef {UsableAgy | UnusableAgy} AgyState
 */

/**
 * AGY_BIN decides when it is set, PATH otherwise.
 * @param {NodeJS.ProcessEnv} env
 * @param {{ cwd: string, simulator: string, timeoutMs?: number, onAsk?: (path: string) => void }} options
 *   `cwd` is what a relative AGY_BIN starts from; `onAsk` is called before agy is started, which takes it seconds
 * @returns {Promise<AgyState>}
 */
export async function findAgy(env, { cwd, simulator, timeoutMs = ANSWER_TIMEOUT_MS, onAsk }) {
	const wanted = env.AGY_BIN || "agy";
	const path = /[\\/]/.test(wanted) ? executable(resolve(cwd, wanted)) : onPath(wanted, env);
	if (path === undefined) {
		return env.AGY_BIN
			? unusable(`AGY_BIN=${env.AGY_BIN} is not a program`, "Correct or unset it.")
			: unusable("no agy on PATH", "Install agy and sign in, or set AGY_BIN.");
	}
	if (realpathSync(path) === realpathSync(simulator)) return unusable("AGY_BIN is the simulator", "Unset it to leave.");
	onAsk?.(path);
	const version = await ask(path, "--version", env, timeoutMs);
	if (version.problem !== undefined) return unusable(`${path} ${version.problem}`, `Run \`${path} --version\` to see.`);
	if (!VERSION.test(version.output)) return unusable(`${path} does not look like agy`, "Correct AGY_BIN or PATH.");
	const models = await ask(path, "models", env, timeoutMs);
	if (models.problem !== undefined) return unusable(`${path} ${models.problem}`, `Run \`${path} models\` to see.`);
	if (!MODEL_ROW.test(models.output)) return unusable(`${path} is not signed in`, "Run it once to sign in.");
	return { usable: true, path };
}

/**
 * @param {string} reason
 * @param {string} remedy
 * @returns {UnusableAgy}
 */
const unusable = (reason, remedy) => ({ usable: false, reason, remedy });

/**
 * What agy prints when it is asked, or why it printed nothing that can be used.
 * @param {string} path
 * @param {string} question
 * @param {NodeJS.ProcessEnv} env
 * @param {number} timeoutMs
 * @returns {Promise<{ readonly output: string, readonly problem?: string }>}
 */
function ask(path, question, env, timeoutMs) {
	return new Promise((done) => {
		// Closed stdin: some versions wait for the end of an open pipe.
		const child = spawn(path, [question], { env, stdio: ["ignore", "pipe", "ignore"] });
		let output = Buffer.alloc(0);
		/** @param {string} [problem] */
		const settle = (problem) => {
			clearTimeout(timer);
			child.stdout.destroy();
			child.kill("SIGKILL");
			done({ output: output.toString("utf8"), ...(problem !== undefined && { problem }) });
		};
		const timer = setTimeout(() => settle(`did not answer \`${question}\` within ${timeoutMs / 1000} s`), timeoutMs);
		child.stdout.on("data", (chunk) => {
			output = Buffer.concat([output, chunk]);
			if (output.length > MAX_ANSWER_BYTES) settle(`printed more than 1 MiB when asked for \`${question}\``);
		});
		child.once("error", (error) => settle(`does not run (${error.message})`));
		child.once("exit", () => setTimeout(() => settle(), OUTPUT_AFTER_EXIT_MS).unref());
		child.once("close", () => settle());
	});
}

/**
 * @param {string} name
 * @param {NodeJS.ProcessEnv} env
 */
function onPath(name, env) {
	for (const folder of (env.PATH ?? "").split(delimiter)) {
		const path = folder === "" ? undefined : executable(join(folder, name));
		if (path !== undefined) return path;
	}
	return undefined;
}

/** @param {string} path */
function executable(path) {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile() ? path : undefined;
	} catch {
		return undefined; // not there, or not for us to run: both mean "look further"
	}
}
