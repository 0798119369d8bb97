/**
 * agy's own tool steps while pi shows them as cards. A card is a call to our display tool: the pi message ends with the
 * call, pi "runs" it, and what it returns is what agy already did. This is the meeting point of the two: the turn opens
 * and settles steps, the display tool waits for them.
 */

import type { JsonObject, SubagentEvent, ToolEvent } from "../shared/events.ts";
import { LIVE_OUTPUT_CHARS, STEP_OUTPUT_CHARS } from "../shared/limits.ts";
import type { StepView } from "./cards/step-files.ts";

export type StepOutcome = {
	readonly state: "done" | "error" | "background" | "lost";
	readonly output: string;
	/** As agy measured it; null when it did not. */
	readonly durationMs: number | null;
	/** What the step left in files; absent when there is nothing to show. Does not fail, and may take a while. */
	readonly view?: Promise<StepView>;
};

type Watcher = (output: string) => void;

type Entry = {
	readonly promise: Promise<StepOutcome>;
	readonly resolve: (outcome: StepOutcome) => void;
	isSettled: boolean;
	/** What the step printed before its end. */
	progress: string;
	readonly watchers: Set<Watcher>;
};

export class Steps {
	readonly #entries = new Map<string, Entry>();

	open(callId: string): void {
		let resolve: (outcome: StepOutcome) => void = () => {};
		const promise = new Promise<StepOutcome>((settle) => {
			resolve = settle;
		});
		this.#entries.set(callId, { promise, resolve, isSettled: false, progress: "", watchers: new Set() });
	}

	isOpen(callId: string): boolean {
		return this.#entries.get(callId)?.isSettled === false;
	}

	/** The step runs on; `output` is all that it has printed so far. */
	report(callId: string, output: string): void {
		const entry = this.#entries.get(callId);
		if (!entry || entry.isSettled) return;
		const progress = toLiveOutput(output);
		if (progress === entry.progress) return;
		entry.progress = progress;
		for (const watcher of entry.watchers) watcher(progress);
	}

	/** Tells what the step has printed by now, and from then on whatever it prints until its end. Returns the way out. */
	watch(callId: string, watcher: Watcher): () => void {
		const entry = this.#entries.get(callId);
		if (!entry) return () => {};
		entry.watchers.add(watcher);
		if (entry.progress !== "") watcher(entry.progress);
		return () => void entry.watchers.delete(watcher);
	}

	/** A step that ends without a word keeps what it printed before. */
	settle(callId: string, outcome: StepOutcome): void {
		const entry = this.#entries.get(callId);
		if (!entry || entry.isSettled) return;
		entry.isSettled = true;
		entry.watchers.clear();
		const words =
			outcome.state === "background" ? [entry.progress, outcome.output] : [outcome.output || entry.progress];
		entry.resolve({ ...outcome, output: words.filter((text) => text !== "").join("\n") });
	}

	/** What agy's step came to. A call nobody knows (an old session re-run by hand) is lost at once. */
	outcome(callId: string): Promise<StepOutcome> {
		return this.#entries.get(callId)?.promise ?? Promise.resolve(LOST);
	}

	forget(callId: string): void {
		this.settle(callId, LOST);
		this.#entries.delete(callId);
	}
}

const LOST: StepOutcome = { state: "lost", output: "The turn this step belonged to has ended.", durationMs: null };

/** What a step is called with, for the card. */
export function toStepArguments(event: ToolEvent | SubagentEvent): {
	readonly tool: string;
	readonly args: JsonObject;
} {
	if (event.kind === "tool") return { tool: event.name, args: event.args };
	return {
		tool: "invoke_subagent",
		args: { agents: event.agents.map(({ type, role, prompt }) => ({ type, role, prompt })) },
	};
}

/** The outcome of a step that has ended; null while it is active. */
export function toStepOutcome(event: ToolEvent | SubagentEvent): StepOutcome | null {
	if (event.state === "active") return null;
	const durationMs = event.durationMs ?? null;
	if (event.kind === "subagent")
		return { state: event.state, output: "Started; its result comes with a later answer.", durationMs };
	if (event.state === "error" || event.error) {
		return { state: "error", output: event.error?.message || event.output || "The tool failed.", durationMs };
	}
	return { state: "done", output: shorten(event.output ?? ""), durationMs };
}

/** The end of it: a running command is watched, not read. */
function toLiveOutput(output: string): string {
	return output.length > LIVE_OUTPUT_CHARS ? `…${output.slice(output.length - LIVE_OUTPUT_CHARS)}` : output;
}

function shorten(output: string): string {
	if (output.length <= STEP_OUTPUT_CHARS) return output;
	return `${output.slice(0, STEP_OUTPUT_CHARS)}\n[${output.length - STEP_OUTPUT_CHARS} more characters are not shown]`;
}
