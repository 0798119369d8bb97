import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { AgyEvent } from "../../../src/shared/events.ts";
import { decode, encode } from "../../../src/shared/frames.ts";
import { REJECTED_SAMPLE_CHARS } from "../../../src/shared/limits.ts";
import { isMessageFrame } from "../../../src/shared/messages.ts";
import { StreamJsonDecoder } from "../../../src/workers/decode/stream-json-decoder.ts";
import { deltaLine, toLine } from "../../support/agy-lines.ts";
import { Dice, mutantLine } from "../../support/mutant-lines.ts";

/** For a longer run, or for another one; a failure names both. */
const LINE_COUNT = Number(process.env.PI_AGY_FUZZ_LINES ?? 100_000);
const SEED = Number(process.env.PI_AGY_FUZZ_SEED ?? 20_260_730);

/** Small, so that swollen lines are above it. */
const MAX_LINE_BYTES = 64 * 1024;
const MARK_EVERY = 500;
const MAX_GROWTH_BYTES = 48 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test(`${LINE_COUNT} broken lines do not break the decoder (seed ${SEED})`, () => {
	const dice = new Dice(SEED);
	const problems: string[] = [];
	const seen = new Map<string, number>();
	const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
	let mark = "";
	let isMarkSeen = true;
	let eventCount = 0;
	const decoder = new StreamJsonDecoder(
		{
			event(event) {
				count(event.kind);
				if (event.kind === "text" && event.text === mark) isMarkSeen = true;
				// A frame is costly; each kind of event gets its share of them.
				if (++eventCount % 20 === 0) problems.push(...problemsOf(event));
			},
			reject(reason, byteLength, sample) {
				count(reason);
				if (!(byteLength > 0)) problems.push(`a rejected line of ${byteLength} bytes`);
				if (sample.length > REJECTED_SAMPLE_CHARS) problems.push(`a sample of ${sample.length} characters`);
			},
		},
		MAX_LINE_BYTES,
	);

	let held: Buffer[] = [];
	/** Pushes what there is, cut at random. */
	const push = () => {
		const bytes = Buffer.concat(held);
		held = [];
		for (let start = 0; start < bytes.length; ) {
			const end = start + 1 + dice.roll(dice.roll(8) === 0 ? 7 : 6_000);
			decoder.push(Buffer.from(bytes.subarray(start, end)));
			if (decoder.heldBytes > MAX_LINE_BYTES) problems.push(`${decoder.heldBytes} bytes are held`);
			start = end;
		}
	};

	const before = heapBytes();
	for (let line = 1; line <= LINE_COUNT && problems.length === 0; line++) {
		held.push(mutantLine(dice, MAX_LINE_BYTES), Buffer.from("\n"));
		if (line % MARK_EVERY > 0) continue;
		push();
		// Whatever came before, a sound line is understood.
		mark = `mark ${line}`;
		isMarkSeen = false;
		held.push(Buffer.from(`\n${toLine(deltaLine(line, mark))}`));
		push();
		if (!isMarkSeen) problems.push(`the sound line after ${line} is lost`);
	}
	push();
	decoder.end();

	expect(problems).toStrictEqual([]);
	expect(Object.keys(Object.prototype)).toStrictEqual([]);
	expect(heapBytes() - before).toBeLessThan(MAX_GROWTH_BYTES);
	// The lines reach every kind of outcome, or they prove little.
	for (const outcome of [
		...["ready", "text", "thinking", "model-call", "tool", "subagent", "notice", "unknown", "turn-end"],
		...["not-json", "not-object", "too-long"],
	]) {
		expect([outcome, seen.get(outcome) ?? 0]).toStrictEqual([outcome, expect.toSatisfy((times: number) => times > 9)]);
	}
}, 120_000);

/** An event that a frame carries as it is, with figures that can be counted with. */
function problemsOf(event: AgyEvent): readonly string[] {
	const frame = { seq: 1, messages: [{ kind: "events", link: 1, bytes: 1, events: [event] }] };
	const arrived = decode(encode(frame));
	if (!isMessageFrame(arrived)) return [`no frame holds ${describe(event)}`];
	const [sent, received] = [toComparable(frame), toComparable(arrived)];
	// Two things no frame keeps: halves of a character, and this key.
	if (sent !== received && !sent.includes('"__proto__"')) return [`a frame changes ${describe(event)}`];
	return [...figuresOf(event)].every(Number.isFinite) ? [] : [`a figure is none in ${describe(event)}`];
}

/** The numbers that the program counts with; those among a tool's arguments are not. */
function* figuresOf(event: AgyEvent): Generator<number> {
	for (const value of [...Object.values(event), ...Object.values("usage" in event && event.usage ? event.usage : {})]) {
		if (typeof value === "number") yield value;
	}
}

function toComparable(frame: unknown): string {
	return JSON.stringify(frame).replaceAll(/\\ud[89a-f][0-9a-f]{2}/g, "\ufffd");
}

function describe(event: AgyEvent): string {
	return JSON.stringify(event).slice(0, 300);
}

function heapBytes(): number {
	collectGarbage();
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}
