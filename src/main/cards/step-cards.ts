/**
 * The cards of one turn. A card is opened as a call to the display tool in the pi message being written, and settled when
 * agy reports the step's end, or leaves it behind. A step has one card; one that was left behind gets a second for its end.
 */

import type { SubagentEvent, ToolEvent } from "../../shared/events.ts";
import type { PiStream } from "../pi-stream.ts";
import { type Steps, toStepArguments, toStepOutcome } from "../steps.ts";

export class StepCards {
	readonly #turnId: string;
	readonly #steps: Steps;
	/** Step number -> call id, for the calls of the current message or the one that ended last. */
	readonly #open = new Map<number, string>();
	/** Steps that have been shown, and whether their end was. */
	readonly #shown = new Map<number, "ended" | "left-behind">();

	constructor(turnId: string, steps: Steps) {
		this.#turnId = turnId;
		this.#steps = steps;
	}

	/** No card is in the message being written, nor in the one that pi runs. */
	get isEmpty(): boolean {
		return this.#open.size === 0;
	}

	get hasUnsettled(): boolean {
		return [...this.#open.values()].some((callId) => this.#steps.isOpen(callId));
	}

	/** Steps whose end agy has not reported. */
	get hasLeftBehind(): boolean {
		return [...this.#shown.values()].includes("left-behind");
	}

	owns(callId: string): boolean {
		return [...this.#open.values()].includes(callId);
	}

	/** True when there is nothing about this step that was not shown before. */
	isOldNews(event: ToolEvent | SubagentEvent): boolean {
		const shown = this.#shown.get(event.step);
		return shown === "ended" || (shown === "left-behind" && toStepOutcome(event) === null);
	}

	/** Opens a card; `tool` is the display tool's name. */
	open(event: ToolEvent | SubagentEvent, stream: PiStream, tool: string): void {
		const callId = `${this.#turnId}-${event.step}${this.#shown.has(event.step) ? "-end" : ""}`;
		const outcome = toStepOutcome(event);
		this.#shown.set(event.step, outcome ? "ended" : "left-behind");
		this.#steps.open(callId);
		this.#open.set(event.step, callId);
		stream.toolCall({ id: callId, name: tool, arguments: toStepArguments(event) });
		if (outcome) this.#steps.settle(callId, outcome);
	}

	/** Says in one line that a step has ended, where no card can be shown. */
	writeLine(event: ToolEvent | SubagentEvent, stream: PiStream): void {
		const outcome = toStepOutcome(event);
		if (!outcome) return;
		this.#shown.set(event.step, "ended");
		stream.thinking(
			`[agy ran ${toStepArguments(event).tool}${outcome.state === "error" ? `: ${outcome.output}` : ""}]\n`,
		);
	}

	/** Takes news of a step whose card is open. False when there is no such card. */
	settle(event: ToolEvent | SubagentEvent): boolean {
		const callId = this.#open.get(event.step);
		if (callId === undefined) return false;
		const outcome = toStepOutcome(event);
		if (outcome) {
			this.#shown.set(event.step, "ended");
			this.#steps.settle(callId, outcome);
		}
		return true;
	}

	/** agy went on without the steps' end: they run in the background, or their end will never be reported. */
	leaveBehind(): void {
		for (const callId of this.#open.values()) {
			this.#steps.settle(callId, { state: "background", output: "Still running when agy went on.", durationMs: null });
		}
	}

	/** pi has run the calls, or nobody will. */
	release(): void {
		for (const callId of this.#open.values()) this.#steps.forget(callId);
		this.#open.clear();
	}
}
