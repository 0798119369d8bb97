/**
 * The cards of one turn. A card is opened as a call to the display tool in the pi message being written, and settled when
 * agy reports the step's end, or leaves it behind. A step has one card; one that was left behind gets a second for its end.
 *
 * A step that only looks at files and maps to a tool of pi's (native-tools.ts) is a call of that tool instead. It may still
 * fail while it is active, so it waits unseen for its end, and other cards are opened meanwhile: done makes it pi's call,
 * an error a card with agy's words. When agy goes on without its end, it becomes a card of the display tool like any other.
 */

import type { SubagentEvent, ToolEvent } from "../../shared/events.ts";
import type { PiStream } from "../pi-stream.ts";
import { type StepOutcome, type Steps, toStepArguments, toStepOutcome } from "../steps.ts";
import type { CardDisplay } from "../turn-contract.ts";
import { mayRunAgain, type NativeCall, toNativeCall } from "./native-tools.ts";
import type { StepFiles } from "./step-files.ts";

export class StepCards {
	readonly #turnId: string;
	readonly #steps: Steps;
	readonly #files: Pick<StepFiles, "viewOf"> | null;
	/** Step number -> call id, for the calls of the current message or the one that ended last. */
	readonly #open = new Map<number, string>();
	/** Steps that have been shown, and whether their end was. */
	readonly #shown = new Map<number, "ended" | "left-behind">();
	/** Active steps that pi may run again once they have ended. */
	readonly #waiting = new Map<number, ToolEvent>();

	constructor(turnId: string, steps: Steps, files: Pick<StepFiles, "viewOf"> | null = null) {
		this.#turnId = turnId;
		this.#steps = steps;
		this.#files = files;
	}

	/** No card is in the message being written, nor in the one that pi runs. */
	get isEmpty(): boolean {
		return this.#open.size === 0;
	}

	get hasUnsettled(): boolean {
		return [...this.#open.values()].some((callId) => this.#steps.isOpen(callId));
	}

	/** Steps that are shown once their end is known. */
	get hasWaiting(): boolean {
		return this.#waiting.size > 0;
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

	/** Shows a step that has no card yet, at once or at its end. */
	show(event: ToolEvent | SubagentEvent, stream: PiStream, display: CardDisplay): void {
		const native = event.kind === "tool" ? toAvailableCall(event, display) : null;
		const outcome = toStepOutcome(event);
		if (event.kind === "tool" && native && !outcome && !this.#shown.has(event.step)) {
			this.#waiting.set(event.step, event);
			return;
		}
		this.#waiting.delete(event.step);
		if (native && outcome?.state === "done") this.#openNative(event.step, native, stream);
		else this.#openDisplay(event, outcome, stream, display.tool);
	}

	/** agy goes on without the end of steps that waited for it: they are shown as they are. */
	showWaiting(stream: PiStream, tool: string): void {
		for (const event of this.#waiting.values()) this.#openDisplay(event, null, stream, tool);
		this.#waiting.clear();
	}

	/** Says in one line that a step has ended, where no card can be shown. */
	writeLine(event: ToolEvent | SubagentEvent, stream: PiStream): void {
		const outcome = toStepOutcome(event);
		if (!outcome) return;
		this.#waiting.delete(event.step);
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
		if (outcome) this.#shown.set(event.step, "ended");
		this.#tell(callId, event, outcome);
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

	#openNative(step: number, call: NativeCall, stream: PiStream): void {
		const callId = this.#newCallId(step);
		this.#shown.set(step, "ended");
		this.#open.set(step, callId);
		stream.toolCall({ id: callId, name: call.name, arguments: { ...call.arguments } });
	}

	#openDisplay(event: ToolEvent | SubagentEvent, outcome: StepOutcome | null, stream: PiStream, tool: string): void {
		const callId = this.#newCallId(event.step);
		this.#shown.set(event.step, outcome ? "ended" : "left-behind");
		this.#steps.open(callId);
		this.#open.set(event.step, callId);
		stream.toolCall({ id: callId, name: tool, arguments: toStepArguments(event) });
		this.#tell(callId, event, outcome);
	}

	#newCallId(step: number): string {
		return `${this.#turnId}-${step}${this.#shown.has(step) ? "-end" : ""}`;
	}

	#tell(callId: string, event: ToolEvent | SubagentEvent, outcome: StepOutcome | null): void {
		if (outcome) {
			const view = this.#files?.viewOf(event.step);
			this.#steps.settle(callId, view ? { ...outcome, view } : outcome);
		} else if (event.kind === "tool" && event.output) {
			this.#steps.report(callId, event.output);
		}
	}
}

/** The call of pi's that the step can be run again as; null when there is none, or pi has not got that tool. */
function toAvailableCall({ name, args }: ToolEvent, display: CardDisplay): NativeCall | null {
	if (!mayRunAgain(name)) return null;
	const call = toNativeCall(name, args, display.cwd);
	return call !== null && display.nativeTools().has(call.name) ? call : null;
}
