/**
 * Words on their way to pi's agent. pi takes a prompt without an answer and refuses some (while it compacts, without a model,
 * without a key), so what it did is watched: a prompt is taken when it stands in pi's queue or among the messages of a run.
 * One that pi has done nothing with by the time it is idle is the sender's again: no words are lost.
 */

import { setTimeout as delay } from "node:timers/promises";

const LOOK_INTERVAL_MS = 50;
/** Idle for so long with nothing done: pi needs a moment for other extensions and the look for a key before a run begins. */
const IDLE_MS = 1_000;

/** pi, as far as a prompt is concerned. */
export type Agent = {
	/** Why it would refuse a prompt now, as a sentence; null when it may take one. */
	refusal(): string | null;
	isIdle(): boolean;
	hasQueue(): boolean;
	editorText(): string;
	/** Hands it over: now, or behind what the agent is at. */
	prompt(text: string): void;
};

export class Sending {
	readonly #agent: Agent;
	readonly #waiting = new Set<{ readonly text: string; isTaken: boolean }>();

	constructor(agent: Agent) {
		this.#agent = agent;
	}

	/** A message of the user's that a run begins with, or goes on with. */
	started(message: string): void {
		for (const sent of this.#waiting) if (message.includes(sent.text)) sent.isTaken = true;
	}

	/** Resolves with null when pi has the words, else with why not, as a sentence. Rejects with the signal's reason. */
	async send(text: string, signal: AbortSignal): Promise<string | null> {
		const refusal = this.#agent.refusal();
		if (refusal !== null) return refusal;
		const sent = { text, isTaken: false };
		const hadQueue = this.#agent.hasQueue();
		this.#waiting.add(sent);
		try {
			this.#agent.prompt(text);
			return (await this.#watch(sent, hadQueue, signal)) ? null : "pi did not take the words.";
		} finally {
			this.#waiting.delete(sent);
		}
	}

	async #watch(sent: { readonly text: string; readonly isTaken: boolean }, hadQueue: boolean, signal: AbortSignal) {
		let idleMs = 0;
		while (idleMs < IDLE_MS) {
			await delay(LOOK_INTERVAL_MS, undefined, { signal, ref: false });
			if (sent.isTaken || (!hadQueue && this.#agent.hasQueue())) return true;
			idleMs = this.#agent.isIdle() ? idleMs + LOOK_INTERVAL_MS : 0;
		}
		return this.#agent.editorText().includes(sent.text); // pi puts its queue there when a run is stopped.
	}
}
