// Makes node_modules match package-lock.json, and does nothing when it already does.
// 1. A stamp inside node_modules says which lock file and platform it was installed for; npm's own record beside it is
//    written only by an install that finished. Without either, or with another stamp, node_modules is not trusted.
// 2. `npm ci` empties node_modules first, so an install that dies leaves no stamp and is repeated by the next start.
// 3. npm 10, which comes with Node 20 and 22, removes the link to the installed Node again together with those of the
//    other platforms' packages, which it tries and drops; so the link is made here when it is not there.
// 4. All of it happens under the lock: the second of two starts at once waits, looks again and finds nothing to do.
// No package needs its install script, so none is run.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "./child.mjs";
import { withLock } from "./lock.mjs";
import { npmCommand, ROOT, say } from "./project.mjs";

const STAMP = ".pi-agy-install";
const NPM_RECORD = ".package-lock.json";
// Whatever the user's npm is set to, this project is installed in one way, and quietly.
const NPM_CI = [
	"ci",
	"--include=dev",
	"--include=optional",
	"--ignore-scripts",
	"--package-lock=true",
	"--bin-links=true",
	"--engine-strict=false",
	"--legacy-peer-deps=false",
	"--install-strategy=hoisted",
	"--no-audit",
	"--no-fund",
	"--loglevel=error",
];

/** @typedef {"ready" | "missing" | "stale" | "unfinished"} InstallState */

/**
 * What node_modules has to carry to be used as it is.
 * @param {string} root
 */
function expectedStamp(root) {
	const lock = createHash("sha256")
		.update(readFileSync(join(root, "package-lock.json")))
		.digest("hex");
	return `${lock} ${process.platform}-${process.arch}\n`;
}

/**
 * @param {string} root
 * @returns {InstallState}
 */
export function installState(root) {
	const modules = join(root, "node_modules");
	if (!existsSync(modules)) return "missing";
	if (!existsSync(join(modules, STAMP)) || !existsSync(join(modules, NPM_RECORD))) return "unfinished";
	return readFileSync(join(modules, STAMP), "utf8") === expectedStamp(root) ? "ready" : "stale";
}

/** @type {Record<Exclude<InstallState, "ready">, string>} */
const REASONS = {
	missing: "installing the dependencies, once, in about half a minute",
	stale: "installing again: package-lock.json or the platform changed",
	unfinished: "installing again: node_modules was not left by a finished install of ours",
};

/**
 * Installs when needed. `npmCi` is replaced in tests.
 * @param {string} [root]
 * @param {(addHolder: (pid: number) => void) => Promise<void>} [npmCi]
 */
export async function ensureInstalled(root = ROOT, npmCi = (addHolder) => runNpmCi(root, addHolder)) {
	if (installState(root) === "ready") return;
	await withProjectLock(root, async (addHolder) => {
		const state = installState(root);
		if (state === "ready") return;
		say(`${REASONS[state]}...`);
		// Read before the install: a lock file changed meanwhile must count as not yet installed.
		const stamp = expectedStamp(root);
		await npmCi(addHolder);
		linkNode(root);
		writeFileSync(join(root, "node_modules", STAMP), stamp);
	});
}

/** @param {string} root */
function linkNode(root) {
	const programs = join(root, "node_modules", ".bin");
	if (existsSync(join(programs, "node"))) return;
	const packages = ["node", "node-bin"].map((name) => `${name}-${process.platform}-${process.arch}`);
	const target = packages
		.map((name) => join("..", name, "bin", "node"))
		.find((path) => existsSync(join(programs, path)));
	if (target === undefined) return;
	rmSync(join(programs, "node"), { force: true }); // a link that leads nowhere
	symlinkSync(target, join(programs, "node"));
}

/**
 * @template T
 * @param {string} root
 * @param {(addHolder: (pid: number) => void) => Promise<T>} work
 */
export function withProjectLock(root, work) {
	return withLock(join(root, ".start.lock"), work, {
		onWait: (pids) => say(`waiting for another run (process ${pids.join(", ")}) to install or build...`),
	});
}

/**
 * @param {string} root
 * @param {(pid: number) => void} addHolder
 */
async function runNpmCi(root, addHolder) {
	const [command, args] = npmCommand([...NPM_CI, `--prefix=${root}`]);
	const end = await runChild(command, args, { cwd: root, env: process.env, capture: true, onStart: addHolder });
	if (end.code === 0) return;
	const how = end.signal === null ? `exit code ${end.code}` : end.signal;
	throw new Error(
		`npm ci failed (${how}). What npm said:\n\n${end.output.trim()}\n\n` +
			"The command needs the npm registry. Solve what npm reports and run it again.",
	);
}
