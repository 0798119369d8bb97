/**
 * What happened lately, by name and without content: the last events of all sessions of the process, kept in memory for
 * `/agy doctor` and reports. A fact is a number, a word of ours, an id or a tool's name; never what was said.
 */

import { redact } from "../../shared/redact.ts";

export type LifecycleEvent =
	| "extension-load"
	| "agy-command"
	| "turn-start"
	| "turn-end"
	| "turn-error"
	| "turn-retry"
	| "abort"
	| "timeout"
	| "spawn"
	| "exit"
	| "recycle"
	| "lane-crash"
	| "call-tool"
	| "call-tool-ok"
	| "call-tool-failed"
	| "call-tool-escalated"
	| "late-result"
	| "ask-end"
	| "recorder-failed";

/** An event with its facts. */
export type Mark = { readonly event: LifecycleEvent; readonly [fact: string]: string | number | boolean | null };

export type LifecycleEntry = { readonly timeMs: number; readonly mark: Mark };

/** A few turns of a few sessions. */
const MAX_ENTRIES = 100;
const MAX_FACT_CHARS = 100;

export class Lifecycle {
	readonly #entries: LifecycleEntry[] = [];

	/** Oldest first. */
	get entries(): readonly LifecycleEntry[] {
		return [...this.#entries];
	}

	add(mark: Mark): void {
		this.#entries.push({ timeMs: Date.now(), mark });
		if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
	}
}

/** As it may be kept: short, and without credentials. */
export function toSafeMark(mark: Mark): Mark {
	const facts = Object.entries(mark).map(([name, value]) => [
		name,
		typeof value === "string" ? redact(value).slice(0, MAX_FACT_CHARS) : value,
	]);
	return Object.fromEntries(facts) as Mark;
}
