/**
 * A private place for one pi: agent folder, workspace, temp folder, and the state folder of the simulated agy, with the
 * environment that points there. close() fails when a process of it still runs or a file of ours is left in the temp
 * folder; the path of the state folder, which every agy inherits, is how they are found.
 */
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { until } from "./condition.ts";
import { isRunning, killQuietly, type ProcessRow, processesWithVariable } from "./process-table.ts";

export const REPOSITORY = join(import.meta.dirname, "..", "..");
/** What the simulator says without a setting. */
const SIMULATED_VERSION = "1.2.17";
const AGY_PATH = join(REPOSITORY, "tests", "agy-sim", "agy");

/** Whole scenarios are checked by the simulator itself when it reads them. */
export type ScenarioData = { readonly turns: readonly object[]; readonly [field: string]: unknown };

export type SandboxOptions = {
	/** Built-in name or a whole scenario. Default: echo. */
	readonly scenario?: string | ScenarioData;
	readonly env?: Readonly<Record<string, string>>;
};

export type JournalLine = { readonly pid: number; readonly kind: string; readonly [field: string]: unknown };

/** One run of agy in stream-json mode, as its journal tells it. */
export type AgyRun = {
	readonly pid: number;
	readonly argv: readonly string[];
	/** What it was told, in order. */
	readonly prompts: readonly string[];
};

export class Sandbox {
	readonly path = realpathSync(mkdtempSync(join(tmpdir(), "pi-agy-it-")));
	readonly agentDir = join(this.path, "agent");
	readonly workspace = join(this.path, "work");
	readonly tempDir = join(this.path, "tmp");
	readonly simHome = join(this.path, "sim");
	/** Where the simulated agy keeps its databases. */
	readonly conversationsDir = join(this.simHome, "antigravity-cli", "conversations");
	/** Sessions of pi. */
	readonly sessionDir = join(this.path, "sessions");
	readonly env: Record<string, string>;
	readonly #guardians = new Set<number>();
	#fileCount = 0;

	constructor(options: SandboxOptions = {}) {
		for (const folder of [this.agentDir, this.workspace, this.tempDir, this.simHome, this.sessionDir])
			mkdirSync(folder, { mode: 0o700 });
		// Both hold compiled code only; a cold one costs every pi a second.
		for (const name of ["jiti", "node-compile-cache"]) {
			mkdirSync(join(tmpdir(), name), { recursive: true });
			symlinkSync(join(tmpdir(), name), join(this.tempDir, name));
		}
		this.env = {
			PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
			HOME: this.path,
			TMPDIR: this.tempDir,
			LANG: "C.UTF-8",
			NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
			PI_OFFLINE: "1",
			PI_CODING_AGENT_DIR: this.agentDir,
			AGY_BIN: AGY_PATH,
			AGY_SIM_PROGRAM: process.env.AGY_SIM_PROGRAM ?? "",
			AGY_SIM_HOME: this.simHome,
			AGY_GEMINI_DIR: this.simHome,
			AGY_SIM_SCENARIO: this.scenarioSetting(options.scenario ?? "echo"),
			...options.env,
		};
	}

	/** What AGY_SIM_SCENARIO has to be for this scenario. */
	scenarioSetting(scenario: string | ScenarioData): string {
		if (typeof scenario === "string") return scenario;
		return this.write(`scenario-${++this.#fileCount}.json`, JSON.stringify(scenario));
	}

	/** Writes a file of the sandbox and answers its whole path. */
	write(path: string, content: string, mode = 0o600): string {
		const full = join(this.path, path);
		mkdirSync(dirname(full), { recursive: true });
		writeFileSync(full, content, { mode });
		return full;
	}

	/** A file of the sandbox; "" when it is not there. */
	read(path: string): string {
		try {
			return readFileSync(join(this.path, path), "utf8");
		} catch {
			return "";
		}
	}

	/** Gives pi the list of models at once, so that no `agy models` has to run first. */
	seedModels(
		ids: readonly string[] = ["gemini-3.8-flash-high", "gemini-3.8-flash-medium", "gemini-3.8-flash-low"],
		more: Readonly<Record<string, string>> = {},
	): void {
		const rows = ids.map((slug) => ({ slug, name: slug }));
		const cache = { version: 1, bin: this.env.AGY_BIN, fetchedAtMs: Date.now(), rows, ...more };
		this.write("agent/pi-agy/models-cache.json", JSON.stringify(cache));
		this.#seedProbe();
	}

	/** And what it can do, where it is the simulator as it comes: asking costs two starts of it for each pi. */
	#seedProbe(): void {
		const { AGY_BIN: bin = "", AGY_SIM_VERSION } = this.env;
		if (bin !== AGY_PATH || AGY_SIM_VERSION !== undefined) return;
		const { ino, size, mtimeMs } = statSync(bin);
		const fingerprint = `${ino}:${size}:${mtimeMs}`;
		const probe = { version: SIMULATED_VERSION, flags: null, printTimeout: null, fingerprint, probedAtMs: Date.now() };
		this.write("agent/pi-agy/binaries.json", JSON.stringify({ version: 1, binaries: { [bin]: probe } }));
	}

	openGate(name: string): void {
		this.write(`sim/gates/${name}`, "");
	}

	closeGate(name: string): void {
		rmSync(join(this.simHome, "gates", name), { force: true });
		rmSync(join(this.simHome, "reached", name), { force: true });
	}

	hasReached(marker: string): boolean {
		return list(join(this.simHome, "reached")).includes(marker);
	}

	async reached(marker: string): Promise<void> {
		await until(
			() => `marker ${marker}; journal:\n${this.read("sim/journal.ndjson").slice(-2_000)}`,
			() => this.hasReached(marker),
		);
	}

	forgetMarker(marker: string): void {
		rmSync(join(this.simHome, "reached", marker), { force: true });
	}

	journal(kind?: string): readonly JournalLine[] {
		const lines = this.read("sim/journal.ndjson").split("\n").slice(0, -1);
		const entries = lines.map((line): JournalLine => JSON.parse(line));
		return kind === undefined ? entries : entries.filter((entry) => entry.kind === kind);
	}

	/** The runs that took prompts, in the order they started. */
	runs(): readonly AgyRun[] {
		const journal = this.journal();
		return journal.flatMap((entry) => {
			const argv = entry.argv as readonly string[] | undefined;
			if (entry.kind !== "start" || !argv?.includes("--input-format")) return [];
			const lines = journal.filter((other) => other.kind === "stdin" && other.pid === entry.pid);
			return { pid: entry.pid, argv, prompts: lines.map((line) => promptOf(String(line.line))) };
		});
	}

	/** Every prompt any agy was given, in order. */
	prompts(): readonly string[] {
		return this.journal("stdin").map((entry) => promptOf(String(entry.line)));
	}

	/** What stands in the files a prompt points to, in order. They are there while the pi session is. */
	filesOf(prompt: string | undefined): readonly string[] {
		return [...(prompt ?? "").matchAll(/is in the file (\/\S+\.md)[.,]/g)].map(([, path]) =>
			readFileSync(path as string, "utf8"),
		);
	}

	/** agy processes and their children that run now. */
	agyProcesses(): readonly ProcessRow[] {
		return processesWithVariable("AGY_SIM_HOME", this.simHome).filter((row) => row.pid !== process.pid && !isPi(row));
	}

	/** Socket folders and other files of ours in the temp folder. */
	leftInTemp(): readonly string[] {
		return list(this.tempDir).filter((name) => name !== "jiti" && name !== "node-compile-cache");
	}

	/** These have to be gone when the sandbox closes, too. */
	noteGuardians(pids: readonly number[]): void {
		for (const pid of pids) this.#guardians.add(pid);
	}

	/** Throws when something is left; removes it either way. May be called twice. */
	async close(): Promise<void> {
		const left = () => [
			// Not by the variable of agy: other programs do not get it.
			...processesWithVariable("HOME", this.path)
				.filter((row) => row.pid !== process.pid)
				.map((row) => ({ pid: row.pid, what: row.command })),
			...[...this.#guardians].filter(isRunning).map((pid) => ({ pid, what: "guardian" })),
		];
		try {
			await until(
				() =>
					`nothing left; ${left()
						.map(({ pid, what }) => `${pid}: ${what.slice(0, 200)}`)
						.join("; ")}; temp folder: ${this.leftInTemp()}`,
				() => left().length === 0 && this.leftInTemp().length === 0,
				20_000,
			);
		} finally {
			for (const { pid } of left()) killQuietly(pid);
			rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
		}
	}
}

function isPi(row: ProcessRow): boolean {
	return /(^| |\/)pi( |$)|pi-coding-agent/.test(row.command) && !row.command.includes("agy-sim");
}

function promptOf(line: string): string {
	try {
		return String((JSON.parse(line) as { message?: { content?: unknown } }).message?.content ?? line);
	} catch {
		return line; // no JSON: as it came
	}
}

function list(folder: string): readonly string[] {
	try {
		return readdirSync(folder);
	} catch {
		return []; // not there yet, or no longer
	}
}
