import type { Message } from "@earendil-works/pi-ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NOTHING_TOLD, planHistory, type Told, tellOwn, textOf } from "../../src/main/history.ts";
import { anyAct, HistoryPlay } from "../support/history-play.ts";
import { call, compaction, foreign, image, OWN, own, system, toolResult, user } from "../support/pi-transcript.ts";

const plan = (messages: readonly Message[], told: Told | null = null) => planHistory(messages, OWN, told);
/** What a conversation knows that was told all of this. */
const toldOf = (messages: readonly Message[]) => plan(messages).told;

const hello = user("Hello.");
const answer = own("Hi.");
const again = user("Again.");
const before = [hello, answer];
const told = toldOf(before);

describe("the first prompt of a session", () => {
	test.each<[string, readonly Message[], readonly Message[], readonly Message[]]>([
		["one message", [hello], [], [hello]],
		["several messages, in order", [hello, again], [], [hello, again]],
		["no message", [], [], []],
		["a system prompt, which is no message", [system("Be kind."), hello], [], [hello]],
		["what happened with another provider before", [hello, foreign("Hi."), again], [], [again]],
	])("%s", (_name, messages, _context, prompt) => {
		const planned = plan(messages);
		expect(planned).toMatchObject({ extends: false, prompt });
		expect([...planned.context, ...planned.prompt]).toStrictEqual(messages.filter(({ role }) => role !== "system"));
		expect(planned.told.count).toBe(planned.context.length + planned.prompt.length);
	});
});

test("a prompt that agy dropped is context of the next one, and only then", () => {
	const dropped = own("", {
		stopReason: "error",
		errorMessage: "agy reported success without having done anything; x",
	});
	const crashed = own("", { stopReason: "error", errorMessage: "agy exited with code 1 without an answer." });
	expect(plan([...before, hello, dropped, again])).toMatchObject({ context: [hello, answer, hello], prompt: [again] });
	expect(plan([...before, hello, crashed, again])).toMatchObject({ context: [hello, answer], prompt: [hello, again] });
	expect(plan([hello, dropped])).toMatchObject({ context: [hello], prompt: [] });
});

describe("a conversation goes on", () => {
	test.each<[string, readonly Message[], readonly Message[]]>([
		["with what the user says", [...before, again], [again]],
		["with several messages at once", [...before, again, hello], [again, hello]],
		["with nothing new", before, []],
		["under another system prompt", [system("New."), hello, answer, system("Newer."), again], [again]],
		["past its own failed message", [...before, own("Half", { stopReason: "error" }), again], [again]],
		["past its own aborted message", [...before, own("Half", { stopReason: "aborted" }), again], [again]],
		[
			"past its own cards",
			[...before, own("", { content: [call("c1")], stopReason: "aborted" }), toolResult("c1"), again],
			[again],
		],
	])("%s", (_name, messages, prompt) => {
		expect(plan(messages, told)).toStrictEqual({
			extends: true,
			reason: "",
			context: [],
			prompt,
			told: toldOf(messages),
		});
	});

	test("and pi's retry, which drops the failed message and sends the same again, tells nothing twice", () => {
		const submitted = toldOf([...before, again]);
		expect(plan([...before, again], submitted)).toMatchObject({ extends: true, context: [], prompt: [] });
		expect(plan([...before, again, own("", { stopReason: "error" })], submitted)).toMatchObject({ prompt: [] });
	});

	test("whatever agy's message says: it is known by when it was asked for", () => {
		expect(plan([hello, { ...answer, content: [] }, again], told)).toMatchObject({ extends: true, prompt: [again] });
	});

	test("with its own messages as they come", () => {
		const submitted = toldOf([hello]);
		expect(tellOwn(submitted, answer)).toStrictEqual(told);
		expect(tellOwn(submitted, { timestamp: answer.timestamp + 1 })).not.toStrictEqual(told);
	});
});

describe("a conversation is topped up", () => {
	const others = [
		user("Ask them."),
		foreign("Asked."),
		user("And?"),
		foreign("", { content: [call("f1")] }),
		toolResult("f1"),
	];

	test("with what happened with another provider, the user's words included, before the prompt", () => {
		expect(plan([...before, ...others, again], told)).toMatchObject({
			extends: true,
			reason: "",
			context: others,
			prompt: [again],
		});
	});

	test("with a failed message of another provider, which is not ours to leave out", () => {
		const failed = foreign("Half", { stopReason: "error" });
		expect(plan([...before, failed, again], told)).toMatchObject({ extends: true, context: [failed], prompt: [again] });
	});

	test("once: the next prompt is the user's words alone", () => {
		const next = [...before, ...others, again];
		expect(plan([...next, hello], plan(next, told).told)).toMatchObject({
			extends: true,
			context: [],
			prompt: [hello],
		});
	});

	test("in a side request with agy's own words too, which nobody there has said", () => {
		expect(planHistory([...before, again], "", null)).toMatchObject({ context: before, prompt: [again] });
	});
});

describe("a conversation cannot go on", () => {
	const CHANGED = "the session's history was changed by a branch, a fork or an edit";
	test.each<[string, readonly Message[], string]>([
		["after a branch", [user("Other."), again], CHANGED],
		["after a branch to an earlier point", [hello, again], CHANGED],
		["after a cut to nothing", [again], CHANGED],
		["when there is less than it knows", [hello], CHANGED],
		["after an edit", [user("Hello!"), answer, again], CHANGED],
		["when an image was added", [user([{ type: "text", text: "Hello." }, image("image/png")]), answer, again], CHANGED],
		["when its answer is another one's now", [hello, foreign("Hi."), again], CHANGED],
		["when its answer is of another time", [hello, own("Hi."), again], CHANGED],
		["in another order", [answer, hello, again], CHANGED],
		["after a compaction", [compaction("They greeted."), again], "pi compacted the conversation"],
		["after a compaction that kept the end", [compaction("x"), answer, again], "pi compacted the conversation"],
	])("%s", (_name, messages, reason) => {
		const planned = plan(messages, told);
		expect(planned).toMatchObject({ extends: false, reason });
		expect([...planned.context, ...planned.prompt]).toStrictEqual(messages);
	});

	test("that never was: the reason is the history agy does not know", () => {
		expect(plan([...before, again]).reason).toBe("the session has a history that agy does not know");
	});

	test.each([
		["nothing, with a hash", { count: 0, hash: "unprovable" }],
		["more than there is", { count: 99, hash: told.hash }],
		["more than there is, without a hash", { count: 99, hash: "" }],
		["less than its hash says", { count: 1, hash: told.hash }],
		["a negative count", { count: -1, hash: told.hash }],
		["half a message", { count: 1.5, hash: told.hash }],
	])("whose record says %s", (_name, record) => {
		expect(plan([...before, again], record)).toMatchObject({ extends: false, prompt: [again], context: before });
	});
});

test("a conversation that was told nothing yet goes on with everything", () => {
	expect(plan([hello], NOTHING_TOLD)).toMatchObject({ extends: true, context: [], prompt: [hello] });
});

test("the same words at another place are other words", () => {
	expect(toldOf([hello, again]).hash).not.toBe(toldOf([again, hello]).hash);
	expect(toldOf([user("ab"), user("c")]).hash).not.toBe(toldOf([user("a"), user("bc")]).hash);
	expect(toldOf([user('x"]\n["user","y')]).hash).not.toBe(toldOf([user("x"), user("y")]).hash);
});

test.each([
	["a text", "Hi.", "Hi."],
	[
		"blocks",
		[{ type: "text" as const, text: "a" }, image("image/png"), { type: "text" as const, text: "b" }],
		"a\n\nb",
	],
])("the text of %s", (_name, content, text) => {
	expect(textOf(user(content))).toBe(text);
});

test("whatever a session goes through, agy hears every message once and in order, and starts anew only where it must", () => {
	const seen = { extended: 0, toppedUp: 0, rebuilt: 0 };
	fc.assert(
		fc.property(fc.array(anyAct, { minLength: 1, maxLength: 30 }), (acts) => {
			const play = new HistoryPlay();
			for (const act of acts) play.act(act);
			play.act({ do: "turn", cards: 1, steered: [true] });
			expect(play.problems).toStrictEqual([]);
			for (const kind of ["extended", "toppedUp", "rebuilt"] as const) seen[kind] += play.seen[kind];
		}),
		{ numRuns: 600 },
	);
	// The plays reach all three, or they prove little.
	for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50);
});
