/** One process of the simulator in a test: its pipes, what came out of them so far, and its end. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { until } from "../support/condition.ts";
import type { WireEvent, WireResult, WireStep } from "./wire-event.ts";

const AGY_PATH = join(import.meta.dirname, "..", "agy-sim", "agy");

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export class SimulatedProcess {
	readonly child: ChildProcessWithoutNullStreams;
	/** Process gone; its pipes may still be held by others. */
	readonly exited: Promise<Exit>;
	/** Process gone and pipes closed. */
	readonly closed: Promise<Exit>;
	readonly chunks: Buffer[] = [];
	stderr = "";
	readonly #lines: string[] = [];
	readonly #events: WireEvent[] = [];
	/** Chunks since the last line feed, and how many of all chunks are cut into lines: a test looks again and again. */
	#rest: Buffer[] = [];
	#cutCount = 0;
	#isClosed = false;

	constructor(args: readonly string[], options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
		this.child = spawn(AGY_PATH, args, { ...options, stdio: "pipe" });
		this.child.stdout.on("data", (chunk: Buffer) => this.chunks.push(chunk));
		this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
			this.stderr += text;
		});
		this.child.stdin.on("error", () => {}); // seen by tests through the process's end
		this.exited = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve({ code, signal })));
		this.closed = new Promise((resolve) => this.child.once("close", (code, signal) => resolve({ code, signal })));
		this.child.once("close", () => {
			this.#isClosed = true;
		});
	}

	get bytes(): Buffer {
		return Buffer.concat(this.chunks);
	}

	get stdout(): string {
		return this.bytes.toString("utf8");
	}

	/** Complete lines only. */
	get lines(): readonly string[] {
		this.#cut();
		return this.#lines;
	}

	/** Complete lines that are JSON objects with an event. */
	get events(): readonly WireEvent[] {
		this.#cut();
		return this.#events;
	}

	get steps(): readonly WireStep[] {
		return this.events.flatMap((event) => (event.step_update === undefined ? [] : [event.step_update]));
	}

	get results(): readonly WireResult[] {
		return this.events.flatMap((event) => (event.result === undefined ? [] : [event.result]));
	}

	/** All text deltas so far, put together. */
	get text(): string {
		return this.steps.map((step) => step.text_delta ?? "").join("");
	}

	send(prompt: string): void {
		this.sendLine(JSON.stringify({ event: "user", message: { role: "user", content: prompt } }));
	}

	sendLine(line: string): void {
		this.child.stdin.write(`${line}\n`);
	}

	endInput(): void {
		this.child.stdin.end();
	}

	/** Sends the prompt and waits for the result of this turn. */
	async ask(prompt: string): Promise<WireResult> {
		const before = this.results.length;
		this.send(prompt);
		await until(`result of "${prompt.slice(0, 40)}"`, () => this.results.length > before || this.#isClosed);
		const result = this.results[before];
		if (result === undefined) {
			const { exitCode, signalCode } = this.child;
			throw new Error(`the process ended (${exitCode ?? signalCode}) without a result: ${this.stderr.slice(-500)}`);
		}
		return result;
	}

	/** Closes stdin and waits for the end of process and pipes. */
	finish(): Promise<Exit> {
		this.endInput();
		return this.closed;
	}

	async kill(): Promise<void> {
		if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL");
		await this.exited;
		this.child.stdout.destroy();
		this.child.stderr.destroy();
	}

	/** Cuts what came since the last look into lines. */
	#cut(): void {
		for (; this.#cutCount < this.chunks.length; this.#cutCount++) {
			const chunk = this.chunks[this.#cutCount] as Buffer;
			const end = chunk.lastIndexOf("\n");
			if (end >= 0)
				this.#take(
					Buffer.concat([...this.#rest.splice(0), chunk.subarray(0, end)])
						.toString("utf8")
						.split("\n"),
				);
			if (end + 1 < chunk.length) this.#rest.push(chunk.subarray(end + 1));
		}
	}

	#take(lines: readonly string[]): void {
		for (const line of lines) {
			this.#lines.push(line);
			try {
				const value = JSON.parse(line);
				if (value?.event !== undefined) this.#events.push(value as WireEvent);
			} catch {
				// noise, which some scenarios make on purpose
			}
		}
	}
}
