/**
 * Which agy is run, and whether it can be: looked up anew for each turn (agy updates itself between two of them), its
 * version asked once per state of the file.
 */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { AgyError } from "../shared/errors.ts";
import { MIN_AGY_VERSION, VERSION_TIMEOUT_MS, WARN_AGY_VERSION } from "../shared/limits.ts";
import type { Config } from "./config.ts";
import type { ProcessRegistry } from "./processes/registry.ts";
import { runCommand } from "./processes/run.ts";
import { redact } from "./redact.ts";

export type Binary = {
	readonly path: string;
	readonly version: string;
	/** Changes when the file does. */
	readonly fingerprint: string;
	/** Prints `init` before it reads a prompt (seen from 1.2.7 on, not so in 1.1.18; taken for granted from 1.2.0 on, where waiting costs little). */
	readonly namesItselfFirst: boolean;
	/** Set when this version works with known defects. */
	readonly warning: string | null;
};

const INSTALL_HINT = "Install Google's Antigravity CLI and sign in by running `agy` once, or set AGY_BIN to its path.";
const VERSION_MAX_BYTES = 64 * 1024;

export class BinaryProbe {
	readonly #registry: ProcessRegistry;
	readonly #known = new Map<string, Promise<Binary>>();

	constructor(registry: ProcessRegistry) {
		this.#registry = registry;
	}

	/** Finds agy and its version. Throws `agy-not-found`, `agy-not-executable`, `bad-output`, `agy-failed` or `agy-too-old`. */
	async find(config: Config): Promise<Binary> {
		const path = await locate(config);
		const file = await stat(path);
		const fingerprint = `${path}:${file.ino}:${file.size}:${file.mtimeMs}`;
		const known = this.#known.get(fingerprint);
		if (known) return known;
		const probed = this.#probe(path, fingerprint, config.childEnv);
		this.#known.set(fingerprint, probed);
		probed.catch(() => this.#known.delete(fingerprint)); // A failure is asked again next time.
		return probed;
	}

	async #probe(path: string, fingerprint: string, env: Config["childEnv"]): Promise<Binary> {
		const result = await runCommand(
			{ bin: path, args: ["--version"], env, timeoutMs: VERSION_TIMEOUT_MS, maxBytes: VERSION_MAX_BYTES },
			this.#registry,
		);
		if (!result.ok) throw toProbeError(path, result.reason, result.error);
		const version = /^\s*v?(\d+\.\d+\.\d+)/.exec(result.stdout)?.[1];
		if (!version) {
			const said = firstLine(result.stdout) || firstLine(result.stderr);
			const what = said ? `printed "${said}"` : `printed nothing and exited with code ${result.code}`;
			throw new AgyError(
				"bad-output",
				`${path} does not look like agy: asked for its version, it ${what}. Check AGY_BIN.`,
			);
		}
		if (compareVersions(version, MIN_AGY_VERSION) < 0) {
			throw new AgyError(
				"agy-too-old",
				`agy ${version} is too old: pi-agy needs ${MIN_AGY_VERSION} or newer. Run \`agy update\`.`,
			);
		}
		const isOld = compareVersions(version, WARN_AGY_VERSION) < 0;
		const warning = isOld
			? `agy ${version} has known defects; ${WARN_AGY_VERSION} or newer is better. Run \`agy update\`.`
			: null;
		const namesItselfFirst = compareVersions(version, "1.2.0") >= 0;
		return { path, version, fingerprint, namesItselfFirst, warning };
	}
}

/** The path of agy. Throws when there is none that can be run. */
async function locate(config: Config): Promise<string> {
	if (config.bin !== null && (isAbsolute(config.bin) || /[/\\]/.test(config.bin))) {
		const path = resolve(config.bin);
		const problem = await problemOf(path);
		if (problem === "missing")
			throw new AgyError(
				"agy-not-found",
				`agy was not found: AGY_BIN is ${path}, which does not exist. ${INSTALL_HINT}`,
			);
		if (problem) throw new AgyError("agy-not-executable", `AGY_BIN is ${path}, which ${problem}. ${INSTALL_HINT}`);
		return path;
	}
	const name = config.bin ?? "agy";
	for (const directory of config.searchPath) {
		for (const candidate of process.platform === "win32" ? [`${name}.exe`, name] : [name]) {
			const path = join(directory, candidate);
			if ((await problemOf(path)) === null) return path;
		}
	}
	throw new AgyError("agy-not-found", `agy was not found: no \`${name}\` on PATH. ${INSTALL_HINT}`);
}

async function problemOf(path: string): Promise<string | null> {
	const file = await stat(path).catch(() => null); // Missing, or a folder on the way is closed: not usable either way.
	if (!file) return "missing";
	if (!file.isFile()) return "is no file";
	return access(path, constants.X_OK).then(
		() => null,
		() => "is not executable",
	);
}

/** Numeric order of `1.2.3` versions. */
export function compareVersions(a: string, b: string): number {
	const [left, right] = [a, b].map((version) => version.split(".").map(Number));
	for (let part = 0; part < 3; part++) {
		const difference = (left?.[part] ?? 0) - (right?.[part] ?? 0);
		if (difference !== 0) return difference;
	}
	return 0;
}

function toProbeError(path: string, reason: string, cause: Error): AgyError {
	if (reason === "spawn-failed") {
		return new AgyError("agy-not-executable", `${path} cannot be run (${cause.message}). ${INSTALL_HINT}`, { cause });
	}
	return new AgyError(
		"agy-failed",
		`${path} does not work: asked for its version, it gave ${cause.message}. Run \`${path} --version\` to see.`,
		{ cause },
	);
}

function firstLine(text: string): string {
	return redact(text.trim().split("\n")[0] ?? "").slice(0, 120);
}
