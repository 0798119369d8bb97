/**
 * journal.ndjson: what every simulated process saw and did, for tests to read afterwards.
 * Each entry is one synchronous O_APPEND write, so the journal is complete even when the process is killed, and entries
 * of several processes never mix within a line.
 */
import { appendFileSync, readFileSync } from "node:fs";

export type JournalEntry =
	| {
			readonly kind: "start";
			readonly argv: readonly string[];
			readonly cwd: string;
			readonly env: readonly string[];
			readonly scenario: string;
			readonly version: string;
	  }
	| { readonly kind: "stdin"; readonly line: string }
	| { readonly kind: "stdin-eof" }
	| { readonly kind: "signal"; readonly name: string }
	| { readonly kind: "reached"; readonly name: string }
	| { readonly kind: "grandchild"; readonly childPid: number }
	| { readonly kind: "mcp"; readonly event: string; readonly [detail: string]: unknown }
	| { readonly kind: "hook"; readonly event: string; readonly [detail: string]: unknown }
	| { readonly kind: "exit"; readonly code: number | null; readonly signal?: string };

export type Journal = {
	append(entry: JournalEntry): void;
	/** Starts in this state folder whose arguments satisfy the predicate, so far. */
	countStarts(predicate: (argv: readonly string[]) => boolean): number;
};

export function openJournal(path: string): Journal {
	return {
		append: (entry) => appendFileSync(path, `${JSON.stringify({ pid: process.pid, ...entry })}\n`, { mode: 0o600 }),
		countStarts: (predicate) => readEntries(path).filter((e) => e.kind === "start" && predicate(e.argv)).length,
	};
}

function readEntries(path: string): readonly JournalEntry[] {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch {
		return []; // no journal yet: nobody started before
	}
	return text
		.split("\n")
		.filter((line) => line !== "")
		.map((line): JournalEntry => JSON.parse(line));
}
