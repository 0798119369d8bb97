/**
 * NDJSON framing: bytes in, whole lines out. Splits on LF only (U+2028 and friends may stand raw inside strings), keeps
 * an incomplete line as the chunks it came in and joins them once. Runs in a lane; knows nothing about JSON or agy.
 */

const LF = 0x0a;
const CR = 0x0d;

export type LineSink = {
	/** A line without its line end, never empty. The bytes are only valid during the call. */
	line(bytes: Buffer): void;
	/** A line above the cap; its bytes are dropped up to the next LF. Called once, when the line ends. */
	tooLong(byteLength: number, start: Buffer): void;
};

export class LineReader {
	readonly #sink: LineSink;
	readonly #maxLineBytes: number;
	#parts: Buffer[] = [];
	#partBytes = 0;
	/** Bytes of the line being dropped; 0 when none is. */
	#droppedBytes = 0;
	#droppedStart: Buffer = Buffer.alloc(0);

	constructor(sink: LineSink, maxLineBytes: number) {
		this.#sink = sink;
		this.#maxLineBytes = maxLineBytes;
	}

	/** Bytes of the incomplete line that are held. */
	get heldBytes(): number {
		return this.#partBytes;
	}

	/** Takes ownership of `chunk`. */
	push(chunk: Buffer): void {
		let start = 0;
		for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
			this.#endLine(chunk, start, end);
			start = end + 1;
		}
		if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start));
	}

	/** The stream has ended: what is left counts as a line. */
	end(): void {
		this.#endLine(Buffer.alloc(0), 0, 0);
	}

	#endLine(chunk: Buffer, start: number, end: number): void {
		if (this.#partBytes === 0 && this.#droppedBytes === 0) {
			if (end - start > this.#maxLineBytes) this.#sink.tooLong(end - start, chunk.subarray(start, end));
			else this.#emit(chunk, start, end);
			return;
		}
		if (end > start) this.#keep(chunk.subarray(start, end));
		if (this.#droppedBytes > 0) {
			this.#sink.tooLong(this.#droppedBytes, this.#droppedStart);
			this.#droppedBytes = 0;
			this.#droppedStart = Buffer.alloc(0);
			return;
		}
		const line = Buffer.concat(this.#parts, this.#partBytes);
		this.#parts = [];
		this.#partBytes = 0;
		this.#emit(line, 0, line.length);
	}

	#emit(bytes: Buffer, start: number, end: number): void {
		const trimmedEnd = end > start && bytes[end - 1] === CR ? end - 1 : end;
		if (trimmedEnd > start) this.#sink.line(bytes.subarray(start, trimmedEnd));
	}

	#keep(part: Buffer): void {
		if (this.#droppedBytes > 0) {
			this.#droppedBytes += part.length;
			return;
		}
		this.#parts.push(part);
		this.#partBytes += part.length;
		if (this.#partBytes <= this.#maxLineBytes) return;
		this.#droppedBytes = this.#partBytes;
		this.#droppedStart = Buffer.from(this.#parts[0] ?? []);
		this.#parts = [];
		this.#partBytes = 0;
	}
}
