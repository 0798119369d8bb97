/**
 * Records the raw lines of a link, both ways, and writes each turn into a file of its own. Only when the user asked for it:
 * prompts and answers are in it, credentials are not. Bounded in bytes per turn and in turns per link; a disk that cannot be
 * written is told once and costs nothing else.
 */

import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { StringDecoder } from "node:string_decoder";
import {
	CAPTURE_FORMAT,
	type CaptureEnd,
	type CaptureEntry,
	type CaptureHead,
	type CaptureSettings,
	captureFileName,
} from "../shared/capture.ts";
import { toError } from "../shared/errors.ts";
import type { LinkId, RunExit } from "../shared/messages.ts";
import { redactEntries } from "./captured-lines.ts";

/** Of one turn: a long one with large tool outputs. What comes beyond is counted; results are kept all the same. */
const MAX_TURN_CHARS = 4 * 1024 * 1024;
const RESULT_START = '{"event":"result"';

type Output = "out" | "err";

export class FlightRecorder {
	readonly #settings: CaptureSettings;
	readonly #link: LinkId;
	readonly #log: (text: string) => void;
	readonly #decoders = { out: new StringDecoder("utf8"), err: new StringDecoder("utf8") };
	/** The line of each output that has no end yet. */
	readonly #begun = { out: "", err: "" };
	readonly #files: string[] = [];
	#entries: CaptureEntry[] = [];
	#chars = 0;
	#droppedLines = 0;
	#startedAtMs = 0;
	#startMs = 0;
	#turns = 0;
	#exit: RunExit | null = null;
	#writing: Promise<void> = Promise.resolve();
	#hasFailed = false;

	constructor(settings: CaptureSettings, link: LinkId, log: (text: string) => void) {
		this.#settings = settings;
		this.#link = link;
		this.#log = log;
	}

	/** Resolves when every turn so far is on disk. */
	get settled(): Promise<void> {
		return this.#writing;
	}

	sent(text: string): void {
		for (const line of text.split("\n")) if (line !== "") this.#add("in", line);
	}

	received(dir: Output, chunk: Buffer): void {
		const lines = (this.#begun[dir] + this.#decoders[dir].write(chunk)).split("\n");
		this.#begun[dir] = (lines.pop() ?? "").slice(0, MAX_TURN_CHARS);
		for (const line of lines) if (line !== "") this.#add(dir, line);
	}

	exited(exit: RunExit): void {
		this.#exit = exit;
	}

	/** agy gave the turn's result; null: its output has ended. */
	turnEnded(status: string | null): void {
		for (const dir of ["out", "err"] as const) {
			if (this.#begun[dir] !== "") this.#add(dir, this.#begun[dir]);
			this.#begun[dir] = "";
		}
		if (this.#entries.length === 0) return;
		const head = { capture: CAPTURE_FORMAT, link: this.#link, startedAtMs: this.#startedAtMs };
		const end = { end: { status, exit: this.#exit, droppedLines: this.#droppedLines } };
		const name = captureFileName(this.#startedAtMs, process.pid, this.#link, ++this.#turns);
		const entries = this.#entries;
		this.#entries = [];
		this.#chars = 0;
		this.#droppedLines = 0;
		this.#writing = this.#writing
			.then(() => this.#write(name, head, entries, end))
			.catch((error: unknown) => {
				if (!this.#hasFailed) this.#log(`a turn could not be captured: ${toError(error).message}`);
				this.#hasFailed = true;
			});
	}

	#add(dir: CaptureEntry["dir"], line: string): void {
		if (this.#entries.length === 0) {
			this.#startedAtMs = Date.now();
			this.#startMs = performance.now();
		}
		if (this.#chars + line.length > MAX_TURN_CHARS && !line.startsWith(RESULT_START)) {
			this.#droppedLines++;
			return;
		}
		this.#chars += line.length;
		this.#entries.push({ t: Math.round(performance.now() - this.#startMs), dir, line });
	}

	async #write(name: string, head: CaptureHead, entries: readonly CaptureEntry[], end: CaptureEnd): Promise<void> {
		const { directory, turns } = this.#settings;
		const lines = [head, ...redactEntries(entries), end].map((line) => `${JSON.stringify(line)}\n`);
		const path = join(directory, name);
		await mkdir(directory, { recursive: true, mode: 0o700 });
		await writeFile(`${path}.part`, lines.join(""), { mode: 0o600 });
		await rename(`${path}.part`, path);
		this.#files.push(path);
		while (this.#files.length > turns) await rm(this.#files.shift() as string, { force: true });
	}
}
