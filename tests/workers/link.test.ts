import { once } from "node:events";
import { stat } from "node:fs";
import { createServer, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AgyEvent } from "../../src/shared/events.ts";
import { EOF_AFTER_EXIT_MAX_MS, EOF_AFTER_EXIT_MS, HIGH_WATER_BYTES, MAX_LINE_BYTES } from "../../src/shared/limits.ts";
import type { Frame, LaneMessage } from "../../src/shared/messages.ts";
import { StreamJsonDecoder } from "../../src/workers/decode/stream-json-decoder.ts";
import { type DecoderFactory, type DecoderSink, Link, type PipeName } from "../../src/workers/link.ts";
import { Meter } from "../../src/workers/meter.ts";
import { Outbox } from "../../src/workers/outbox.ts";
import { deltaLine, resultLine, stepLine, toLine } from "../support/agy-lines.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";

type Pair = { readonly lane: Socket; readonly main: Socket };

const folder = new Folder();
const createDecoder: DecoderFactory = (sink) => {
	const decoder = new StreamJsonDecoder(sink, MAX_LINE_BYTES);
	return {
		push: (chunk) => decoder.push(chunk),
		end: () => decoder.end(),
		watchTranscript: (path, afterStep) => watches.push(`${path} ${afterStep}`),
		unwatchTranscript: () => watches.push("stop"),
	};
};

let frames: Frame<LaneMessage>[];
let watches: string[];
let outbox: Outbox;
let link: Link;
let decodeTimes: Meter;
let sockets: Socket[];
let socketCount: number;

beforeEach(() => {
	frames = [];
	watches = [];
	sockets = [];
	socketCount = 0;
	outbox = new Outbox((frame) => frames.push(frame));
	decodeTimes = new Meter();
	link = new Link(1, outbox, createDecoder, { decodeTimes });
});

afterEach(() => {
	link.close();
	outbox.close();
	for (const socket of sockets) socket.destroy();
});

/** Two ends of a real pipe: the lane's and main's. */
async function connect(): Promise<Pair> {
	const path = folder.at(`${++socketCount}.sock`);
	const server = createServer({ allowHalfOpen: true });
	server.listen(path);
	await once(server, "listening");
	const main = new Socket();
	const accepted = once(server, "connection");
	main.connect(path);
	const [lane] = (await accepted) as [Socket];
	server.close();
	sockets.push(main, lane);
	return { lane, main };
}

/** Connects a pipe and hands the lane its end. */
async function attach(name: PipeName, first = ""): Promise<Socket> {
	const { lane, main } = await connect();
	link.attach(name, lane, Buffer.from(first));
	return main;
}

/** Calls within the phase of the event loop in which data of a socket arrives. */
function inPollPhase<T>(work: () => T): Promise<T> {
	return new Promise((resolve) => stat(folder.path, () => resolve(work())));
}

const messages = () => frames.flatMap((frame) => frame.messages);
const kinds = () =>
	messages().flatMap((message) =>
		message.kind === "events" ? message.events.map((event: AgyEvent) => event.kind) : message.kind,
	);
const text = () =>
	messages()
		.flatMap((message) => (message.kind === "events" ? message.events : []))
		.map((event) => (event.kind === "text" ? event.text : ""))
		.join("");
const stderr = () =>
	messages()
		.map((message) => (message.kind === "stderr" ? message.text : ""))
		.join("");
const ended = () => kinds().includes("output-ended");

const RESULT = toLine(resultLine({ response: "Hi." }));
const EXIT = { code: 0, signal: null };
const DELTA = toLine(deltaLine(1, "Hi."));

describe("what is not known", () => {
	const drifts = () => messages().flatMap((message) => (message.kind === "drift" ? message.shapes : []));

	test("is counted and reported once, with the turn's end, in front of it", async () => {
		await attach("stderr");
		const stdout = await attach("stdout");
		const mood = toLine({ event: "mood", mood: { text: "happy" } });
		stdout.write(mood + mood + toLine(stepLine(1, "HALF", "dream", { hint: 1 })) + DELTA);
		await until("the text", () => text() !== "");
		expect(kinds()).not.toContain("drift");
		stdout.write(RESULT);
		await until("the turn's end", () => kinds().includes("turn-end"));
		expect(kinds().slice(-2)).toStrictEqual(["drift", "turn-end"]);
		expect(drifts()).toStrictEqual([
			{ what: "event", name: "mood", count: 2 },
			{ what: "field", name: "step_update.hint", count: 1 },
			{ what: "step-state", name: "HALF", count: 1 },
			{ what: "step-type", name: "dream", count: 1 },
		]);
		stdout.end(RESULT);
		await until("another end", () => kinds().filter((kind) => kind === "turn-end").length === 2);
		expect(drifts()).toHaveLength(4);
	});

	test("is reported with the end of the output when no turn ends", async () => {
		(await attach("stderr")).end();
		(await attach("stdout")).end(toLine({ event: "mood" }));
		await until("the end", ended);
		expect(kinds().slice(-2)).toStrictEqual(["drift", "output-ended"]);
	});
});

describe("the time that decoding takes", () => {
	test("is recorded for each chunk of stdout, in the lane's account", async () => {
		await attach("stderr", "not of it");
		const stdout = await attach("stdout", DELTA);
		stdout.write(RESULT);
		await until("the turn's end", () => kinds().includes("turn-end"));
		expect(decodeTimes.timing).toMatchObject({ count: 2, p50Ms: expect.any(Number) });
		expect(decodeTimes.timing.maxMs).toBeGreaterThan(0);
	});
});

describe("a turn's end", () => {
	test("comes after what stood on stderr at that moment, wherever in the event loop it is read", async () => {
		const [stderrPipe, stdout] = [await attach("stderr"), await connect()];
		await inPollPhase(() => {
			stderrPipe.write("[agy] print timeout after 12s\n");
			link.attach("stdout", stdout.lane, Buffer.from(RESULT));
		});
		await until("the turn's end", () => kinds().includes("turn-end"));
		expect(kinds()).toStrictEqual(["stderr", "turn-end"]);
	});

	test("does so when stdout ends with it", async () => {
		const [stderrPipe, stdout] = [await attach("stderr"), await connect()];
		await inPollPhase(() => {
			stderrPipe.write('AGY_ERROR: {"short_error":"quota"}\n');
			link.attach("stdout", stdout.lane, Buffer.from(RESULT));
			stdout.lane.destroy();
		});
		await until("the turn's end", () => kinds().includes("turn-end"));
		expect(kinds()).toStrictEqual(["stderr", "turn-end"]);
		stderrPipe.end();
		await until("the end", ended);
		expect(kinds()).toStrictEqual(["stderr", "turn-end", "output-ended"]);
	});

	test("comes without anything on stderr, and without another word of agy", async () => {
		await attach("stderr");
		const stdout = await attach("stdout");
		stdout.write(DELTA + RESULT);
		await until("the turn's end", () => kinds().includes("turn-end"));
		expect(kinds()).toStrictEqual(["text", "turn-end"]);
	});

	test("keeps its place before what follows on stdout", async () => {
		const stdout = await attach("stdout");
		stdout.write(DELTA + RESULT + RESULT + toLine(deltaLine(2, "More.")) + RESULT);
		await until("three ends", () => kinds().filter((kind) => kind === "turn-end").length === 3);
		expect(kinds()).toStrictEqual(["text", "turn-end", "turn-end", "text", "turn-end"]);
	});

	test("is told when the output ends right behind it, before the end", async () => {
		const [stdout, stderrPipe] = [await attach("stdout"), await attach("stderr")];
		stderrPipe.end("last words");
		stdout.end(RESULT.trimEnd());
		await until("the end", ended);
		expect(kinds().toSorted()).toStrictEqual(["output-ended", "stderr", "turn-end"]);
		expect(kinds().at(-1)).toBe("output-ended");
	});

	test("of a link that was dropped is not told", async () => {
		const stdout = await connect();
		link.attach("stdout", stdout.lane, Buffer.from(RESULT));
		link.close();
		for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
		outbox.flush();
		expect(frames).toStrictEqual([]);
	});
});

describe("the end of the output", () => {
	test.each<[string, readonly PipeName[]]>([
		["stdout first", ["stdout", "stderr"]],
		["stderr first", ["stderr", "stdout"]],
	])("is told when both pipes have ended, %s, and last", async (_name, order) => {
		const pipes = { stdout: await attach("stdout"), stderr: await attach("stderr"), stdin: null };
		const words = { stdout: DELTA, stderr: "bye\n", stdin: "" };
		const [first, second] = order as ["stdout" | "stderr", "stdout" | "stderr"];
		pipes[first].end(words[first]);
		await until("the first words", () => text() + stderr() !== "");
		for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
		expect(ended()).toBe(false);
		pipes[second].end(words[second]);
		await until("the end", ended);
		expect(kinds().at(-1)).toBe("output-ended");
		expect([text(), stderr()]).toStrictEqual(["Hi.", "bye\n"]);
		expect(kinds().filter((kind) => kind === "output-ended")).toHaveLength(1);
	});

	test("brings a last line without its line end, and a last bad one", async () => {
		const [stdout, stderrPipe] = [await attach("stdout"), await attach("stderr")];
		stdout.end(`${DELTA}${DELTA.trimEnd()}`);
		stderrPipe.end();
		await until("the end", ended);
		expect(text()).toBe("Hi.Hi.");
	});

	test("of a killed process comes too", async () => {
		const [stdout, stderrPipe] = [await attach("stdout", `${DELTA}{"event":"st`), await attach("stderr")];
		stdout.destroy();
		stderrPipe.destroy();
		await until("the end", ended);
		expect(kinds()).toStrictEqual(["text", "lines-rejected", "output-ended"]);
	});

	test("of a process that is gone is told though something it started holds the pipes", async () => {
		const [stdout, stderrPipe] = [await attach("stdout"), await attach("stderr")];
		link.processExited(EXIT);
		stdout.write(DELTA + DELTA.trimEnd());
		await until("the end", ended);
		expect(text()).toBe("Hi.Hi.");
		expect(kinds().filter((kind) => kind === "output-ended")).toHaveLength(1);
		stdout.resume();
		stderrPipe.resume();
		await until("both pipes are closed", () => stdout.destroyed && stderrPipe.destroyed);
	});

	test("of a process that left a chatterbox behind comes too", async () => {
		await attach("stderr");
		const stdout = await attach("stdout");
		stdout.on("error", () => {}); // It is cut off.
		const chatter = setInterval(() => stdout.write(DELTA), EOF_AFTER_EXIT_MS / 10);
		try {
			link.processExited(EXIT);
			await until("the end", ended);
		} finally {
			clearInterval(chatter);
		}
	});

	test("waits for what back-pressure still holds in the pipe", async () => {
		const [stdout, stderrPipe] = [await attach("stdout"), await attach("stderr")];
		const line = toLine(deltaLine(1, "x".repeat(10_000)));
		const lineCount = Math.ceil((3 * HIGH_WATER_BYTES) / line.length);
		stdout.write(line.repeat(lineCount));
		await until("the pause", () => link.stats.paused);
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		link.processExited(EXIT);
		vi.advanceTimersByTime(2 * EOF_AFTER_EXIT_MAX_MS);
		vi.useRealTimers();
		link.processExited(EXIT); // The timer from before was a false one.
		expect(ended()).toBe(false);
		await until("everything", () => {
			outbox.flush();
			link.acknowledge(frames.at(-1)?.seq ?? 0);
			return ended();
		});
		expect(text()).toHaveLength(10_000 * lineCount);
		stdout.destroy();
		stderrPipe.destroy();
	});

	test("of a process whose pipes never came is told", async () => {
		await attach("stdout");
		link.processExited(EXIT);
		await until("the end", ended);
	});

	test("is not told of a link that was dropped, and its pipes are closed", async () => {
		const [stdout, stderrPipe] = [await attach("stdout"), await attach("stderr")];
		const closed = Promise.all([once(stdout, "close"), once(stderrPipe, "close")]);
		link.close();
		link.close();
		stdout.on("error", () => {}).resume();
		stderrPipe.on("error", () => {}).resume();
		stdout.end();
		stderrPipe.end();
		await closed;
		expect(frames).toStrictEqual([]);
	});
});

describe("stdin", () => {
	test("gets what was written before it was there, in order, then what follows, then its end", async () => {
		link.write("one\n");
		link.write("two\n");
		const main = await attach("stdin");
		link.write("three\n");
		link.endInput();
		let received = "";
		main.setEncoding("utf8").on("data", (chunk: string) => {
			received += chunk;
		});
		await once(main, "end");
		expect(received).toBe("one\ntwo\nthree\n");
	});

	test("that ends before it is there ends behind what was written", async () => {
		link.write("one\n");
		link.endInput();
		const main = await attach("stdin");
		let received = "";
		main.setEncoding("utf8").on("data", (chunk: string) => {
			received += chunk;
		});
		await once(main, "end");
		expect(received).toBe("one\n");
	});

	test("that cannot be written is reported at once", async () => {
		const main = await attach("stdin");
		main.destroy();
		await until("the failure", () => {
			link.write("x".repeat(100_000));
			return kinds().includes("input-failed");
		});
		expect(kinds().filter((kind) => kind === "input-failed")).toHaveLength(1);
	});
});

test("a second pipe of the same name is cut off", async () => {
	await attach("stdout");
	const second = await attach("stdout", DELTA);
	await once(second.resume(), "close");
	expect(text()).toBe("");
});

test("a character of stderr that is cut in two stays one", async () => {
	const stderrPipe = await attach("stderr");
	const bytes = Buffer.from("é😀");
	for (const byte of bytes) {
		stderrPipe.write(Buffer.from([byte]));
		await new Promise(setImmediate);
	}
	await until("both characters", () => stderr() === "é😀");
});

test("the watch over the transcript is the decoder's, and ends with the link", () => {
	link.watchTranscript("/x.jsonl", 4);
	expect(watches).toStrictEqual(["/x.jsonl 4"]);
	link.unwatchTranscript();
	expect(watches).toStrictEqual(["/x.jsonl 4", "stop"]);
	link.watchTranscript("/x.jsonl", 5);
	link.close();
	expect(watches.slice(2)).toStrictEqual(["/x.jsonl 5", "stop"]);
});

describe("back-pressure", () => {
	test("pauses both pipes of a link that is ahead, and goes on when main has caught up", async () => {
		const [stdout, stderrPipe] = [await attach("stdout"), await attach("stderr")];
		const line = toLine(deltaLine(1, "x".repeat(10_000)));
		const lineCount = Math.ceil((3 * HIGH_WATER_BYTES) / line.length);
		stdout.write(line.repeat(lineCount));
		await until("the pause", () => link.stats.paused);
		stderrPipe.write("held back\n");
		for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
		outbox.flush();
		expect(link.stats.bytesIn).toBeLessThan(2 * HIGH_WATER_BYTES);
		expect(stderr()).toBe("");
		await until("everything", () => {
			outbox.flush();
			link.acknowledge(frames.at(-1)?.seq ?? 0);
			return stderr() !== "" && text().length === 10_000 * lineCount;
		});
		expect(link.stats.paused).toBe(false);
	});
});

describe("a link that feeds another", () => {
	const HALF = 512 * 1024;
	let sink: DecoderSink;

	beforeEach(() => {
		link.close();
		link = new Link(
			1,
			outbox,
			(given) => {
				sink = given;
				return { push: () => {}, end: () => {} };
			},
			{ decodeTimes },
		);
	});

	test("knows what its process has not taken, and tells when it has", async () => {
		const stdin = await attach("stdin");
		stdin.pause();
		for (let piece = 0; piece < 8; piece++) sink.write(Buffer.alloc(HALF));
		expect(sink.unwrittenBytes).toBeGreaterThan(4 * HALF);
		let leftBytes = -1;
		sink.whenWrittenTo(HALF, () => {
			leftBytes = sink.unwrittenBytes;
		});
		expect(leftBytes).toBe(-1);
		stdin.resume();
		await until("it is told", () => leftBytes >= 0);
		expect(leftBytes).toBeLessThanOrEqual(HALF);
	});

	test("counts what waits for stdin to come", () => {
		sink.write(Buffer.alloc(HALF));
		sink.write(Buffer.alloc(HALF));
		expect(sink.unwrittenBytes).toBe(2 * HALF);
	});

	test.each([
		["whose stdin has gone", (stdin: Socket) => stdin.destroy()],
		["that is closed", () => link.close()],
	])("lets go when it writes to one %s", async (_what, end) => {
		const stdin = await attach("stdin");
		stdin.pause();
		for (let piece = 0; piece < 8; piece++) sink.write(Buffer.alloc(HALF));
		let isTold = false;
		sink.whenWrittenTo(0, () => {
			isTold = true;
		});
		end(stdin);
		await until("it is told", () => isTold);
		expect(sink.unwrittenBytes).toBe(0);
	});

	test("leaves the output of its own process while it is held, whenever that comes", async () => {
		sink.hold(true);
		const stdout = await attach("stdout");
		stdout.write("held");
		for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
		expect(link.stats.bytesIn).toBe(0);
		sink.hold(false);
		await until("it is read", () => link.stats.bytesIn === 4);
	});
});

test("bad lines of one chunk are one report with the first of them", async () => {
	await attach("stdout", `one\ntwo\n${DELTA}three\n`);
	expect(messages().filter((message) => message.kind === "lines-rejected")).toStrictEqual([
		{ kind: "lines-rejected", link: 1, count: 3, byteLength: 11, reason: "not-json", sample: "one" },
	]);
	expect(link.stats.rejectedLines).toBe(3);
});
