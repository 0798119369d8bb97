/**
 * stdin as a queue of lines: journaled on arrival, consumed in order. Splits on the LF byte only and decodes afterwards, so
 * a character may arrive in two pieces. A last line without LF counts as a line.
 */
import type { Readable } from "node:stream";
import type { Journal } from "../process/journal.ts";

export class StdinLines {
	readonly #journal: Journal;
	#partial: Buffer[] = [];
	#lines: string[] = [];
	#ended = false;
	#wakeUps: (() => void)[] = [];

	constructor(stream: Readable, journal: Journal) {
		this.#journal = journal;
		stream.on("data", (chunk: Buffer) => this.#take(chunk));
		stream.on("end", () => this.#end());
		stream.on("error", () => this.#end());
	}

	/** The next line, or undefined at the end of the input. */
	async next(signal: AbortSignal): Promise<string | undefined> {
		await this.waitForLine(signal);
		return this.#lines.shift();
	}

	/** Resolves when a line is there that nobody has taken yet. */
	waitForLine(signal: AbortSignal): Promise<void> {
		return this.#until(() => this.#lines.length > 0 || this.#ended, signal);
	}

	/** Resolves when stdin has ended, whether or not its lines were consumed. */
	waitForEnd(signal: AbortSignal): Promise<void> {
		return this.#until(() => this.#ended, signal);
	}

	async #until(condition: () => boolean, signal: AbortSignal): Promise<void> {
		signal.throwIfAborted();
		while (!condition()) {
			await new Promise<void>((resolve, reject) => {
				const abort = () => reject(signal.reason);
				signal.addEventListener("abort", abort, { once: true });
				this.#wakeUps.push(() => {
					signal.removeEventListener("abort", abort);
					resolve();
				});
			});
		}
	}

	#take(chunk: Buffer): void {
		let start = 0;
		for (let lf = chunk.indexOf(0x0a); lf >= 0; lf = chunk.indexOf(0x0a, start)) {
			this.#partial.push(chunk.subarray(start, lf));
			this.#finishLine();
			start = lf + 1;
		}
		if (start < chunk.length) this.#partial.push(chunk.subarray(start));
	}

	#finishLine(): void {
		const line = Buffer.concat(this.#partial).toString("utf8");
		this.#partial = [];
		this.#journal.append({ kind: "stdin", line });
		this.#lines.push(line);
		this.#wake();
	}

	#end(): void {
		if (this.#ended) return;
		if (this.#partial.length > 0) this.#finishLine();
		this.#journal.append({ kind: "stdin-eof" });
		this.#ended = true;
		this.#wake();
	}

	#wake(): void {
		const wakeUps = this.#wakeUps;
		this.#wakeUps = [];
		for (const wakeUp of wakeUps) wakeUp();
	}
}
