/**
 * What crossing a thread costs: packing and unpacking a frame, what main pays for a frame against what it would pay for
 * the lines behind it, and the way there and back. Controls: JSON for the frame, the same lines parsed in main, a socket
 * read in main.
 */

import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workerUrls } from "../src/main/hub.ts";
import { LanePool } from "../src/main/lanes.ts";
import type { AgyEvent } from "../src/shared/events.ts";
import { decode, encode } from "../src/shared/frames.ts";
import { MAX_LINE_BYTES } from "../src/shared/limits.ts";
import { type Frame, isMessageFrame, type LaneMessage } from "../src/shared/messages.ts";
import { StreamJsonDecoder } from "../src/workers/decode/stream-json-decoder.ts";
import { Outbox } from "../src/workers/outbox.ts";
import { deltaLines, resultLine } from "./support/agy-lines.ts";
import { LineParser, mapLine } from "./support/control.ts";
import { type MicroResult, type MicroTask, measureTasks } from "./support/micro.ts";
import type { BenchCase, CaseResult, Row, Suite } from "./support/suite.ts";

const LINKS = 16;

export const hopSuite: Suite = {
	name: "hop",
	cases: [frameCase(1), frameCase(16), frameCase(1024), { name: "round-trip", run: measureRoundTrip }],
};

/** A frame as a lane builds it from so many events of 16 links. */
function frameCase(eventCount: number): BenchCase {
	return { name: `frame-${eventCount}`, run: (isShort) => measureFrame(eventCount, isShort) };
}

async function measureFrame(eventCount: number, isShort: boolean): Promise<CaseResult> {
	const reads = readsOf(eventCount);
	const frame = frameOf(reads);
	const packed = encode(frame);
	const json = JSON.stringify(frame);
	let last: AgyEvent | null = null;
	const take = (event: AgyEvent) => {
		last = event;
	};
	const parsers = reads.map(() => new LineParser((line) => mapLine(line, take)));
	const tasks = {
		encode: () => encode(frame),
		"encode, control JSON.stringify": () => JSON.stringify(frame),
		"main's share": () => deliver(decode(packed), take),
		"main's share, control JSON.parse": () => deliver(JSON.parse(json), take),
		"main's share, control parse the lines": () => {
			for (const [index, read] of reads.entries()) parsers[index]?.push(read);
		},
	};
	const results = await measureTasks(toTasks(tasks), isShort);
	const [, , unpack, , parse] = results;
	if (!unpack || !parse || !last) throw new Error("tinybench lost a task");
	return {
		rows: toTasks(tasks).map(({ name }, index) => rowOf(name, results[index])),
		ratios: { "main-share": parse.tickMs.p50 / unpack.tickMs.p50 },
		notes: [`${eventCount} events of ${reads.length} links, ${packed.length} bytes packed, ${json.length} as JSON`],
	};
}

/** One line into a pipe -> its event in main, and a bare control call. */
async function measureRoundTrip(isShort: boolean): Promise<CaseResult> {
	const directory = mkdtempSync(join(tmpdir(), "pi-agy-bench-"));
	const moduleUrl = new URL("../src/main/hub.ts", import.meta.url).href;
	const lanes = new LanePool({ workerUrls: workerUrls(moduleUrl), socketDir: directory, log: () => {} });
	const lane = await lanes.acquire("decode");
	let arrived: () => void = () => {};
	const line = resultLine("Done.\n"); // The end of a turn does not wait for the tick.

	lane.open(1, "bench", null, {
		receive: (_message, seq) => {
			lane.send({ kind: "ack", link: 1, seq });
			arrived();
		},
		laneLost: (error) => {
			throw error;
		},
	});
	const toLane = await connectTo(lane.socketPath);
	toLane.write("bench stdout\n");

	const parser = new LineParser((value) => mapLine(value, () => arrived()));
	const server = createServer((socket) => socket.on("data", (chunk) => parser.push(chunk)));
	const controlPath = join(directory, "control.sock");
	server.listen(controlPath);
	await once(server, "listening");
	const toMain = await connectTo(controlPath);

	const send = (socket: Socket) =>
		new Promise<void>((resolve) => {
			arrived = resolve;
			socket.write(line);
		});
	const tasks = {
		"line to event, lane": () => send(toLane),
		"line to event, control in main": () => send(toMain),
		"control call": () => lane.control.stats(),
	};
	const results = await measureTasks(toTasks(tasks), isShort);
	toLane.destroy();
	toMain.destroy();
	server.close();
	lane.drop(1);
	await lanes.close();
	await rm(directory, { recursive: true, force: true });
	const [hop, control] = results;
	if (!hop || !control) throw new Error("tinybench lost a task");
	return {
		rows: toTasks(tasks).map(({ name }, index) => rowOf(name, results[index])),
		ratios: { "line-to-event-p50": hop.tickMs.p50 / control.tickMs.p50 },
		notes: [`the lane adds ${((hop.tickMs.p50 - control.tickMs.p50) * 1000).toFixed(0)} us at p50`],
	};
}

/** What main does with a frame: guard, route, hand over. */
function deliver(frame: unknown, take: (event: AgyEvent) => void): void {
	if (!isMessageFrame(frame)) throw new Error("not a frame");
	for (const message of frame.messages) {
		if (message.kind === "events") for (const event of message.events) take(event);
	}
}

/** The reads behind one frame, one a link, the events spread evenly. */
function readsOf(eventCount: number): readonly Buffer[] {
	const linkCount = Math.min(LINKS, eventCount);
	return Array.from({ length: linkCount }, () => Buffer.from(deltaLines(eventCount / linkCount).join("")));
}

function frameOf(reads: readonly Buffer[]): Frame<LaneMessage> {
	const frames: Frame<LaneMessage>[] = [];
	const outbox = new Outbox((frame) => frames.push(frame));
	for (const [link, read] of reads.entries()) {
		outbox.addLink(link);
		const sink = { event: (event: AgyEvent) => outbox.event(link, event), reject: () => {} };
		new StreamJsonDecoder(sink, MAX_LINE_BYTES).push(read);
	}
	outbox.flush();
	outbox.close();
	const [frame] = frames;
	if (!frame) throw new Error("the outbox posted nothing");
	return frame;
}

async function connectTo(path: string): Promise<Socket> {
	const socket = connect(path);
	await once(socket, "connect");
	return socket;
}

function toTasks(tasks: Readonly<Record<string, () => unknown>>): readonly MicroTask[] {
	return Object.entries(tasks).map(([name, run]) => ({ name, run }));
}

function rowOf(name: string, result: MicroResult | undefined): Row {
	if (!result) throw new Error(`tinybench lost ${name}`);
	const { p50, p75, p99, samples } = result.tickMs;
	const [measure = name, side = "ours"] = name.split(", ");
	return { measure, side, unit: "us", spread: { p50: p50 * 1000, p75: p75 * 1000, p99: p99 * 1000, samples } };
}
