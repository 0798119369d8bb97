/**
 * Signals that reach the process: journaled, offered to scenario steps that wait for one, then handed to whoever decides
 * what stopping means at the moment (a turn is interrupted, an idle process leaves).
 */
import type { Journal } from "./journal.ts";

export type SignalName = "SIGINT" | "SIGTERM" | "SIGHUP";
const HANDLED_SIGNALS: readonly SignalName[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export class SignalInbox {
	#ignored: readonly string[] = [];
	#seen: string[] = [];
	#waiting: { readonly name: string; readonly resolve: () => void }[] = [];
	#onStop: (name: SignalName) => void;

	constructor(journal: Journal, onStop: (name: SignalName) => void) {
		this.#onStop = onStop;
		for (const name of HANDLED_SIGNALS) {
			process.on(name, () => {
				journal.append({ kind: "signal", name });
				this.#deliver(name);
			});
		}
	}

	/** Signals that are journaled and otherwise without effect. */
	ignore(names: readonly string[]): void {
		this.#ignored = names;
	}

	onStop(stop: (name: SignalName) => void): void {
		this.#onStop = stop;
	}

	/** Resolves when the signal arrives, at once when it came earlier and nobody waited for it. */
	waitFor(name: string, abort: AbortSignal): Promise<void> {
		const index = this.#seen.indexOf(name);
		if (index >= 0) {
			this.#seen.splice(index, 1);
			return Promise.resolve();
		}
		return new Promise((resolve, reject) => {
			this.#waiting.push({ name, resolve });
			abort.addEventListener("abort", () => reject(abort.reason), { once: true });
		});
	}

	/** A signal a step waits for belongs to that step alone. */
	#deliver(name: SignalName): void {
		const waiting = this.#waiting.find((entry) => entry.name === name);
		if (waiting !== undefined) {
			this.#waiting = this.#waiting.filter((entry) => entry !== waiting);
			waiting.resolve();
			return;
		}
		this.#seen.push(name);
		if (!this.#ignored.includes(name)) this.#onStop(name);
	}
}
