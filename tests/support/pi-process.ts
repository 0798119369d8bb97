/** A real pi with the extension of this repository and nothing else, as a child process of the test. */
import { type ChildProcessByStdio, type StdioOptions, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { JsonAgentSessionEvent } from "@earendil-works/pi-coding-agent";
import { until, within } from "./condition.ts";
import { JsonLines } from "./json-lines.ts";
import { guardiansOf, killQuietly } from "./process-table.ts";
import { REPOSITORY, type Sandbox } from "./sandbox.ts";

const MODEL = "antigravity/gemini-3.8-flash";
const PI_PATH = realpathSync(join(REPOSITORY, "node_modules", ".bin", "pi"));

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type PiOptions = {
	/** Default: MODEL. */
	readonly model?: string;
	/** Default: none is kept. */
	readonly session?: readonly string[];
	/** Further extensions. */
	readonly extensions?: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
	/** Keeps stdin open for the caller. Default: it is at its end from the start. */
	readonly openInput?: boolean;
	/** A descriptor that pi writes its stdout to; nothing of it is kept then. */
	readonly stdout?: number;
};

export class PiProcess {
	readonly #sandbox: Sandbox;
	readonly #child: ChildProcessByStdio<Writable, Readable | null, Readable>;
	readonly closed: Promise<Exit>;
	/** Lines of stdout that are records, in order. */
	readonly records: JsonAgentSessionEvent[] = [];
	/** Lines of stdout that are no records. */
	readonly otherLines: string[] = [];
	stdout = "";
	stderr = "";
	exit: Exit | null = null;
	lastOutputMs = 0;
	closedMs = 0;

	constructor(sandbox: Sandbox, args: readonly string[], options: PiOptions = {}) {
		this.#sandbox = sandbox;
		const extensions = [REPOSITORY, ...(options.extensions ?? [])].flatMap((path) => ["-e", path]);
		const session = options.session ?? ["--no-session"];
		const stdio: StdioOptions = ["pipe", options.stdout ?? "pipe", "pipe"];
		this.#child = spawn(
			process.execPath,
			[PI_PATH, "-ne", ...extensions, "--model", options.model ?? MODEL, ...session, ...args],
			{ cwd: sandbox.workspace, env: { ...sandbox.env, ...options.env }, stdio },
		) as ChildProcessByStdio<Writable, Readable | null, Readable>;
		this.#child.stdin.on("error", () => {}); // pi is gone: its exit says so
		if (!options.openInput) this.#child.stdin.end();
		const lines = new JsonLines((line) => this.#takeLine(line));
		this.#child.stdout?.on("data", (chunk: Buffer) => {
			this.lastOutputMs = performance.now();
			this.stdout += chunk.toString("utf8");
			lines.push(chunk);
		});
		this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
			this.stderr += text;
		});
		this.closed = new Promise((resolve) =>
			this.#child.once("close", (code, signal) => {
				this.closedMs = performance.now();
				this.exit = { code, signal };
				resolve(this.exit);
			}),
		);
	}

	get pid(): number {
		return this.#child.pid ?? 0;
	}

	get isRunning(): boolean {
		return this.#child.exitCode === null && this.#child.signalCode === null;
	}

	/** Waits for the end of pi and its output. */
	finished(): Promise<Exit> {
		return within(`the end of pi ${this.pid}`, this.closed, 60_000).catch((error: unknown) => {
			this.destroy();
			throw new Error(`${error}\nstdout: ${this.stdout.slice(-2_000)}\nstderr: ${this.stderr.slice(-2_000)}`);
		});
	}

	send(record: object): void {
		this.#child.stdin.write(`${JSON.stringify(record)}\n`);
	}

	endInput(): void {
		this.#child.stdin.end();
	}

	kill(signal: NodeJS.Signals): void {
		this.#child.kill(signal);
	}

	/** The guardian of this pi; waits for it, because it comes with the first process. */
	async guardian(): Promise<number> {
		const [pid] = await until(`a guardian of pi ${this.pid}`, () => {
			const pids = guardiansOf(this.pid);
			return pids.length > 0 && pids;
		});
		this.#sandbox.noteGuardians([pid as number]);
		return pid as number;
	}

	noteGuardians(): void {
		this.#sandbox.noteGuardians(guardiansOf(this.pid));
	}

	/** For a test that went wrong. */
	destroy(): void {
		if (this.isRunning) killQuietly(this.pid);
	}

	/** Waits for a record behind the first `from`. */
	async record<T extends JsonAgentSessionEvent>(
		what: string,
		isWanted: (record: JsonAgentSessionEvent) => record is T,
		from?: number,
	): Promise<T>;
	async record(
		what: string,
		isWanted: (record: JsonAgentSessionEvent) => boolean,
		from?: number,
	): Promise<JsonAgentSessionEvent>;
	async record(
		what: string,
		isWanted: (record: JsonAgentSessionEvent) => boolean,
		from = 0,
	): Promise<JsonAgentSessionEvent> {
		return until(
			() => `${what} of pi ${this.pid}; last records: ${this.#lastRecords(from)}; stderr: ${this.stderr.slice(-1_000)}`,
			() => {
				const found = this.records.slice(from).find(isWanted);
				if (!found && this.exit)
					throw new Error(`pi ended (${JSON.stringify(this.exit)}) before ${what}: ${this.stderr}`);
				return found;
			},
		);
	}

	#takeLine(line: string): void {
		try {
			const value = JSON.parse(line) as { type?: unknown } | null;
			if (typeof value?.type === "string") this.records.push(value as JsonAgentSessionEvent);
			else this.otherLines.push(line);
		} catch {
			this.otherLines.push(line); // print mode
		}
	}

	#lastRecords(from: number): string {
		return this.records
			.slice(from)
			.slice(-6)
			.map((record) => JSON.stringify(record).slice(0, 300))
			.join("\n");
	}
}

/** `pi -p` to its end. */
export async function printPi(sandbox: Sandbox, prompts: readonly string[], options?: PiOptions): Promise<PiProcess> {
	const pi = new PiProcess(sandbox, ["-p", ...prompts], options);
	await pi.finished();
	return pi;
}

/** `pi --mode json`, started. */
export function jsonPi(sandbox: Sandbox, prompts: readonly string[], options?: PiOptions): PiProcess {
	return new PiProcess(sandbox, ["--mode", "json", ...prompts], options);
}
