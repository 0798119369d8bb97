import type { AssistantMessageEvent } from "@earendil-works/pi-ai";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { TokenUsage } from "../../src/shared/events.ts";
import { problemsOf } from "../support/pi-contract.ts";
import { PiMessage } from "../support/pi-message.ts";

let message: PiMessage;

beforeEach(() => {
	message = new PiMessage();
});

const call = (id: string) => ({ id, name: "antigravity", arguments: { tool: "view_file", args: { n: 1 } } });
const usage = (more: Partial<TokenUsage>): TokenUsage => ({ input: 0, output: 0, thinking: 0, cacheRead: 0, ...more });

describe("blocks", () => {
	test("a message of every kind of block is balanced and complete", () => {
		const { stream } = message;
		stream.start();
		stream.thinking("hm");
		stream.text("a");
		stream.text("b");
		stream.toolCall(call("1"));
		stream.toolCall(call("2"));
		stream.text("c");
		stream.done("toolUse");
		expect(message.types).toStrictEqual([
			"start",
			...["thinking_start", "thinking_delta", "thinking_end"],
			...["text_start", "text_delta", "text_delta", "text_end"],
			...["toolcall_start", "toolcall_delta", "toolcall_end"],
			...["toolcall_start", "toolcall_delta", "toolcall_end"],
			...["text_start", "text_delta", "text_end"],
			"done",
		]);
		expect(message.problems()).toStrictEqual([]);
		expect(message.end?.content).toStrictEqual([
			{ type: "thinking", thinking: "hm" },
			{ type: "text", text: "ab" },
			{ type: "toolCall", ...call("1") },
			{ type: "toolCall", ...call("2") },
			{ type: "text", text: "c" },
		]);
	});

	test("text after the end of a block is a block of its own", () => {
		message.stream.text("a");
		message.stream.endBlock();
		message.stream.endBlock();
		message.stream.text("b");
		message.stream.done("stop");
		expect(message.end?.content).toStrictEqual([
			{ type: "text", text: "a" },
			{ type: "text", text: "b" },
		]);
		expect(message.problems()).toStrictEqual([]);
	});

	test("an empty piece opens nothing", () => {
		message.stream.text("");
		message.stream.thinking("");
		expect(message.events).toStrictEqual([]);
	});

	test("pi sees the live message, which grows", () => {
		message.stream.start();
		const first = message.events[0];
		message.stream.text("a");
		message.stream.text("b");
		expect(first?.type === "start" && first.partial.content).toStrictEqual([{ type: "text", text: "ab" }]);
	});
});

describe("the start", () => {
	test("comes by itself with the first piece", () => {
		message.stream.text("a");
		expect(message.types.slice(0, 2)).toStrictEqual(["start", "text_start"]);
	});

	test("comes once", () => {
		message.stream.start();
		message.stream.start();
		message.stream.text("a");
		message.stream.start();
		expect(message.types.filter((type) => type === "start")).toHaveLength(1);
	});

	test("comes before the end of an empty message", () => {
		message.stream.done("stop");
		expect(message.types).toStrictEqual(["start", "done"]);
	});

	test("does not come where a request failed before it was sent", () => {
		message.stream.fail("error", "agy was not found.");
		expect(message.types).toStrictEqual(["error"]);
		expect(message.problems()).toStrictEqual([]);
	});
});

describe("the end", () => {
	test.each([
		["done: stop", (m: PiMessage) => m.stream.done("stop"), "stop", undefined],
		["fail: error", (m: PiMessage) => m.stream.fail("error", "It broke."), "error", "It broke."],
		["fail: aborted", (m: PiMessage) => m.stream.fail("aborted", "Stopped."), "aborted", "Stopped."],
	] as const)("%s closes the open block, and nothing follows", (_name, end, stopReason, errorMessage) => {
		const { stream } = message;
		stream.text("a");
		end(message);
		const { length } = message.events;
		expect(stream.isEnded).toBe(true);
		stream.start();
		stream.text("late");
		stream.thinking("late");
		stream.toolCall(call("late"));
		stream.endBlock();
		stream.addUsage(usage({ input: 5 }));
		stream.setContextTokens(5);
		stream.setConversation("late");
		stream.done("stop");
		stream.fail("error", "late");
		expect(message.events).toHaveLength(length);
		expect(message.problems()).toStrictEqual([]);
		expect(message.end).toMatchObject({ stopReason, content: [{ type: "text", text: "a" }], usage: { input: 0 } });
		expect(message.end?.errorMessage).toBe(errorMessage);
		expect(message.end?.responseId).toBeUndefined();
	});

	test("is what pi's result resolves with", async () => {
		message.stream.text("a");
		message.stream.done("stop");
		expect(await message.stream.events.result()).toBe(message.end);
	});

	test("ends pi's iteration", async () => {
		message.stream.text("a");
		message.stream.done("stop");
		const seen: string[] = [];
		for await (const event of message.stream.events) seen.push(event.type);
		expect(seen).toStrictEqual(message.types);
	});
});

describe("usage", () => {
	test("adds up over the calls of a message; the context figure is another thing", () => {
		message.stream.addUsage({ input: 12_000, output: 40, thinking: 25, cacheRead: 0 });
		message.stream.addUsage({ input: 900, output: 30, thinking: 10, cacheRead: 11_500 });
		message.stream.setContextTokens(12_400);
		message.stream.done("stop");
		expect(message.end?.usage).toMatchObject({
			input: 12_900,
			output: 70,
			reasoning: 35,
			cacheRead: 11_500,
			cacheWrite: 0,
			totalTokens: 12_400,
		});
	});

	test("costs what pi's price list says", () => {
		message.stream.addUsage({ input: 1_000_000, output: 100_000, thinking: 50_000, cacheRead: 2_000_000 });
		message.stream.done("stop");
		expect(message.end?.usage.cost.total).toBeCloseTo(1 + 1 + 0.2);
	});

	test("the context of the message before stands until there is a call", () => {
		message.stream.setContextTokens(12_430);
		message.stream.done("stop");
		expect(message.end?.usage).toMatchObject({ input: 0, output: 0, totalTokens: 12_430 });
	});

	test("the context is that of the last call", () => {
		message.stream.setContextTokens(99);
		message.stream.addUsage(usage({ input: 10, output: 2 }));
		message.stream.setContextTokens(12);
		message.stream.done("stop");
		expect(message.end?.usage.totalTokens).toBe(12);
	});

	test.each([
		["above what pi has left of it is that", 80_000, 3_000],
		["below it stands", 2_000, 2_000],
	])("a context %s, after pi has compacted", (_name, tokens, shown) => {
		message.stream.capContext(3_000);
		message.stream.setContextTokens(tokens);
		message.stream.done("stop");
		expect(message.end?.usage.totalTokens).toBe(shown);
	});
});

test("the message is known by when it was asked for, and whether anything was written", () => {
	expect(message.stream.isEmpty).toBe(true);
	message.stream.start();
	expect(message.stream.isEmpty).toBe(true);
	message.stream.thinking("hm");
	expect(message.stream.isEmpty).toBe(false);
	message.stream.done("stop");
	expect(message.end?.timestamp).toBe(message.stream.timestamp);
});

test("the message names the conversation, the model and the provider", () => {
	message.stream.setConversation("c1");
	message.stream.done("stop");
	expect(message.end).toMatchObject({
		role: "assistant",
		responseId: "c1",
		api: "agy",
		provider: "antigravity",
		model: "gemini-3.8-flash",
	});
});

test("whatever is called in whatever order, the contract holds", () => {
	const anyAct = fc.constantFrom<(m: PiMessage) => void>(
		(m) => m.stream.start(),
		(m) => m.stream.text("a"),
		(m) => m.stream.text(""),
		(m) => m.stream.thinking("t"),
		(m) => m.stream.endBlock(),
		(m) => m.stream.toolCall(call("1")),
		(m) => m.stream.addUsage(usage({ input: 1 })),
		(m) => m.stream.fail("error", "x"),
		(m) => m.stream.done(m.toolCalls.length > 0 ? "toolUse" : "stop"),
	);
	fc.assert(
		fc.property(fc.array(anyAct, { maxLength: 20 }), (acts) => {
			const any = new PiMessage();
			for (const act of acts) act(any);
			any.stream.done(any.toolCalls.length > 0 ? "toolUse" : "stop");
			expect(any.problems()).toStrictEqual([]);
		}),
	);
});

describe("the check of the contract sees", () => {
	const sound = (): AssistantMessageEvent[] => {
		const good = new PiMessage();
		good.stream.text("a");
		good.stream.toolCall(call("1"));
		good.stream.done("toolUse");
		return good.events;
	};

	test.each<[string, (events: AssistantMessageEvent[]) => unknown, string]>([
		["a missing start", (events) => events.shift(), "does not begin with start"],
		["a missing end", (events) => events.pop(), "has no end"],
		["two ends", (events) => events.push(...events.slice(-1)), "after the end"],
		["a block left open", (events) => events.splice(3, 1), "is open"],
		["a piece without a block", (events) => events.splice(1, 1), "its block is not open"],
		["a text that differs from its pieces", (events) => events.splice(2, 0, ...events.slice(2, 3)), "is not"],
	])("%s", (_name, breakIt, problem) => {
		const events = sound();
		expect(problemsOf(events)).toStrictEqual([]);
		breakIt(events);
		expect(problemsOf(events).join("\n")).toContain(problem);
	});
});
