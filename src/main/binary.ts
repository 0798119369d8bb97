/**
 * Which agy is run, and what it can do: looked up anew for each turn (agy updates itself between two of them), asked once
 * per state of its file and kept in binaries.json.
 */

import { stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { AgyError } from "../shared/errors.ts";
import type { JsonObject } from "../shared/events.ts";
import { PROBE_FRESH_MS, PROBE_MAX_BYTES, PROBE_TIMEOUT_MS } from "../shared/limits.ts";
import { redact } from "../shared/redact.ts";
import { type Capabilities, type Findings, parseFlags, parsePrintTimeout, toCapabilities } from "./capabilities.ts";
import type { Config } from "./config.ts";
import type { Engine } from "./engines/engine.ts";
import type { JsonStore } from "./json-store.ts";
import type { ProcessRegistry } from "./processes/registry.ts";
import { type CommandResult, runCommand } from "./processes/run.ts";
import { findProgram, problemOf } from "./programs.ts";

export type Binary = Capabilities & {
	readonly path: string;
	/** Changes when the file does. */
	readonly fingerprint: string;
};

type Probe = Findings & { readonly fingerprint: string; readonly probedAtMs: number };

const INSTALL_HINT = "Install Google's Antigravity CLI and sign in by running `agy` once, or set AGY_BIN to its path.";

export class BinaryProbe {
	readonly #store: JsonStore;
	readonly #registry: ProcessRegistry;
	readonly #onError: (error: unknown) => void;
	/** Under way or done, for the state of the file that was last asked; none that failed. */
	readonly #probes = new Map<string, { readonly fingerprint: string; readonly probe: Promise<Probe> }>();

	/** `store` is binaries.json; what cannot be kept there is told to `onError` and asked again by the next pi. */
	constructor(store: JsonStore, registry: ProcessRegistry, onError: (error: unknown) => void) {
		this.#store = store;
		this.#registry = registry;
		this.#onError = onError;
	}

	/** Finds agy and what it can do. Throws `agy-not-found`, `agy-not-executable`, `bad-output`, `agy-failed` or `agy-too-old`. */
	async find(config: Config, requires: Engine["requires"]): Promise<Binary> {
		const path = await locate(config);
		const file = await stat(path);
		const fingerprint = `${file.ino}:${file.size}:${file.mtimeMs}`;
		const probe = await this.#probe(path, fingerprint, config);
		return { path, fingerprint, ...toCapabilities(probe, requires) };
	}

	/**
	 * Those that come while agy is asked share what comes of it, a failure too: one that hangs would cost each of them the
	 * time limit anew. Who comes after a failure asks again.
	 */
	async #probe(path: string, fingerprint: string, config: Config): Promise<Probe> {
		const current = this.#probes.get(path);
		if (current?.fingerprint === fingerprint) {
			const known = await current.probe;
			if (isFresh(known, fingerprint)) return known;
			const other = this.#probes.get(path);
			if (other !== current && other?.fingerprint === fingerprint) return other.probe;
		}
		const probe = this.#kept(path, fingerprint).then((kept) => kept ?? this.#ask(path, fingerprint, config.childEnv));
		const asking = { fingerprint, probe };
		this.#probes.set(path, asking);
		probe.catch(() => {
			if (this.#probes.get(path) === asking) this.#probes.delete(path);
		});
		return probe;
	}

	async #kept(path: string, fingerprint: string): Promise<Probe | null> {
		const probe = toProbe(((await this.#store.read()).binaries as JsonObject | undefined)?.[path]);
		return probe && isFresh(probe, fingerprint) ? probe : null;
	}

	async #ask(path: string, fingerprint: string, env: Config["childEnv"]): Promise<Probe> {
		const run = (flag: string): Promise<CommandResult> =>
			runCommand(
				{ bin: path, args: [flag], env, timeoutMs: PROBE_TIMEOUT_MS, maxBytes: PROBE_MAX_BYTES },
				this.#registry,
			);
		const version = toVersion(path, await run("--version"));
		const help = await run("--help");
		const text = help.ok ? `${help.stdout}\n${help.stderr}` : "";
		const findings = { version, flags: parseFlags(text), printTimeout: parsePrintTimeout(text) };
		const probe = { ...findings, fingerprint, probedAtMs: Date.now() };
		await this.#store
			.update((file) => ({ ...file, version: 1, binaries: { ...(file.binaries as JsonObject), [path]: probe } }))
			.catch(this.#onError);
		return probe;
	}
}

function isFresh(probe: Probe, fingerprint: string): boolean {
	const ageMs = Date.now() - probe.probedAtMs;
	return probe.fingerprint === fingerprint && ageMs >= 0 && ageMs < PROBE_FRESH_MS;
}

function toProbe(value: unknown): Probe | null {
	const { version, flags, printTimeout, fingerprint, probedAtMs } = (value ?? {}) as Partial<Probe>;
	if (typeof version !== "string" || typeof fingerprint !== "string" || typeof probedAtMs !== "number") return null;
	return {
		version,
		flags: Array.isArray(flags) ? flags : null,
		printTimeout: typeof printTimeout === "string" ? printTimeout : null,
		fingerprint,
		probedAtMs,
	};
}

/** Throws what keeps this program from being used as agy. */
function toVersion(path: string, result: CommandResult): string {
	if (!result.ok) throw toProbeError(path, result.reason, result.error);
	const version = /^\s*v?(\d+\.\d+\.\d+)/.exec(result.stdout)?.[1];
	if (version) return version;
	const said = firstLine(result.stdout) || firstLine(result.stderr);
	const what = said ? `printed "${said}"` : `printed nothing and exited with code ${result.code}`;
	throw new AgyError("bad-output", `${path} does not look like agy: asked for its version, it ${what}. Check AGY_BIN.`);
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
	const found = await findProgram(name, config.searchPath);
	if (found !== null) return found;
	throw new AgyError("agy-not-found", `agy was not found: no \`${name}\` on PATH. ${INSTALL_HINT}`);
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
