// Starts what users get: packs the package, installs the tarball under a node_modules of its own, and lets the real pi
// run one headless turn from there on the simulator. This is where a worker that is not compiled, a file that is not
// packed or a dependency that is only a dev one shows. Prints one line a check; the last line counts them.

import "./require-node.mjs";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureInstalled } from "./install.mjs";
import { isolatedEnv, OUR_MODEL } from "./plan.mjs";
import { npmCommand, programPath, projectEnv, projectNode, ROOT, runEntry } from "./project.mjs";

const COMMAND_TIMEOUT_MS = 5 * 60_000;
const TURN_TIMEOUT_MS = 60_000;
/** What runs, what pi reads, and what npm adds by itself. */
const PACKED_FILE = /^package\/(src\/.+\.ts|dist\/.+\.js|docs\/.+|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/;

const counts = { passed: 0, failed: 0 };

await runEntry(async () => {
	await ensureInstalled();
	const folder = mkdtempSync(join(tmpdir(), "pi-agy-packed-"));
	try {
		testPackage(folder);
	} catch (error) {
		check("the packed package can be tested", error instanceof Error ? error.message : String(error));
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
	console.log(`${counts.passed} passed, ${counts.failed} failed`);
	if (counts.failed > 0) process.exitCode = 1;
});

/** @param {string} folder */
function testPackage(folder) {
	const tarball = pack(folder);
	const files = command("tar", ["-tzf", tarball], folder).trim().split("\n");
	const extra = files.filter((file) => !PACKED_FILE.test(file));
	check("the tarball holds only what runs", extra.length > 0 && `it also holds ${extra.join(", ")}`);
	const { pi } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
	const needed = [
		"package/package.json",
		.../** @type {string[]} */ (pi.extensions).map((path) => join("package", path)),
	];
	const missing = needed.filter((file) => !files.includes(file));
	check("the tarball holds the extension", missing.length > 0 && `it lacks ${missing.join(", ")}`);
	const sources = files.filter((file) => /^package\/src\/(workers|shared)\/.+\.ts$/.test(file));
	const unbuilt = sources.map(toCompiled).filter((file) => !files.includes(file));
	check("the tarball holds every worker file compiled", unbuilt.length > 0 && `it lacks ${unbuilt.join(", ")}`);

	const installed = install(folder, tarball);
	check("npm installs it with its dependencies", !existsSync(installed) && `${installed} is not there`);
	runTurn(folder, installed);
}

/** @param {string} source */
function toCompiled(source) {
	return source.replace("package/src/", "package/dist/").replace(/\.ts$/, ".js");
}

/** @param {string} folder */
function pack(folder) {
	npm(["pack", `--pack-destination=${folder}`], ROOT);
	const tarball = readdirSync(folder).find((file) => file.endsWith(".tgz"));
	if (tarball === undefined) throw new Error("npm pack left no tarball");
	return join(folder, tarball);
}

/**
 * @param {string} folder
 * @param {string} tarball
 */
function install(folder, tarball) {
	const host = join(folder, "host");
	mkdirSync(host);
	writeFileSync(join(host, "package.json"), '{ "private": true }\n');
	npm(["install", "--omit=dev", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", tarball], host);
	return join(host, "node_modules", "pi-agy");
}

/**
 * @param {string} folder
 * @param {string} installed
 */
function runTurn(folder, installed) {
	const { env, folders } = isolatedEnv(join(folder, "pi-home"), projectEnv(process.env));
	for (const path of folders) mkdirSync(path, { recursive: true });
	const args = ["-ne", "-e", installed, "-p", "--no-session", ...OUR_MODEL, "say hello"];
	const turn = spawnSync(projectNode(), [programPath("@earendil-works/pi-coding-agent", "pi"), ...args], {
		cwd: join(folder, "host"),
		env,
		stdio: ["ignore", "pipe", "pipe"],
		encoding: "utf8",
		timeout: TURN_TIMEOUT_MS,
		killSignal: "SIGKILL",
	});
	const seen = `\nstdout: ${turn.stdout.trim()}\nstderr: ${turn.stderr.trim()}`;
	check("pi ends its turn with exit code 0", turn.status !== 0 && `it ended with ${turn.status ?? turn.signal}${seen}`);
	check("pi prints the simulator's answer", !/hello/i.test(turn.stdout) && `no hello in what it printed${seen}`);
}

/**
 * @param {readonly string[]} args
 * @param {string} cwd
 */
function npm(args, cwd) {
	const [program, programArgs] = npmCommand(args);
	return command(program, programArgs, cwd);
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} cwd
 */
function command(program, args, cwd) {
	const end = spawnSync(program, args, { cwd, encoding: "utf8", timeout: COMMAND_TIMEOUT_MS, killSignal: "SIGKILL" });
	if (end.error !== undefined) throw new Error(`${program} does not run: ${end.error.message}`);
	if (end.status !== 0) {
		throw new Error(`${program} ${args.join(" ")} ended with ${end.status ?? end.signal}:\n${end.stdout}${end.stderr}`);
	}
	return end.stdout;
}

/**
 * @param {string} name
 * @param {string | false} problem
 */
function check(name, problem) {
	if (problem === false) counts.passed++;
	else counts.failed++;
	console.log(problem === false ? `ok: ${name}` : `FAILED: ${name}: ${problem}`);
}
