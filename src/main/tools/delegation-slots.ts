/**
 * How many delegated runs go at once in this process, over all its pi sessions, and which conversations they are on. The
 * ones above the limit wait in the order they came; one conversation takes one run.
 */

import { AgyError } from "../../shared/errors.ts";

/** Runs at once: enough to fan out, few enough for an account's quota and a machine's memory. */
const MAX_DELEGATIONS = 4;

export class DelegationSlots {
	readonly #limit: number;
	#taken = 0;
	readonly #waiting: (() => void)[] = [];
	readonly #conversations = new Set<string>();

	constructor(limit = MAX_DELEGATIONS) {
		this.#limit = limit;
	}

	/**
	 * A slot; what is returned gives it back and may be called twice. `onWait` is called when there is none. Throws
	 * the signal's reason when it aborts first.
	 */
	async take(signal: AbortSignal, onWait: () => void): Promise<() => void> {
		signal.throwIfAborted();
		if (this.#taken < this.#limit) {
			this.#taken++;
		} else {
			onWait();
			await this.#turnOf(signal);
		}
		let isGiven = true;
		return () => {
			if (!isGiven) return;
			isGiven = false;
			this.#giveBack();
		};
	}

	/** Keeps others off a conversation until what is returned is called. Throws `conversation-busy` when one is on it. */
	claim(conversationId: string): () => void {
		if (this.#conversations.has(conversationId)) {
			throw new AgyError(
				"conversation-busy",
				`Another delegated run is working in the conversation ${conversationId}. Wait for it, or leave conversationId out to start a fresh one.`,
			);
		}
		this.#conversations.add(conversationId);
		return () => this.#conversations.delete(conversationId);
	}

	/** Whoever gives a slot back hands it to the one who waits longest. */
	#turnOf(signal: AbortSignal): Promise<void> {
		return new Promise((resolve, reject) => {
			const onAbort = () => {
				this.#waiting.splice(this.#waiting.indexOf(grant), 1);
				reject(signal.reason);
			};
			const grant = () => {
				signal.removeEventListener("abort", onAbort);
				resolve();
			};
			this.#waiting.push(grant);
			signal.addEventListener("abort", onAbort, { once: true });
		});
	}

	#giveBack(): void {
		const next = this.#waiting.shift();
		if (next) next();
		else this.#taken--;
	}
}
