import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AgyEvent } from "../../src/shared/events.ts";
import { FRAME_BYTES, MAX_TICK_MS, QUIET_AFTER_MS, TICK_MS, TICK_MS_PER_BUSY_LINK } from "../../src/shared/limits.ts";
import type { Frame, LaneMessage } from "../../src/shared/messages.ts";
import { Outbox } from "../../src/workers/outbox.ts";
import { text, tool, turnEnd } from "../support/agy-events.ts";

let frames: Frame<LaneMessage>[];
let outbox: Outbox;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	frames = [];
	outbox = new Outbox((frame) => frames.push(frame));
});

afterEach(() => {
	outbox.close();
	const timerCount = vi.getTimerCount();
	vi.useRealTimers();
	expect(timerCount).toBe(0);
});

const TURN_END = turnEnd();

/** One chunk of a link's output: its events, then its end. */
function chunk(link: number, events: readonly AgyEvent[], bytes = 100): void {
	for (const event of events) outbox.event(link, event);
	outbox.endChunk(link, bytes, performance.now());
}

/** Opens links that have just streamed, with nothing left to send. */
function openBusy(...links: readonly number[]): void {
	for (const link of links) {
		outbox.addLink(link);
		chunk(link, [text("hello", 0)]);
	}
	frames.length = 0;
}

/** Lets time pass until the running tick is over. */
function passTick(): void {
	vi.advanceTimersByTime(MAX_TICK_MS);
}

describe("the time that frames take", () => {
	test("runs from the first report to the post, and not while there is nothing to report", () => {
		openBusy(1);
		const before = outbox.stats().tick.count;
		vi.advanceTimersByTime(2);
		outbox.endChunk(1, 10, performance.now()); // A piece of a line.
		vi.advanceTimersByTime(1);
		chunk(1, [text("b", 0)]);
		expect(outbox.stats()).toMatchObject({ queuedMessages: 1, tick: { count: before } });
		vi.advanceTimersByTime(1);
		chunk(1, [text("c", 0)]);
		passTick();
		const { queuedMessages, tick } = outbox.stats();
		expect([queuedMessages, tick.count]).toStrictEqual([0, before + 1]);
		expect(Math.round(tick.maxMs)).toBe(TICK_MS - 3);
	});
});

describe("when a frame leaves", () => {
	test("the first event of a quiet link goes at once", () => {
		outbox.addLink(1);
		chunk(1, [text("a", 0)]);
		expect(frames).toStrictEqual([
			{ seq: 1, messages: [{ kind: "events", link: 1, bytes: 100, events: [text("a", 0)] }] },
		]);
	});

	test("what follows closely waits for the tick and goes as one", () => {
		openBusy(1);
		chunk(1, [text("b", 0)]);
		chunk(1, [text("c", 0)]);
		vi.advanceTimersByTime(TICK_MS - 1);
		expect(frames).toHaveLength(0);
		vi.advanceTimersByTime(1);
		expect(frames).toStrictEqual([
			{ seq: 2, messages: [{ kind: "events", link: 1, bytes: 200, events: [text("bc", 0)] }] },
		]);
	});

	test("what comes a tick or more after the last frame goes at once", () => {
		openBusy(1);
		vi.advanceTimersByTime(TICK_MS - 1);
		chunk(1, [text("b", 0)]);
		expect(frames).toHaveLength(0);
		vi.advanceTimersByTime(1);
		expect(frames).toHaveLength(1);
		vi.advanceTimersByTime(TICK_MS);
		chunk(1, [text("c", 0)]);
		expect(frames).toHaveLength(2);
	});

	test("a link that was silent for long enough is quiet again, and does not wait for the tick of others", () => {
		openBusy(1, 2);
		for (let streamedMs = 0; streamedMs <= QUIET_AFTER_MS; streamedMs += MAX_TICK_MS) {
			vi.advanceTimersByTime(MAX_TICK_MS);
			chunk(2, [text("b", 0)]);
		}
		frames.length = 0;
		chunk(2, [text("c", 0)]);
		expect(frames).toHaveLength(0);
		chunk(1, [text("x", 0)]);
		expect(frames).toHaveLength(1);
	});

	test("nothing waits for less than a tick behind a frame that left early", () => {
		openBusy(1);
		vi.advanceTimersByTime(TICK_MS - 2);
		chunk(1, [text("b", 0)]);
		chunk(1, [TURN_END]);
		chunk(1, [text("c", 0)]);
		vi.advanceTimersByTime(TICK_MS - 1);
		expect(frames).toHaveLength(1);
		vi.advanceTimersByTime(1);
		expect(frames).toHaveLength(2);
	});

	test("a quiet link takes along what other links have waiting", () => {
		openBusy(1);
		outbox.addLink(2);
		chunk(1, [text("b", 0)]);
		chunk(2, [text("x", 0)]);
		expect(frames.map(({ messages }) => messages.length)).toStrictEqual([2]);
	});

	test("a turn's end goes at once, with everything before it", () => {
		openBusy(1);
		chunk(1, [text("b", 0)]);
		chunk(1, [text("c", 0), TURN_END]);
		expect(frames).toStrictEqual([
			{ seq: 2, messages: [{ kind: "events", link: 1, bytes: 200, events: [text("bc", 0), TURN_END] }] },
		]);
	});

	test("any other message goes with its chunk", () => {
		openBusy(1);
		outbox.message({ kind: "stderr", link: 1, text: "warning" });
		expect(frames).toHaveLength(0);
		outbox.endChunk(1, 7, performance.now());
		expect(frames).toHaveLength(1);
	});

	test("a frame is closed early once it carries enough input", () => {
		openBusy(1);
		chunk(1, [text("b", 0)], FRAME_BYTES - 1);
		expect(frames).toHaveLength(0);
		chunk(1, [text("c", 0)], 1);
		expect(frames).toHaveLength(1);
	});

	test("a tick with nothing to send sends nothing", () => {
		openBusy(1);
		chunk(1, [text("b", 0)]);
		outbox.flush();
		expect(frames).toHaveLength(1);
		passTick();
		expect(frames).toHaveLength(1);
		outbox.flush();
		expect(frames).toHaveLength(1);
	});

	test("frames are numbered from 1 without a gap", () => {
		outbox.addLink(1);
		for (let turn = 0; turn < 3; turn++) chunk(1, [TURN_END]);
		expect(frames.map(({ seq }) => seq)).toStrictEqual([1, 2, 3]);
	});
});

describe("the tick", () => {
	test.each([
		[1, TICK_MS],
		[4, TICK_MS],
		[8, 8 * TICK_MS_PER_BUSY_LINK],
		[16, 16 * TICK_MS_PER_BUSY_LINK],
		[17, MAX_TICK_MS],
		[60, MAX_TICK_MS],
	])("with %d links that stream it takes %d ms", (linkCount, tickMs) => {
		const links = Array.from({ length: linkCount }, (_, index) => index + 1);
		openBusy(...links);
		expect(outbox.stats().tickMs).toBe(tickMs);
		for (const link of links) chunk(link, [text("c", 0)]);
		vi.advanceTimersByTime(tickMs - 1);
		expect(frames).toHaveLength(0);
		vi.advanceTimersByTime(1);
		expect(frames).toHaveLength(1);
		expect(frames[0]?.messages).toHaveLength(linkCount);
	});

	test("shrinks again when links fall silent", () => {
		openBusy(...Array.from({ length: 16 }, (_, index) => index + 1));
		expect(outbox.stats().tickMs).toBe(16 * TICK_MS_PER_BUSY_LINK);
		vi.advanceTimersByTime(QUIET_AFTER_MS + 1);
		chunk(1, [text("c", 0)]);
		expect(outbox.stats().tickMs).toBe(TICK_MS);
	});

	test("can be fixed and given back", () => {
		openBusy(1);
		outbox.setTickMs(20);
		chunk(1, [text("b", 0)]);
		vi.advanceTimersByTime(19);
		expect(frames).toHaveLength(0);
		vi.advanceTimersByTime(1);
		expect(frames).toHaveLength(1);
		expect(outbox.stats().tickMs).toBe(20);
		outbox.setTickMs(0);
		expect(outbox.stats().tickMs).toBe(TICK_MS);
	});
});

describe("what a frame holds", () => {
	const eventsOf = (frame: Frame<LaneMessage> | undefined) =>
		frame?.messages.flatMap((message) => (message.kind === "events" ? message.events : [])) ?? [];

	test.each([
		["pieces of one text become one", [text("a", 1), text("b", 1), text("c", 1)], [text("abc", 1)]],
		["pieces of two steps stay apart", [text("a", 1), text("b", 2)], [text("a", 1), text("b", 2)]],
		[
			"what stands between keeps its place",
			[text("a", 1), tool(2, "active"), text("b", 1)],
			[text("a", 1), tool(2, "active"), text("b", 1)],
		],
		[
			"thinking is never joined to text",
			[text("a", 1), { kind: "thinking", step: 1, text: "t" }, text("b", 1)],
			[text("a", 1), { kind: "thinking", step: 1, text: "t" }, text("b", 1)],
		],
	] as readonly [string, AgyEvent[], AgyEvent[]][])("%s", (_name, given, expected) => {
		outbox.addLink(1);
		chunk(1, given);
		expect(eventsOf(frames[0])).toStrictEqual(expected);
	});

	test("an event that was handed in is not changed by what is joined to it", () => {
		outbox.addLink(1);
		const first = Object.freeze(text("a", 1));
		chunk(1, [first, text("b", 1)]);
		expect(first).toStrictEqual(text("a", 1));
	});

	test("text is not joined across frames", () => {
		outbox.addLink(1);
		chunk(1, [text("a", 1), TURN_END]);
		chunk(1, [text("b", 1), TURN_END]);
		expect(frames.map(eventsOf)).toStrictEqual([
			[text("a", 1), TURN_END],
			[text("b", 1), TURN_END],
		]);
	});

	test("each link's events are one message, in the order the links spoke", () => {
		openBusy(1, 2);
		chunk(2, [text("x", 0)]);
		chunk(1, [text("a", 0)]);
		chunk(2, [text("y", 0)]);
		passTick();
		expect(frames.map(({ messages }) => messages)).toStrictEqual([
			[
				{ kind: "events", link: 2, bytes: 200, events: [text("xy", 0)] },
				{ kind: "events", link: 1, bytes: 100, events: [text("a", 0)] },
			],
		]);
	});

	test("events before and after another message of the link keep their sides", () => {
		outbox.addLink(1);
		outbox.event(1, text("a", 1));
		outbox.message({ kind: "stderr", link: 1, text: "warning" });
		outbox.event(1, text("b", 1));
		outbox.endChunk(1, 100, performance.now());
		expect(frames[0]?.messages).toMatchObject([
			{ kind: "events", events: [text("a", 1)] },
			{ kind: "stderr", text: "warning" },
			{ kind: "events", bytes: 100, events: [text("b", 1)] },
		]);
	});

	test("another link's message does not split the events of this one", () => {
		openBusy(1, 2);
		chunk(1, [text("a", 1)]);
		outbox.message({ kind: "log", level: "info", text: "x" });
		outbox.message({ kind: "stderr", link: 2, text: "warning" });
		chunk(1, [text("b", 1)]);
		expect(eventsOf(frames[0])).toStrictEqual([text("ab", 1)]);
	});
});

describe("the account of what main has not consumed", () => {
	test("holds what was reported until it is acknowledged", () => {
		outbox.addLink(1);
		chunk(1, [TURN_END], 100);
		chunk(1, [TURN_END], 30);
		expect(outbox.heldBytes(1)).toBe(130);
		outbox.acknowledge(1, 1);
		expect(outbox.heldBytes(1)).toBe(30);
		outbox.acknowledge(1, 2);
		expect(outbox.heldBytes(1)).toBe(0);
	});

	test("counts what waits for the tick too, and an early acknowledgement does not touch it", () => {
		openBusy(1);
		outbox.acknowledge(1, 1);
		chunk(1, [text("b", 0)], 70);
		expect(outbox.heldBytes(1)).toBe(70);
		outbox.acknowledge(1, 1);
		expect(outbox.heldBytes(1)).toBe(70);
		passTick();
		outbox.acknowledge(1, 2);
		expect(outbox.heldBytes(1)).toBe(0);
	});

	test("one acknowledgement covers all frames before it", () => {
		outbox.addLink(1);
		for (let turn = 0; turn < 5; turn++) chunk(1, [TURN_END], 10);
		outbox.acknowledge(1, 4);
		expect(outbox.heldBytes(1)).toBe(10);
	});

	test("does not count an incomplete line, for which main could not acknowledge anything", () => {
		outbox.addLink(1);
		chunk(1, [], 60_000);
		chunk(1, [], 60_000);
		expect(outbox.heldBytes(1)).toBe(0);
		expect(vi.getTimerCount()).toBe(0);
		chunk(1, [TURN_END], 5);
		expect(outbox.heldBytes(1)).toBe(120_005);
		expect(frames[0]?.messages).toMatchObject([{ kind: "events", bytes: 120_005 }]);
		outbox.acknowledge(1, 1);
		expect(outbox.heldBytes(1)).toBe(0);
	});

	test("counts lines that were rejected", () => {
		outbox.addLink(1);
		outbox.message({ kind: "lines-rejected", link: 1, count: 1, byteLength: 90, reason: "not-json", sample: "x" });
		outbox.endChunk(1, 91, performance.now());
		expect(outbox.heldBytes(1)).toBe(91);
		outbox.acknowledge(1, 1);
		expect(outbox.heldBytes(1)).toBe(0);
	});

	test("is kept for each link", () => {
		outbox.addLink(1);
		outbox.addLink(2);
		chunk(1, [TURN_END], 10);
		chunk(2, [TURN_END], 20);
		outbox.acknowledge(1, 2);
		expect([outbox.heldBytes(1), outbox.heldBytes(2)]).toStrictEqual([0, 20]);
		expect(outbox.stats().heldBytes).toBe(20);
	});

	test("counts events and frames", () => {
		outbox.addLink(1);
		chunk(1, [text("a", 1), text("b", 1), TURN_END]);
		expect(outbox.stats()).toMatchObject({ frames: 1, events: 3 });
	});
});

describe("a link that was removed", () => {
	test("is not reported, held or acknowledged any more", () => {
		openBusy(1);
		outbox.removeLink(1);
		chunk(1, [text("b", 0), TURN_END]);
		outbox.acknowledge(1, 1);
		passTick();
		expect(frames).toStrictEqual([]);
		expect(outbox.heldBytes(1)).toBe(0);
		expect(outbox.stats().heldBytes).toBe(0);
	});

	test("does not hold up the others", () => {
		openBusy(1, 2);
		chunk(1, [text("b", 0)]);
		outbox.removeLink(1);
		chunk(2, [text("y", 0)]);
		passTick();
		outbox.acknowledge(2, 3);
		expect(frames[0]?.messages).toContainEqual({ kind: "events", link: 2, bytes: 100, events: [text("y", 0)] });
	});
});

test("closing stops a running tick and may be done twice", () => {
	openBusy(1);
	chunk(1, [text("b", 0)]);
	expect(vi.getTimerCount()).toBe(1);
	outbox.close();
	outbox.close();
	expect(vi.getTimerCount()).toBe(0);
});
