import { expect, test } from "vitest";
import type { AgyEvent } from "../../../src/shared/events.ts";
import { decode, encode } from "../../../src/shared/frames.ts";
import { isMessageFrame } from "../../../src/shared/messages.ts";
import { StepTail } from "../../../src/workers/poll/tail.ts";
import { Dice } from "../../support/mutant-lines.ts";
import { mutantRow } from "../../support/mutant-payloads.ts";
import { planner } from "../../support/step-rows.ts";

/** For a longer run, or for another one; a failure names both. */
const ROW_COUNT = Number(process.env.PI_AGY_FUZZ_PAYLOADS ?? 50_000);
const SEED = Number(process.env.PI_AGY_FUZZ_SEED ?? 20_260_730);

const ROWS_PER_TURN = 100;
const ROWS_PER_TICK = 4;
const MARK_STEP = 1_000;
/** A row that takes longer than that is one that hangs. */
const MAX_TICK_MS = 5_000;

test(`${ROW_COUNT} broken rows do not break the tail (seed ${SEED})`, () => {
	const dice = new Dice(SEED);
	const problems: string[] = [];
	const seen = new Map<string, number>();
	const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
	let eventCount = 0;
	const look = (events: readonly AgyEvent[]) => {
		for (const event of events) {
			count(event.kind);
			if ("replaces" in event) count("replaces");
			// A frame is costly; each kind of event gets its share of them.
			if (++eventCount % 20 === 0) problems.push(...problemsOf(event));
		}
	};

	for (let done = 0; done < ROW_COUNT && problems.length === 0; done += ROWS_PER_TURN) {
		const tail = new StepTail();
		for (let tick = 0; tick < ROWS_PER_TURN; tick += ROWS_PER_TICK) {
			const rows = Array.from({ length: ROWS_PER_TICK }, () => mutantRow(dice)).sort((a, b) => a.idx - b.idx);
			const startMs = performance.now();
			look(tail.take(rows));
			if (performance.now() - startMs > MAX_TICK_MS) problems.push(`a slow row before ${done + tick}`);
		}
		// Whatever came before, a sound row is understood.
		const mark = tail.take([planner(MARK_STEP, 3, [[1, `mark ${done}`]])]);
		if (mark[0]?.kind !== "text" || mark[0].text !== `mark ${done}`)
			problems.push(`the sound row after ${done} is lost`);
		look(tail.close());
		problems.push(...problemsOfOutcome(tail));
	}

	expect(problems).toStrictEqual([]);
	expect(Object.keys(Object.prototype)).toStrictEqual([]);
	// The rows reach every kind of event, or they prove little.
	for (const kind of ["text", "thinking", "model-call", "tool", "subagent", "notice", "unknown", "replaces"]) {
		expect([kind, seen.get(kind) ?? 0]).toStrictEqual([kind, expect.toSatisfy((times: number) => times > 9)]);
	}
}, 600_000);

/** An event that a frame carries as it is, with figures that can be counted with. */
function problemsOf(event: AgyEvent): readonly string[] {
	const frame = { seq: 1, messages: [{ kind: "events", link: 1, bytes: 1, events: [event] }] };
	const arrived = decode(encode(frame));
	if (!isMessageFrame(arrived)) return [`no frame holds ${describe(event)}`];
	if (toComparable(frame) !== toComparable(arrived)) return [`a frame changes ${describe(event)}`];
	const usage = "usage" in event && event.usage ? Object.values(event.usage) : [];
	const figures = [...Object.values(event), ...usage].filter((value) => typeof value === "number");
	return figures.every((value) => Number.isFinite(value) && value >= 0)
		? []
		: [`a figure is none in ${describe(event)}`];
}

function problemsOfOutcome(tail: StepTail): readonly string[] {
	const { lastError, incompleteSteps } = tail.outcome();
	const problems: string[] = [];
	if (lastError && lastError.message.trim() === "") problems.push("an error without a message");
	if (new Set(incompleteSteps).size !== incompleteSteps.length) problems.push("a step is incomplete twice");
	if (tail.close().length > 0 || tail.take([planner(1, 3, [[1, "late"]])]).length > 0) problems.push("it goes on");
	return problems;
}

/** No frame keeps the halves of a character. */
function toComparable(frame: unknown): string {
	return JSON.stringify(frame).replaceAll(/\\ud[89a-f][0-9a-f]{2}/g, "\ufffd");
}

function describe(event: AgyEvent): string {
	return JSON.stringify(event).slice(0, 300);
}
