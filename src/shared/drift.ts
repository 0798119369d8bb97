/**
 * What agy says that this version does not know, by its shape: where it stood and what it was called. Never content. A
 * name that does not look like one is counted without it.
 */

export type DriftKind =
	| "event"
	| "step-type"
	| "step-state"
	/** A key beside those that are known. */
	| "field"
	/** How a turn ended. */
	| "status"
	/** A line that could not be used, by the reason. */
	| "line"
	/** How a process ended by itself. */
	| "exit";

export type Drift = { readonly what: DriftKind; readonly name: string; readonly count: number };

/** agy's own names are words of at most some 40 characters. */
const MAX_NAME_CHARS = 60;
const NAME = /^[A-Za-z0-9][\w.:/-]*$/;
/** Names that are remembered in one place; what comes beyond is counted together. */
const MAX_NAMES = 100;
const UNNAMED = "(other)";

export class DriftCounter {
	readonly #counts = new Map<string, { what: DriftKind; name: string; count: number }>();

	get isEmpty(): boolean {
		return this.#counts.size === 0;
	}

	/** Most frequent first. */
	get all(): readonly Drift[] {
		return [...this.#counts.values()].map((entry) => ({ ...entry })).sort((a, b) => b.count - a.count);
	}

	add(what: DriftKind, name: string, count = 1): void {
		const isName = name.length <= MAX_NAME_CHARS && NAME.test(name);
		const wanted = isName ? name : UNNAMED;
		const isKnown = this.#counts.has(`${what} ${wanted}`);
		const kept = isKnown || this.#counts.size < MAX_NAMES ? wanted : UNNAMED;
		const entry = this.#counts.get(`${what} ${kept}`);
		if (entry) entry.count += count;
		else this.#counts.set(`${what} ${kept}`, { what, name: kept, count });
	}

	/** What was counted since the last call. */
	take(): readonly Drift[] {
		const taken = this.all;
		this.#counts.clear();
		return taken;
	}
}
