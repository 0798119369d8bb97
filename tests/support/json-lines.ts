/** JSONL as pi writes it: records end with LF and nothing else; other line separators may stand inside strings. */
import { StringDecoder } from "node:string_decoder";

export class JsonLines {
	readonly #decoder = new StringDecoder("utf8");
	readonly #take: (line: string) => void;
	#rest = "";

	constructor(take: (line: string) => void) {
		this.#take = take;
	}

	push(chunk: Buffer): void {
		const lines = (this.#rest + this.#decoder.write(chunk)).split("\n");
		this.#rest = lines.pop() ?? "";
		for (const line of lines) if (line !== "") this.#take(line);
	}
}
