import { describe, expect, test } from "vitest";
import type { AgyEvent } from "../../src/shared/events.ts";
import { isCommandFrame, isMessageFrame, type LaneCommand, type LaneMessage } from "../../src/shared/messages.ts";

/** One example per variant. A variant without one does not compile, and neither does one that is no variant. */
type ExampleOf<M extends { readonly kind: string }> = {
	readonly [K in M["kind"]]: Extract<M, { readonly kind: K }>;
};

const EVENTS = {
	ready: {
		kind: "ready",
		conversationId: "c1",
		model: "gemini-x-low",
		permissionMode: "always-proceed",
		toolCount: 57,
	},
	text: { kind: "text", step: 1, text: "Good mor" },
	thinking: { kind: "thinking", step: 1, text: "The user greets." },
	"model-call": {
		kind: "model-call",
		step: 1,
		usage: { input: 12_000, output: 40, thinking: 25, cacheRead: 0 },
		durationMs: 1904,
	},
	tool: {
		kind: "tool",
		step: 2,
		state: "error",
		name: "run_command",
		args: { CommandLine: "make test", Nested: { list: [1, "a", null, true] } },
		output: "1 failed",
		error: { type: "TOOL_ERROR", message: "failed" },
		durationMs: 27,
	},
	subagent: {
		kind: "subagent",
		step: 3,
		state: "done",
		agents: [{ type: "researcher", role: "Looks things up", prompt: "Find it", conversationId: "c2" }],
		durationMs: 21,
	},
	notice: { kind: "notice", step: 4, type: "checkpoint", usage: { input: 400, output: 8, thinking: 0, cacheRead: 0 } },
	unknown: { kind: "unknown", what: "step-type", name: "hologram" },
	"withheld-answer": { kind: "withheld-answer", step: 5, text: "The server is up.\n" },
	"turn-end": {
		kind: "turn-end",
		status: "SUCCESS",
		text: "Good morning.\n",
		error: "",
		conversationId: "c1",
		usage: { input: 12_000, output: 40, thinking: 25, cacheRead: 0 },
		turnCount: 1,
		deniedActions: [{ action: "command", displayName: "RunCommand" }],
	},
} satisfies ExampleOf<AgyEvent>;

const MESSAGES = {
	events: { kind: "events", link: 1, bytes: 512, events: Object.values(EVENTS) },
	"lines-rejected": {
		kind: "lines-rejected",
		link: 1,
		count: 2,
		byteLength: 90,
		reason: "not-json",
		sample: "Opening in existing browser session.",
	},
	stderr: { kind: "stderr", link: 1, text: "error: interrupted\n" },
	level: { kind: "level", link: 1, capturedMs: 50, rmsDb: -21.5, peakDb: -9 },
	captured: {
		kind: "captured",
		link: 1,
		result: {
			capturedMs: 2_000,
			loudestDb: -20,
			encoded: { ok: true, mimeType: "audio/ogg", durationMs: 1_400, byteLength: 3, base64: Buffer.from("T2dn") },
		},
	},
	drift: { kind: "drift", link: 1, shapes: [{ what: "field", name: "result.mood", count: 2 }] },
	"input-failed": { kind: "input-failed", link: 1, message: "write EPIPE" },
	"output-ended": { kind: "output-ended", link: 1 },
	log: { kind: "log", level: "warn", text: "a pipe came twice" },
} satisfies ExampleOf<LaneMessage>;

const COMMANDS = {
	open: {
		kind: "open",
		link: 1,
		token: "5f2b",
		subject: {
			kind: "run",
			conversationsDir: "/home/u/c",
			conversationId: null,
			prompt: "Hi",
			workspace: "/srv",
			startedAtMs: 1,
		},
		capture: { directory: "/home/u/captures", turns: 3 },
	},
	"process-started": { kind: "process-started", link: 1, pid: 7 },
	write: { kind: "write", link: 1, text: '{"event":"user","message":{"role":"user","content":"Hi"}}\n' },
	"end-input": { kind: "end-input", link: 1 },
	"process-exited": { kind: "process-exited", link: 1, exit: { code: 0, signal: null } },
	ack: { kind: "ack", link: 1, seq: 7 },
	"watch-transcript": { kind: "watch-transcript", link: 1, path: "/home/u/transcript.jsonl", afterStep: 4 },
	"unwatch-transcript": { kind: "unwatch-transcript", link: 1 },
	drop: { kind: "drop", link: 1 },
} satisfies ExampleOf<LaneCommand>;

describe("every variant passes the guard of its direction and no other", () => {
	test.each(Object.values(MESSAGES))("message $kind", (message) => {
		const frame = { seq: 1, messages: [message] };
		expect(isMessageFrame(frame)).toBe(true);
		expect(isCommandFrame(frame)).toBe(false);
	});

	test.each(Object.values(COMMANDS))("command $kind", (command) => {
		const frame = { seq: 1, messages: [command] };
		expect(isCommandFrame(frame)).toBe(true);
		expect(isMessageFrame(frame)).toBe(false);
	});
});

test("a frame without messages passes both guards", () => {
	expect(isMessageFrame({ seq: 1, messages: [] })).toBe(true);
	expect(isCommandFrame({ seq: 1, messages: [] })).toBe(true);
});

describe("foreign values are refused", () => {
	test.each([
		["nothing", undefined],
		["null", null],
		["a string", "frame"],
		["a list", [MESSAGES.stderr]],
		["an object without seq", { messages: [] }],
		["a seq that is no number", { seq: "1", messages: [] }],
		["no messages", { seq: 1 }],
		["messages that are no list", { seq: 1, messages: { 0: MESSAGES.stderr } }],
		["a message that is null", { seq: 1, messages: [null] }],
		["a message that is a string", { seq: 1, messages: ["stderr"] }],
		["a message without a kind", { seq: 1, messages: [{ link: 1 }] }],
		["a message of an unknown kind", { seq: 1, messages: [{ kind: "stdout", link: 1 }] }],
		["a kind that every object has", { seq: 1, messages: [{ kind: "constructor", link: 1 }] }],
		[
			"one foreign message among good ones",
			{ seq: 1, messages: [MESSAGES.stderr, { kind: "NODE_WATCH" }, COMMANDS.ack] },
		],
		["an agy event", EVENTS.text],
	])("%s", (_name, value) => {
		expect(isMessageFrame(value)).toBe(false);
		expect(isCommandFrame(value)).toBe(false);
	});
});
