import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import type { LanePool, LinkMessage, LinkReceiver } from "../../src/main/lanes.ts";
import { Link, type LinkConsumer, type LinkEnd } from "../../src/main/link.ts";
import { type Exit, PipedProcess } from "../../src/main/processes/piped-process.ts";
import type { ProcessRegistry } from "../../src/main/processes/registry.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import { STDERR_TAIL_CHARS } from "../../src/shared/limits.ts";
import type { LaneCommand } from "../../src/shared/messages.ts";
import { ready, text, turnEnd } from "../support/agy-events.ts";
import { ChildNursery } from "../support/child-process.ts";
import { EXIT, LOST } from "../support/turn-play.ts";

const nursery = new ChildNursery();

/** What the link told its lane, and what the lane tells the link. */
let commands: LaneCommand[];
let receiver: LinkReceiver;
let seq: number;
let stops: string[];
/** What agy named. */
let conversations: string[];
/** What the lane reports while agy is being started. */
let whileStarting: () => void;
let pid: number;
let exit: (exit: Exit) => void;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	commands = [];
	seq = 0;
	stops = [];
	conversations = [];
	whileStarting = () => {};
	pid = 2 ** 30;
	vi.spyOn(PipedProcess, "start").mockImplementation(async () => {
		const exited = new Promise<Exit>((resolve) => {
			exit = resolve;
		});
		const stop = (first: string) => {
			stops.push(first);
			return exited;
		};
		whileStarting();
		return { identity: { pid, startTime: "1" }, exited, gone: exited, stop } as unknown as PipedProcess;
	});
});

afterEach(() => {
	const timerCount = vi.getTimerCount();
	vi.useRealTimers();
	vi.restoreAllMocks();
	expect(timerCount).toBe(0);
});

/** A link that runs, on a conversation or without one. */
function open(conversationId: string | null = null): Promise<Link> {
	const lane = {
		socketPath: "/x.sock",
		open: (_link: number, _token: string, _run: unknown, given: LinkReceiver) => {
			receiver = given;
		},
		send: (command: LaneCommand) => commands.push(command),
		drop: (link: number) => commands.push({ kind: "drop", link }),
	};
	const profile = { bin: "/opt/agy", cwd: "/", addDirs: [], modelSlug: "m", skipPermissions: false, agent: null };
	return Link.open(
		{
			sessionId: "s1",
			engine: streamJsonEngine,
			profile: { ...profile, mode: "default", missingFlags: [], extraArgs: [] },
			conversationId,
			env: {},
			run: null,
		},
		7,
		{ acquire: async () => lane } as unknown as LanePool,
		{} as ProcessRegistry,
		(named) => conversations.push(named),
	);
}

class Consumer implements LinkConsumer {
	readonly heard: string[] = [];
	readonly ends: LinkEnd[] = [];

	receive(message: LinkMessage): void {
		if (message.kind === "events") this.heard.push(...message.events.map((event) => event.kind));
		else this.heard.push(message.kind);
	}

	ended(end: LinkEnd): void {
		this.ends.push(end);
	}
}

const events = (...list: readonly AgyEvent[]) =>
	receiver.receive({ kind: "events", link: 7, bytes: 1, events: list }, ++seq);
const stderr = (words: string) => receiver.receive({ kind: "stderr", link: 7, text: words }, ++seq);
const endOutput = () => receiver.receive({ kind: "output-ended", link: 7 }, ++seq);
const sent = (kind: LaneCommand["kind"]) => commands.filter((command) => command.kind === kind);
const pass = () => new Promise((resolve) => setImmediate(resolve));
/** The end of a process, so that no timer is left. */
async function finish(): Promise<void> {
	exit(EXIT.exit);
	await pass();
	endOutput();
	await pass();
}

async function isSettled(promise: Promise<void>): Promise<boolean> {
	let settled = false;
	void promise.then(() => {
		settled = true;
	});
	await pass();
	return settled;
}

describe("what agy says before its first prompt", () => {
	test("waits for the turn, in order and unacknowledged", async () => {
		const link = await open();
		events(ready);
		stderr("warning");
		expect(sent("ack")).toStrictEqual([]);
		const consumer = new Consumer();
		link.submit("prompt\n", consumer);
		expect(consumer.heard).toStrictEqual(["ready", "stderr"]);
		expect(sent("ack")).toStrictEqual([{ kind: "ack", link: 7, seq: 2 }]);
		expect(link.stderrTail).toBe("warning");
		await finish();
	});

	test("names the conversation and the model at once", async () => {
		const link = await open();
		events({ ...ready, conversationId: "c9", model: "m-high" } as AgyEvent);
		expect([link.conversationId, link.model]).toStrictEqual(["c9", "m-high"]);
		events(turnEnd({ conversationId: "c9" }));
		events(turnEnd({ conversationId: "" }));
		expect(conversations).toStrictEqual(["c9"]);
		await finish();
	});

	test("names the conversation also while its start is still being recorded", async () => {
		whileStarting = () => events({ ...ready, conversationId: "c9" } as AgyEvent);
		const link = await open();
		expect([link.conversationId, conversations]).toStrictEqual(["c9", ["c9"]]);
		await finish();
	});

	test("tells nobody of the conversation that was asked for, and of another one", async () => {
		await open("c1");
		events({ ...ready, conversationId: "c1" } as AgyEvent);
		expect(conversations).toStrictEqual([]);
		events({ ...ready, conversationId: "c2" } as AgyEvent);
		expect(conversations).toStrictEqual(["c2"]);
		await finish();
	});

	test("is the turn's too when it is the end", async () => {
		const link = await open();
		stderr("error: no license\n");
		await finish();
		expect(link.state).toBe("running");
		const consumer = new Consumer();
		link.submit("prompt\n", consumer);
		expect(consumer.ends).toStrictEqual([EXIT]);
		expect(link.stderrTail).toBe("error: no license\n");
	});
});

describe("ready", () => {
	test.each<[string, () => void | Promise<void>]>([
		["agy's introduction", () => events(ready)],
		["a result, of an agy that introduces itself never", () => events(turnEnd())],
		["a lost lane", () => receiver.laneLost(LOST.laneError)],
		["the end of the process", () => finish()],
	])("settles with %s", async (_name, happen) => {
		const link = await open();
		expect(await isSettled(link.ready)).toBe(false);
		events(text("a"));
		expect(await isSettled(link.ready)).toBe(false);
		await happen();
		expect(await isSettled(link.ready)).toBe(true);
		await finish();
	});
});

describe("a link that is left to end by itself", () => {
	test("gets the end of its input, and is done with its consumer", async () => {
		const link = await open();
		const consumer = new Consumer();
		link.submit("prompt\n", consumer);
		events(text("a"));
		link.drain();
		events(text("b"));
		expect(link.state).toBe("draining");
		expect(consumer.heard).toStrictEqual(["text"]);
		expect(sent("end-input")).toHaveLength(1);
		expect(stops).toStrictEqual([]);
		expect(sent("ack").at(-1)).toMatchObject({ seq: 2 });
		await finish();
		expect(link.state).toBe("closed");
		expect(consumer.ends).toStrictEqual([]);
	});

	test("takes no prompt any more, and can still be closed", async () => {
		const link = await open();
		link.submit("prompt\n", new Consumer());
		link.drain();
		const consumer = new Consumer();
		link.submit("another\n", consumer);
		expect(consumer.ends).toHaveLength(1);
		expect(sent("write")).toHaveLength(1);
		void link.close();
		expect(stops).toStrictEqual(["interrupt"]);
		await finish();
		await link.closed;
	});

	test("is not one that is idle or closed", async () => {
		const link = await open();
		link.release();
		link.drain();
		expect(link.state).toBe("idle");
		void link.close();
		link.drain();
		expect(link.state).toBe("closing");
		await finish();
	});
});

describe("what runs below agy", () => {
	test("is seen: nothing by itself, a child of its own, nothing when it is gone", async () => {
		vi.useRealTimers();
		const alone = await nursery.sleeper();
		const parent = await nursery.shell("sleep 1000 & echo $!; wait", { lines: 1 });
		nursery.pidsOf(parent);
		pid = alone.pid;
		const lonely = await open();
		expect(await lonely.hasRunningCommands()).toBe(false);
		await finish();
		pid = parent.pid;
		const busy = await open();
		expect(await busy.hasRunningCommands()).toBe(true);
		await finish();
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	});
});

test("the watch over the transcript is the lane's, until the link is over", async () => {
	const link = await open();
	link.watchTranscript("/t.jsonl", 4);
	link.unwatchTranscript();
	const watch = { kind: "watch-transcript", link: 7, path: "/t.jsonl", afterStep: 4 };
	expect(commands).toStrictEqual([watch, { kind: "unwatch-transcript", link: 7 }]);
	link.submit("prompt\n", new Consumer());
	await finish();
	link.unwatchTranscript();
	expect(sent("unwatch-transcript")).toHaveLength(1);
});

describe("stderr", () => {
	test("is that of the turn, and its end alone", async () => {
		const link = await open();
		link.submit("one\n", new Consumer());
		stderr("first");
		link.release();
		link.reserve();
		link.submit("two\n", new Consumer());
		expect(link.stderrTail).toBe("");
		stderr("x".repeat(STDERR_TAIL_CHARS));
		stderr("end");
		expect(link.stderrTail).toHaveLength(STDERR_TAIL_CHARS);
		expect(link.stderrTail.endsWith("end")).toBe(true);
		await finish();
	});
});

test("a consumer that is not done holds everything back, the end included", async () => {
	const link = await open();
	let done: () => void = () => {};
	const consumer = new Consumer();
	const receive = consumer.receive.bind(consumer);
	consumer.receive = (message) => {
		receive(message);
		return new Promise<void>((resolve) => {
			done = resolve;
		});
	};
	link.submit("prompt\n", consumer);
	events(text("a"));
	events(text("b"));
	await finish();
	expect([consumer.heard.length, consumer.ends.length, sent("ack").length]).toStrictEqual([1, 0, 0]);
	for (let message = 1; message <= 3; message++) {
		done();
		await pass();
		expect(sent("ack").at(-1)).toMatchObject({ seq: message });
	}
	expect(consumer.ends).toStrictEqual([EXIT]);
	expect(link.state).toBe("closed");
});

test("a process that has gone is told to its lane, which says when all that it wrote is here", async () => {
	const link = await open();
	const consumer = new Consumer();
	link.submit("prompt\n", consumer);
	exit(EXIT.exit);
	await pass();
	expect(sent("process-exited")).toStrictEqual([{ kind: "process-exited", link: 7, exit: EXIT.exit }]);
	events(text("last words"));
	expect(consumer.ends).toStrictEqual([]);
	endOutput();
	expect(consumer.heard).toStrictEqual(["text", "output-ended"]);
	expect(consumer.ends).toStrictEqual([EXIT]);
	await link.closed;
});
