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

	constructor(args: readonly string[], options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
		this.child = spawn(AGY_PATH, args, { ...options, stdio: "pipe" });
		this.child.stdout.on("data", (chunk: Buffer) => this.chunks.push(chunk));
		this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
			this.stderr += text;
		});
		this.child.stdin.on("error", () => {}); // seen by tests through the process's end
		this.exited = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve({ code, signal })));
		this.closed = new Promise((resolve) => this.child.once("close", (code, signal) => resolve({ code, signal })));
	}

	get bytes(): Buffer {
		return Buffer.concat(this.chunks);
	}

	get stdout(): string {
		return this.bytes.toString("utf8");
	}

	/** Complete lines only. */
	get lines(): readonly string[] {
		return this.stdout.split("\n").slice(0, -1);
	}

	/** Complete lines that are JSON objects with an event. */
	get events(): readonly WireEvent[] {
		return this.lines.flatMap((line) => {
			try {
				const value = JSON.parse(line);
				return value?.event === undefined ? [] : [value as WireEvent];
			} catch {
				return []; // noise, which some scenarios make on purpose
			}
		});
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
		await until(`result of "${prompt.slice(0, 40)}"`, () => this.results.length > before);
		const result = this.results[before];
		if (result === undefined) throw new Error("no result");
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
}
