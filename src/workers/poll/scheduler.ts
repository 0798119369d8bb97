/**
 * The one clock of a poll lane. Every run is looked at each 250 ms; a notification from the directory brings the look
 * forward, and because it may come before the commit it tells of is visible, a second look follows. A run whose looks are
 * dear is looked at less often, so that it delays itself and nobody else.
 */

import { type FSWatcher, watch } from "node:fs";
import { POLL_INTERVAL_MS, POLL_RECHECK_MS } from "../../shared/limits.ts";

export type Run = {
	/** A file of this name changed: is it one of this run? */
	concerns(fileName: string): boolean;
	/** Looks for what is new. Must not throw. */
	look(): void;
};

type Entry = {
	readonly run: Run;
	readonly directory: string;
	dueMs: number;
	/** Not looked at before, whatever is notified. */
	earliestMs: number;
};

/** A run's looks may take this share of the thread's time. */
const MAX_SHARE = 1 / 10;

export class Scheduler {
	readonly #entries = new Map<Run, Entry>();
	readonly #watchers = new Map<string, { watcher: FSWatcher | null; runs: number }>();
	readonly #now: () => number;
	#timer: NodeJS.Timeout | undefined;
	#timerDueMs = Number.POSITIVE_INFINITY;

	constructor(now: () => number = () => performance.now()) {
		this.#now = now;
	}

	/** Looks at once, and from then on until `remove`. */
	add(run: Run, directory: string): void {
		this.#entries.set(run, { run, directory, dueMs: this.#now(), earliestMs: 0 });
		const watched = this.#watchers.get(directory);
		if (watched) watched.runs++;
		else this.#watchers.set(directory, { watcher: this.#watch(directory), runs: 1 });
		this.#arm();
	}

	remove(run: Run): void {
		const entry = this.#entries.get(run);
		if (!entry) return;
		this.#entries.delete(run);
		const watched = this.#watchers.get(entry.directory);
		if (watched && --watched.runs === 0) {
			watched.watcher?.close();
			this.#watchers.delete(entry.directory);
		}
		if (this.#entries.size === 0) this.#disarm();
	}

	close(): void {
		for (const run of [...this.#entries.keys()]) this.remove(run);
	}

	/** Null where the directory cannot be watched, not there yet for one: then the interval alone finds what is new. */
	#watch(directory: string): FSWatcher | null {
		try {
			const watcher = watch(directory, { persistent: false }, (_event, fileName) => {
				for (const entry of this.#entries.values()) {
					if (entry.directory === directory && (fileName === null || entry.run.concerns(fileName)))
						this.#bringForward(entry);
				}
			});
			watcher.on("error", () => {
				watcher.close();
				const watched = this.#watchers.get(directory);
				if (watched?.watcher === watcher) watched.watcher = null; // Watched anew with the next look.
			});
			return watcher;
		} catch {
			return null;
		}
	}

	#bringForward(entry: Entry): void {
		const now = this.#now();
		if (now >= entry.earliestMs) this.#lookAt(entry);
		entry.dueMs = Math.min(entry.dueMs, Math.max(entry.earliestMs, now + POLL_RECHECK_MS));
		this.#arm();
	}

	/** Cheap runs are looked at together, on one grid of intervals. */
	#lookAt(entry: Entry): void {
		const began = this.#now();
		entry.run.look();
		const ended = this.#now();
		entry.earliestMs = ended + (ended - began) / MAX_SHARE;
		entry.dueMs = Math.max(entry.earliestMs, (Math.floor(ended / POLL_INTERVAL_MS) + 1) * POLL_INTERVAL_MS);
	}

	#arm(): void {
		let dueMs = Number.POSITIVE_INFINITY;
		for (const entry of this.#entries.values()) dueMs = Math.min(dueMs, entry.dueMs);
		if (dueMs >= this.#timerDueMs || dueMs === Number.POSITIVE_INFINITY) return;
		clearTimeout(this.#timer);
		this.#timerDueMs = dueMs;
		this.#timer = setTimeout(() => this.#fire(), Math.max(0, dueMs - this.#now()));
	}

	#fire(): void {
		this.#disarm();
		const now = this.#now();
		for (const [directory, watched] of this.#watchers) watched.watcher ??= this.#watch(directory); // It may be there now.
		for (const entry of [...this.#entries.values()]) {
			if (entry.dueMs <= now && this.#entries.has(entry.run)) this.#lookAt(entry);
		}
		this.#arm();
	}

	#disarm(): void {
		clearTimeout(this.#timer);
		this.#timerDueMs = Number.POSITIVE_INFINITY;
	}
}
