/**
 * The simulator under test: a private state folder and the real processes started in it.
 * close() kills by pid what still runs, grandchildren included, and removes the folder.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { until } from "../support/condition.ts";
import { SimulatedProcess } from "./simulated-process.ts";

export const STREAM_ARGS: readonly string[] = ["--input-format", "stream-json", "--output-format", "stream-json"];

export type StartOptions = {
	/** Built-in name or a whole scenario, which is written to a file. Default: echo. */
	readonly scenario?: string | object;
	readonly version?: string;
	readonly env?: Readonly<Record<string, string>>;
	/** All arguments. Default: both stream-json flags, then `more`. */
	readonly args?: readonly string[];
	readonly more?: readonly string[];
	readonly cwd?: string;
};

export type JournalLine = { readonly pid: number; readonly kind: string; readonly [field: string]: unknown };

export class SimulatedAgy {
	readonly home = mkdtempSync(join(tmpdir(), "agy-sim-test-"));
	readonly workspace = mkdtempSync(join(tmpdir(), "agy-sim-work-"));
	readonly #processes: SimulatedProcess[] = [];
	#scenarioCount = 0;

	start(options: StartOptions = {}): SimulatedProcess {
		const started = new SimulatedProcess(options.args ?? [...STREAM_ARGS, ...(options.more ?? [])], {
			cwd: options.cwd ?? this.workspace,
			env: {
				PATH: process.env.PATH ?? "",
				AGY_SIM_PROGRAM: process.env.AGY_SIM_PROGRAM ?? "",
				AGY_SIM_HOME: this.home,
				AGY_SIM_SCENARIO: this.#scenarioSetting(options.scenario ?? "echo"),
				...(options.version === undefined ? {} : { AGY_SIM_VERSION: options.version }),
				...options.env,
			},
		});
		this.#processes.push(started);
		return started;
	}

	openGate(name: string): void {
		this.write(join("gates", name), "");
	}

	async reached(name: string): Promise<void> {
		await until(`marker ${name}`, () => this.read(join("reached", name)) !== undefined);
	}

	/** Journal entries of one kind, or all. */
	journal(kind?: string): readonly JournalLine[] {
		const lines = (this.read("journal.ndjson") ?? "").split("\n").filter((line) => line !== "");
		const entries = lines.map((line): JournalLine => JSON.parse(line));
		return kind === undefined ? entries : entries.filter((entry) => entry.kind === kind);
	}

	read(path: string): string | undefined {
		try {
			return readFileSync(join(this.home, path), "utf8");
		} catch {
			return undefined; // not there
		}
	}

	write(path: string, content: string | object): void {
		const full = join(this.home, path);
		mkdirSync(dirname(full), { recursive: true });
		writeFileSync(full, typeof content === "string" ? content : JSON.stringify(content));
	}

	async close(): Promise<void> {
		for (const started of this.#processes) await started.kill();
		for (const { childPid } of this.journal("grandchild")) killQuietly(Number(childPid));
		rmSync(this.home, { recursive: true, force: true });
		rmSync(this.workspace, { recursive: true, force: true });
	}

	#scenarioSetting(scenario: string | object): string {
		if (typeof scenario === "string") return scenario;
		this.#scenarioCount += 1;
		const path = `scenario-${this.#scenarioCount}.json`;
		this.write(path, scenario);
		return join(this.home, path);
	}
}

function killQuietly(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// gone already
	}
}
