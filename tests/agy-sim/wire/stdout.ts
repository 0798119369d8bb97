/**
 * Writes to stdout and stderr, in order, with the reader's back-pressure. With a chunk size every line leaves in pieces of
 * that many bytes, each its own write, cut wherever the count falls. A reader that goes away ends the process, as SIGPIPE
 * would.
 */
import type { Writable } from "node:stream";

/** Lines written between two turns of the event loop, so that signals and stdin are seen during a flood. */
const LINES_PER_LOOP = 64;

export class Stdout {
	readonly #stream: Writable;
	readonly #chunkBytes: number;
	#pending: Promise<void> = Promise.resolve();
	#lineCount = 0;

	constructor(stream: Writable, chunkBytes: number, onReaderGone: () => void) {
		this.#stream = stream;
		this.#chunkBytes = chunkBytes;
		stream.on("error", onReaderGone);
	}

	/** Resolves when the stream has taken the bytes; calls are served in order. */
	write(bytes: string | Uint8Array): Promise<void> {
		this.#pending = this.#pending.then(() => this.#writeNow(bytes));
		return this.#pending;
	}

	writeLine(text: string): Promise<void> {
		return this.write(`${text}\n`);
	}

	flush(): Promise<void> {
		return this.#pending.then(() => new Promise((resolve) => this.#stream.write("", () => resolve())));
	}

	async #writeNow(bytes: string | Uint8Array): Promise<void> {
		if (this.#chunkBytes === 0) {
			if (!this.#stream.write(bytes)) await new Promise((resolve) => this.#stream.once("drain", resolve));
		} else {
			const whole = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
			for (let start = 0; start < whole.length; start += this.#chunkBytes) {
				const piece = whole.subarray(start, start + this.#chunkBytes);
				await new Promise<void>((resolve) => this.#stream.write(piece, () => resolve()));
			}
		}
		this.#lineCount += 1;
		if (this.#lineCount % LINES_PER_LOOP === 0) await new Promise((resolve) => setImmediate(resolve));
	}
}
