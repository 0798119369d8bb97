// Starts what users get: packs the package, installs the tarball under a node_modules of its own, and lets the real pi
// run one headless turn from there on the simulator, and turn a sound file into words; then lets pi install it from the
// tarball, from git and from a path. This is where a worker that is not compiled, a file that is not packed or a dependency
// that is only a dev one shows. Prints one line a check; the last line counts them.

import "./require-node.mjs";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureInstalled } from "./install.mjs";
import { isolatedEnv, OUR_MODEL } from "./plan.mjs";
import { npmCommand, programPath, projectEnv, projectNode, ROOT, runEntry } from "./project.mjs";

const COMMAND_TIMEOUT_MS = 5 * 60_000;
const TURN_TIMEOUT_MS = 60_000;
/** What runs, what pi reads, and what npm adds by itself. */
const PACKED_FILE = /^package\/(src\/.+\.ts|dist\/.+\.js|docs\/.+|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/;

/** No such host: git is told to take a repository of this machine, for pi takes only addresses of the network for git. */
const GIT_ADDRESS = "https://git.example/pi-agy/pi-agy";

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
	const { pi: manifest } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
	const needed = [
		"package/package.json",
		.../** @type {string[]} */ (manifest.extensions).map((path) => join("package", path)),
	];
	const missing = needed.filter((file) => !files.includes(file));
	check("the tarball holds the extension", missing.length > 0 && `it lacks ${missing.join(", ")}`);
	const sources = files.filter((file) => /^package\/src\/(workers|shared)\/.+\.ts$/.test(file));
	const unbuilt = sources.map(toCompiled).filter((file) => !files.includes(file));
	check("the tarball holds every worker file compiled", unbuilt.length > 0 && `it lacks ${unbuilt.join(", ")}`);

	const installed = install(folder, tarball);
	check("npm installs it with its dependencies", !existsSync(installed) && `${installed} is not there`);
	const { env, folders } = isolatedEnv(join(folder, "pi-home"), projectEnv(process.env));
	for (const path of folders) mkdirSync(path, { recursive: true });
	const ask = (/** @type {string} */ prompt, /** @type {NodeJS.ProcessEnv} */ more = {}) =>
		runPi(join(folder, "host"), installed, { ...env, ...more }, prompt);
	checkTurn(ask("say hello"));
	checkVoice(folder, ask);
	checkInstalls(folder, tarball);
}

/**
 * As users install it: pi fetches it, with what it depends on, into its own folder, and loads it from there.
 * @param {string} folder
 * @param {string} tarball
 */
function checkInstalls(folder, tarball) {
	const clonesFromHere = {
		GIT_CONFIG_COUNT: "1",
		GIT_CONFIG_KEY_0: `url.${repositoryOf(folder, tarball)}.insteadOf`,
		GIT_CONFIG_VALUE_0: GIT_ADDRESS,
	};
	const sources = [
		{ from: "the tarball", source: `npm:pi-agy@file:${tarball}` },
		{ from: "git", source: GIT_ADDRESS },
		{ from: "a path", source: ROOT },
	];
	for (const { from, source } of sources) {
		const home = mkdtempSync(join(folder, "installs-"));
		const { env, folders } = isolatedEnv(join(home, "pi-home"), projectEnv(process.env));
		for (const path of folders) mkdirSync(path, { recursive: true });
		const { HOME } = process.env; // npm's own settings and store are there.
		const installed = pi(
			home,
			{ ...env, ...clonesFromHere, HOME, PI_OFFLINE: "" },
			["install", source],
			COMMAND_TIMEOUT_MS,
		);
		const turn = pi(home, env, ["-p", "--no-session", ...OUR_MODEL, "say hello"], TURN_TIMEOUT_MS);
		const isDone = installed.status === 0 && turn.status === 0 && /hello/i.test(turn.stdout);
		check(`pi installs it from ${from}, and a turn is answered`, !isDone && `${seenOf(installed)}${seenOf(turn)}`);
	}
}

/**
 * A repository with what is in the package: the checkout itself may be an archive, or another user's.
 * @param {string} folder
 * @param {string} tarball
 */
function repositoryOf(folder, tarball) {
	const repository = join(folder, "repository");
	mkdirSync(repository);
	command("tar", ["-xzf", tarball, "-C", repository, "--strip-components=1"], folder);
	const git = (/** @type {string[]} */ ...args) => command("git", args, repository);
	git("init", "--quiet");
	git("add", "--all");
	git("-c", "user.name=pi-agy", "-c", "user.email=pi-agy@git.example", "commit", "--quiet", "--message=pi-agy");
	return repository;
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
 * One headless pi with the installed package.
 * @param {string} cwd
 * @param {string} installed
 * @param {NodeJS.ProcessEnv} env
 * @param {string} prompt
 */
function runPi(cwd, installed, env, prompt) {
	return pi(cwd, env, ["-ne", "-e", installed, "-p", "--no-session", ...OUR_MODEL, prompt], TURN_TIMEOUT_MS);
}

/**
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} args
 * @param {number} timeout milliseconds
 */
function pi(cwd, env, args, timeout) {
	return spawnSync(projectNode(), [programPath("@earendil-works/pi-coding-agent", "pi"), ...args], {
		cwd,
		env,
		stdio: ["ignore", "pipe", "pipe"],
		encoding: "utf8",
		timeout,
		killSignal: "SIGKILL",
	});
}

/** @param {ReturnType<typeof runPi>} turn */
function checkTurn(turn) {
	const seen = seenOf(turn);
	check("pi ends its turn with exit code 0", turn.status !== 0 && `it ended with ${turn.status ?? turn.signal}${seen}`);
	check("pi prints the simulator's answer", !/hello/i.test(turn.stdout) && `no hello in what it printed${seen}`);
}

/**
 * A sound file through the compiled audio lane, with the system's ffmpeg or that of the dev dependency.
 * @param {string} folder
 * @param {(prompt: string, env: NodeJS.ProcessEnv) => ReturnType<typeof runPi>} ask
 */
function checkVoice(folder, ask) {
	const ffmpeg = ffmpegPath();
	const tone = join(folder, "tone.wav");
	command(ffmpeg, ["-loglevel", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=1", tone], folder);
	const voice = ask(`/agy voice ${tone}`, {
		AGY_VOICE_FFMPEG: ffmpeg,
		AGY_VOICE_TRANSCRIBER: "command",
		AGY_VOICE_COMMAND: "wc -c {file}",
	});
	const isHeard = /^\d{4,} \S+recording\.wav$/m.test(voice.stdout);
	check("a sound file is transcribed", !isHeard && `no words in what it printed${seenOf(voice)}`);
}

function ffmpegPath() {
	const onPath = (process.env.PATH ?? "").split(":").map((directory) => join(directory, "ffmpeg"));
	return onPath.find((path) => existsSync(path)) ?? createRequire(import.meta.url)("@ffmpeg-installer/ffmpeg").path;
}

/** @param {ReturnType<typeof runPi>} pi */
function seenOf(pi) {
	return `\nstdout: ${pi.stdout.trim()}\nstderr: ${pi.stderr.trim()}`;
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
