/**
 * The only sink for diagnostics: a file a day, one JSON object a line, warnings and errors only unless debugging. pi owns the
 * terminal, so nothing goes there. Never throws, never blocks a turn; lines that cannot be written are dropped.
 */

import { appendFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LogLevel } from "../shared/lane-control.ts";
import { redact } from "./redact.ts";

const KEEP_DAYS = 14;
const MAX_TEXT_CHARS = 2_000;
const FILE_NAME = /^pi-agy-(\d{4}-\d{2}-\d{2})\.ndjson$/;

export class Log {
	readonly #directory: string;
	readonly #debug: boolean;
	#queue: Promise<unknown> | null = null;

	constructor(directory: string, debug: boolean) {
		this.#directory = directory;
		this.#debug = debug;
	}

	write(level: LogLevel, text: string): void {
		if (!this.#debug && level !== "error" && level !== "warn") return;
		const time = new Date().toISOString();
		const line = `${JSON.stringify({ time, pid: process.pid, level, text: redact(text).slice(0, MAX_TEXT_CHARS) })}\n`;
		this.#queue = (this.#queue ?? this.#prepare()).then(() =>
			appendFile(join(this.#directory, `pi-agy-${time.slice(0, 10)}.ndjson`), line, { mode: 0o600 }),
		);
		this.#queue = this.#queue.catch(() => {}); // A full or read-only disk must not end a turn.
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
