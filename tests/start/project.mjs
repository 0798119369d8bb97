// The project as the start scripts see it: its folder, its Node, the programs it installs, and the environment that
// makes every child run under that Node. Built-ins only, and Node 20 is enough: it runs before anything is installed.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { projectNodeProblem } from "./require-node.mjs";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/**
 * A line for people. It goes to stderr, because stdout may carry pi's answer.
 * @param {string} text
 */
export function say(text) {
	process.stderr.write(`pi-agy: ${text}\n`);
}

/** The Node that runs the project: the installed one, or this one when it is new enough and none came for this platform. */
export function projectNode() {
	const installed =
		process.platform === "win32"
			? join(ROOT, "node_modules", `node-win-${process.arch}`, "bin", "node.exe")
			: join(ROOT, "node_modules", ".bin", "node");
	if (existsSync(installed)) return installed;
	if (projectNodeProblem(process.versions.node) === undefined) return process.execPath;
	throw new Error(
		`Node ${process.versions.node} is too old and none is packaged for ${process.platform}-${process.arch}: ` +
			"install Node 24 and run the command again.",
	);
}

/**
 * The script behind an installed program, to be run with `projectNode()`.
 * @param {string} packageName
 * @param {string} program
 */
export function programPath(packageName, program) {
	const folder = join(ROOT, "node_modules", packageName);
	const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	return join(folder, typeof bin === "string" ? bin : bin[program]);
}

/**
 * How to run npm: the one that started us, or the one on PATH when nothing (or another package manager) did.
 * @param {readonly string[]} args
 * @returns {[command: string, args: string[]]}
 */
export function npmCommand(args) {
	const script = process.env.npm_execpath;
	return script?.endsWith("npm-cli.js") ? [process.execPath, [script, ...args]] : ["npm", [...args]];
}

/**
 * `env` with the project's programs first on PATH, so that `node` in any child is the project's.
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
export function projectEnv(env) {
	const node = projectNode();
	const path = [join(ROOT, "node_modules", ".bin"), dirname(node), env.PATH ?? ""].join(delimiter);
	return { ...env, PATH: path, NODE: node, npm_node_execpath: node };
}

/**
 * Whether the module with this URL is the script that node was started with.
 * @param {string} moduleUrl
 */
export function isEntry(moduleUrl) {
	return process.argv[1] !== undefined && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(moduleUrl));
}

/**
 * Runs a script's work; a failure is told in plain words, without a stack, and ends with exit code 1.
 * @param {() => Promise<void>} work
 */
export async function runEntry(work) {
	try {
		await work();
	} catch (error) {
		say(error instanceof Error ? error.message : String(error));
		process.exitCode = 1;
	}
}
