/**
 * The only sink for diagnostics: a file a day, one JSON object a line, warnings and errors only unless debugging. pi owns the
 * terminal, so nothing goes there. Never throws, never blocks a turn; lines that cannot be written are dropped.
 */

import { appendFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LogLevel } from "../shared/lane-control.ts";
import { redact } from "../shared/redact.ts";
import { Lifecycle, type LifecycleEntry, type Mark, toSafeMark } from "./diagnostics/lifecycle.ts";

const KEEP_DAYS = 14;
const MAX_TEXT_CHARS = 2_000;
/** Far more than is written, so that no secret is cut before it is seen; what a pattern costs grows with the text. */
const MAX_REDACTED_CHARS = 64 * 1024;
const FILE_NAME = /^pi-agy-(\d{4}-\d{2}-\d{2})\.ndjson$/;

/** The part of the log that others are given. */
export type LogWriter = (level: LogLevel, text: string, mark?: Mark | null) => void;

export class Log {
	readonly #directory: string;
	readonly #debug: boolean;
	readonly #lifecycle = new Lifecycle();
	#queue: Promise<unknown> | null = null;

	constructor(directory: string, debug: boolean) {
		this.#directory = directory;
		this.#debug = debug;
	}

	/** What was marked lately, whatever its level. */
	get lifecycle(): readonly LifecycleEntry[] {
		return this.#lifecycle.entries;
	}

	/** `text` never holds a prompt, an answer, or what a tool was given or said. Never throws, never blocks. */
	write(level: LogLevel, text: string, mark: Mark | null = null): void {
		const safeMark = mark === null ? null : toSafeMark(mark);
		if (safeMark !== null) this.#lifecycle.add(safeMark);
		if (!this.#debug && level !== "error" && level !== "warn") return;
		const time = new Date().toISOString();
		const { event, ...facts } = safeMark ?? {};
		const said = redact(text.slice(0, MAX_REDACTED_CHARS)).slice(0, MAX_TEXT_CHARS);
		const line = `${JSON.stringify({ time, pid: process.pid, level, event, facts: event && facts, text: said })}\n`;
		this.#queue = (this.#queue ?? this.#prepare()).then(() =>
			appendFile(join(this.#directory, `pi-agy-${time.slice(0, 10)}.ndjson`), line, { mode: 0o600 }),
		);
		this.#queue = this.#queue.catch(() => {}); // A full or read-only disk must not end a turn.
	}

	get directory(): string {
		return this.#directory;
	}

	/** Resolves when what was written so far is on disk. */
	async settled(): Promise<void> {
		await this.#queue;
	}

	async #prepare(): Promise<void> {
		await mkdir(this.#directory, { recursive: true, mode: 0o700 });
		const oldest = new Date(Date.now() - KEEP_DAYS * 86_400_000).toISOString().slice(0, 10);
		for (const name of await readdir(this.#directory)) {
			const day = FILE_NAME.exec(name)?.[1];
			if (day && day < oldest) await rm(join(this.#directory, name), { force: true });
		}
	}
}
