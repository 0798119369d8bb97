/**
 * The cursor over a conversation's rows: what a tick has to say about the rows that changed. Pure; rows in, AgyEvents out,
 * the same events as agy's printed output gives. It is made for one turn.
 *
 * 1. A row is open until its status is terminal, and may change at any time: several grow side by side, one may stay open
 *    while later ones end. No row waits for another.
 * 2. A planner row gives thinking and text as they grow, then one model call with its usage. Text that is rewritten or
 *    gets shorter is said again as a whole, with `replaces`. After its end a row is still compared.
 * 3. A tool's row gives an `active` when its call is known and whenever it has printed more, and one end with the output. Calls that a planner row
 *    declares are not told: a tool's step is the row that executes it. They lend it a name and arguments.
 * 4. A row that cannot be read is left open and tried again with its next change, at the latest when agy has ended.
 * 5. `close`, when agy has ended and its last rows were taken: what is open ends as it is, and is named in the outcome.
 */

import type { AgyEvent, JsonObject, TokenUsage } from "../../shared/events.ts";
import { decodeStep, parseCallArgs, type Step, type StepCall, type StepRow } from "../decode/step-payload.ts";
import { GrowingText } from "./growing-text.ts";
import { durationOf, toNotice, toStepEvent } from "./step-events.ts";

/** What a turn's end is judged by, beside the events. */
export type TailOutcome = {
	/** The last error that no finished answer came after: of an error row or a model call, not of a tool. */
	readonly lastError: { readonly step: number; readonly message: string; readonly isQuota: boolean } | null;
	/** A model call is running, or was when agy ended. */
	readonly isPlannerOpen: boolean;
	/** The newest model call ended as DONE, with text. */
	readonly hasAnswer: boolean;
	/** Tools the newest model call asked for: with any, its text is not the end. */
	readonly declaredCallCount: number;
	/** Tool steps that the user or the permissions refused. */
	readonly denied: readonly { readonly step: number; readonly name: string }[];
	/** Steps that were open when agy ended. */
	readonly incompleteSteps: readonly number[];
	/** Steps whose row cannot be read, so far. */
	readonly unreadableSteps: readonly number[];
};

type RowState = {
	readonly step: number;
	type: number;
	trajectoryId: string;
	text: GrowingText;
	thinking: GrowingText;
	/** The newest version; null once the row has ended. */
	newest: Step | null;
	isUnreadable: boolean;
	isActiveTold: boolean;
	/** What a running tool had printed when it was told last. */
	printed: string;
	isEnded: boolean;
	isUsageTold: boolean;
	unknownStatusTold: number;
	/** Null of a step that is no model call. */
	planner: PlannerState | null;
};

type PlannerState = { readonly isOpen: boolean; readonly hasAnswer: boolean; readonly callCount: number };

/** Steps that are no work on the answer: a turn is complete without their end. */
const SIDE_KINDS: ReadonlySet<Step["kind"]> = new Set(["user-input", "error-message", "checkpoint", "bookkeeping"]);
const ENDED_EARLY = { type: "INCOMPLETE", message: "agy ended before this step did." };
const GENERATING = 8;
const PENDING = 1;

export class StepTail {
	readonly #firstStep: number;
	readonly #rows = new Map<number, RowState>();
	/** Declared by model calls, by call id: the newest of an id. */
	readonly #declared = new Map<string, StepCall>();
	readonly #countedResponses = new Set<string>();
	readonly #denied = new Map<number, string>();
	readonly #errors = new Map<number, { readonly message: string; readonly isQuota: boolean }>();
	readonly #incomplete: number[] = [];
	#isClosed = false;

	/** Rows before `firstStep` belong to earlier turns and say nothing. */
	constructor(firstStep = 0) {
		this.#firstStep = firstStep;
	}

	/** The steps whose rows may still change: a tick has to look at these beside the new ones. */
	get openSteps(): readonly number[] {
		return [...this.#rows.values()].filter(isOpen).map((row) => row.step);
	}

	/** The events of one tick, from the rows that are new or changed, in order of `idx`. */
	take(rows: readonly StepRow[]): readonly AgyEvent[] {
		const events: AgyEvent[] = [];
		if (this.#isClosed) return events;
		for (const row of rows) {
			if (row.idx >= this.#firstStep) this.#takeRow(events, row);
		}
		return events;
	}

	/** agy has ended. May be called twice. */
	close(): readonly AgyEvent[] {
		const events: AgyEvent[] = [];
		if (this.#isClosed) return events;
		this.#isClosed = true;
		const open = [...this.#rows.values()].filter(isOpen).sort((a, b) => a.step - b.step);
		for (const row of open) this.#closeRow(events, row);
		return events;
	}

	outcome(): TailOutcome {
		const rows = [...this.#rows.values()];
		const planners = rows.filter((row) => row.planner !== null).sort((a, b) => a.step - b.step);
		const newest = planners.at(-1)?.planner;
		const answeredAt = planners.findLast((row) => row.planner?.hasAnswer)?.step ?? -1;
		const lastErrorStep = Math.max(-1, ...this.#errors.keys());
		const lastError = lastErrorStep > answeredAt ? this.#errors.get(lastErrorStep) : undefined;
		return {
			lastError: lastError ? { step: lastErrorStep, ...lastError } : null,
			isPlannerOpen: planners.some((row) => row.planner?.isOpen),
			hasAnswer: newest?.hasAnswer ?? false,
			declaredCallCount: newest?.callCount ?? 0,
			denied: [...this.#denied].map(([step, name]) => ({ step, name })),
			incompleteSteps: this.#incomplete,
			unreadableSteps: rows.filter((row) => row.isUnreadable).map((row) => row.step),
		};
	}

	#takeRow(events: AgyEvent[], row: StepRow): void {
		const { kind, value: step } = decodeStep(row);
		const state = this.#stateOf(step, kind === "ok" ? step.trajectoryId : "");
		state.isUnreadable = kind !== "ok";
		// What breaks off may go on; what is no protobuf will not, and is over when its row is.
		if (kind === "torn" || (kind === "corrupt" && step.state === "active")) {
			state.newest = step;
			if (step.kind === "planner") state.planner ??= toPlannerState(step, state, true);
			return;
		}
		this.#takeStep(events, step, state);
		state.newest = state.isEnded ? null : step;
	}

	#stateOf(step: Step, trajectoryId: string): RowState {
		const known = this.#rows.get(step.idx);
		if (!known) {
			const state = createState(step.idx, step.type, trajectoryId);
			this.#rows.set(step.idx, state);
			return state;
		}
		// After a rewind a number is used again, by a step of another trajectory.
		if (isDifferent(known.trajectoryId, trajectoryId) || isDifferent(known.type, step.type)) {
			const { text, thinking } = known;
			Object.assign(known, createState(step.idx, step.type, trajectoryId), { text, thinking });
			this.#errors.delete(step.idx);
			this.#denied.delete(step.idx);
		}
		known.trajectoryId ||= trajectoryId;
		known.type ||= step.type;
		return known;
	}

	#takeStep(events: AgyEvent[], step: Step, state: RowState): void {
		if (!step.isStatusKnown && state.unknownStatusTold !== step.status) {
			state.unknownStatusTold = step.status;
			events.push({ kind: "unknown", what: "step-state", name: step.statusName });
		}
		switch (step.kind) {
			case "planner":
				this.#takePlanner(events, step, state);
				return;
			case "tool":
			case "subagent":
				this.#takeTool(events, step, state);
				return;
			case "other":
				// A tool's row may be there before its call.
				if (step.state !== "active") this.#endOther(events, step, state);
				return;
			default:
				if (step.kind === "error-message") this.#noteError(step);
				if (step.state !== "active") this.#endNotice(events, step, state);
		}
	}

	#takePlanner(events: AgyEvent[], step: Step, state: RowState): void {
		for (const call of step.declaredCalls) if (call.id !== "") this.#declared.set(call.id, call);
		const isFinal = step.state !== "active" && !isPlaceholder(step);
		this.#noteError(step);
		this.#sayTexts(events, step, state, isFinal);
		state.planner = step.noise === "noise" ? null : toPlannerState(step, state, !isFinal);
		if (!isFinal) return;
		if (step.noise === "noise") this.#endNotice(events, step, state);
		else this.#endModelCall(events, step, state);
	}

	/** Thinking, then text, as far as they are new. */
	#sayTexts(events: AgyEvent[], step: Step, state: RowState, isFinal: boolean): void {
		const advance = (grown: GrowingText, now: Uint8Array) =>
			state.isUnreadable || (step.isDamaged && now.length === 0) ? grown.extend(now) : grown.advance(now, isFinal);
		const thinking = advance(state.thinking, step.thinking);
		if (thinking) events.push({ kind: "thinking", step: step.idx, ...thinking });
		if (step.noise === "undecided" && !isFinal && state.text.isEmpty) return;
		const text = advance(state.text, step.noise === "noise" ? NO_TEXT : step.text);
		if (text) events.push({ kind: "text", step: step.idx, ...text });
	}

	#endModelCall(events: AgyEvent[], step: Step, state: RowState): void {
		const usage = state.isUsageTold ? null : this.#uncounted(step);
		if (state.isEnded && !usage) return;
		state.isEnded = true;
		state.isUsageTold ||= usage !== null;
		events.push({ kind: "model-call", step: step.idx, ...(usage && { usage }), ...durationOf(step) });
	}

	/** The usage, unless another row told it: a call is known by its response. */
	#uncounted(step: Step): TokenUsage | null {
		if (!step.usage || this.#countedResponses.has(step.responseId)) return null;
		if (step.responseId !== "") this.#countedResponses.add(step.responseId);
		return step.usage;
	}

	#takeTool(events: AgyEvent[], step: Step, state: RowState): void {
		if (state.isEnded) return;
		const isFinal = step.state !== "active";
		const { name, args } = this.#callOf(step);
		if (!isFinal && isCallUnfinished(step, name, args)) return;
		const hasPrinted = !isFinal && (step.output ?? "") !== state.printed;
		if (!state.isActiveTold || hasPrinted) events.push(toStepEvent(step, "active", name, args ?? {}));
		state.isActiveTold = true;
		state.printed = step.output ?? "";
		if (!isFinal) return;
		state.isEnded = true;
		if (step.isDenied) this.#denied.set(step.idx, name || "tool");
		events.push(toStepEvent(step, step.state, name, args ?? {}));
	}

	/** What the executing step says about its call, or else what the model's declaration says. */
	#callOf(step: Step): { readonly name: string; readonly args: JsonObject | null } {
		const own = step.call ?? { id: "", name: "", args: "" };
		const declared = own.id === "" ? undefined : this.#declared.get(own.id);
		const ownArgs = own.args === "" ? null : parseCallArgs(own.args);
		const declaredArgs = declared && declared.args !== "" ? parseCallArgs(declared.args) : null;
		return { name: own.name || declared?.name || "", args: ownArgs ?? declaredArgs };
	}

	#endNotice(events: AgyEvent[], step: Step, state: RowState): void {
		if (state.isEnded) return;
		state.isEnded = true;
		events.push(toNotice(step));
	}

	#endOther(events: AgyEvent[], step: Step, state: RowState): void {
		if (state.isEnded) return;
		state.isEnded = true;
		this.#noteError(step);
		const usage = this.#uncounted(step);
		events.push({ kind: "unknown", what: "step-type", name: step.typeName, ...(usage && { usage }) });
	}

	/** An error row is one in any state. Any other row may have failed and been tried again. */
	#noteError({ idx, kind, state, error }: Step): void {
		if (error && (kind === "error-message" || state === "error")) this.#errors.set(idx, error);
		else this.#errors.delete(idx);
	}

	#closeRow(events: AgyEvent[], row: RowState): void {
		const step = row.newest;
		row.newest = null;
		if (row.isUnreadable) events.push({ kind: "unknown", what: "event", name: "unreadable-step" });
		if (!step || row.isEnded) return;
		const isIncomplete = row.isUnreadable || step.state === "active";
		if (isIncomplete && !SIDE_KINDS.has(step.kind)) this.#incomplete.push(row.step);
		if (step.kind === "planner") this.#closePlanner(events, step, row, isIncomplete);
		else if (step.kind === "tool" || step.kind === "subagent") this.#closeTool(events, step, row);
		else if (step.state !== "active") this.#takeStep(events, step, row);
		row.isEnded = true;
	}

	#closePlanner(events: AgyEvent[], step: Step, row: RowState, isIncomplete: boolean): void {
		this.#sayTexts(events, step, row, true);
		if (step.noise === "noise") return;
		this.#noteError(step);
		this.#endModelCall(events, step, row);
		row.planner = toPlannerState(step, row, isIncomplete);
	}

	#closeTool(events: AgyEvent[], step: Step, row: RowState): void {
		if (step.state !== "active") {
			this.#takeTool(events, step, row);
			return;
		}
		const { name, args } = this.#callOf(step);
		if (!row.isActiveTold) events.push(toStepEvent(step, "active", name, args ?? {}));
		const end = toStepEvent(step, "error", name, args ?? {});
		events.push(end.kind === "tool" ? { ...end, error: ENDED_EARLY } : end);
	}
}

const NO_TEXT = new Uint8Array(0);

function createState(step: number, type: number, trajectoryId: string): RowState {
	return {
		step,
		type,
		trajectoryId,
		text: new GrowingText(),
		thinking: new GrowingText(),
		newest: null,
		isUnreadable: false,
		isActiveTold: false,
		printed: "",
		isEnded: false,
		isUsageTold: false,
		unknownStatusTold: -1,
		planner: null,
	};
}

function isOpen(row: RowState): boolean {
	return !row.isEnded || row.isUnreadable;
}

function toPlannerState(step: Step, state: RowState, isOpen: boolean): PlannerState {
	const hasAnswer = !isOpen && step.state === "done" && !state.text.isEmpty;
	return { isOpen, hasAnswer, callCount: step.declaredCalls.length };
}

function isDifferent(known: string | number, now: string | number): boolean {
	return Boolean(known) && Boolean(now) && known !== now;
}

/** DONE, and nothing in it: agy may write the row before it has the answer. */
function isPlaceholder(step: Step): boolean {
	const isEmpty = step.text.length === 0 && step.thinking.length === 0 && step.declaredCalls.length === 0;
	return step.state === "done" && isEmpty && !step.usage && !step.error;
}

/** The call is being written: it has no name, arguments that are no JSON yet, or none while there may come some. */
function isCallUnfinished(step: Step, name: string, args: JsonObject | null): boolean {
	if (name === "") return true;
	if (args !== null) return false;
	return (step.call?.args ?? "") !== "" || step.status === PENDING || step.status === GENERATING || step.status === 0;
}
