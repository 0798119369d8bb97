/** Long because one machine is looked at three ways: state by event, one story each, and everything at random. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { StepDisplay } from "../../src/main/turn-contract.ts";
import type { AgyEvent, StepState, ToolEvent } from "../../src/shared/events.ts";
import {
	MAX_SILENCE_EXTENSIONS,
	TRANSCRIPT_LOOKUP_MS,
	WITHHELD_AFTER_MS,
	WITHHELD_IDLE_AFTER_MS,
} from "../../src/shared/limits.ts";
import {
	failedTool,
	modelCall,
	notice,
	ready,
	subagent,
	text,
	thinking,
	tool,
	turnEnd,
	unknown,
} from "../support/agy-events.ts";
import { FakeLink } from "../support/fake-link.ts";
import { anyAct, anyEnding, anyResponse, type Ending, EXIT, LOST, TurnPlay } from "../support/turn-play.ts";
import { RUN_AGAIN, STEP_TOOL, TurnStage } from "../support/turn-stage.ts";

const MINUTE_MS = 60_000;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});

afterEach(() => {
	vi.useRealTimers();
});

const END = turnEnd({ text: "" });

// --- the table of states and events ----------------------------------------------------------------------------------

/** How a turn gets into a state from its start. */
const STATES = {
	streaming: (stage) => stage.link.print(text("a")),
	"parked, step 2 open": (stage) => stage.link.print(tool(2, "active")),
	"parked, step 2 settled": (stage) => stage.link.print(tool(2, "done", { output: "4 passed" })),
	ended: (stage) => stage.link.print(text("a"), END),
} satisfies Record<string, (stage: TurnStage) => void>;

const HAPPENINGS = {
	text: (stage) => stage.link.print(text("b")),
	thinking: (stage) => stage.link.print(thinking("hm")),
	"model call": (stage) => stage.link.print(modelCall()),
	notice: (stage) => stage.link.print(notice),
	unknown: (stage) => stage.link.print(unknown),
	ready: (stage) => stage.link.print(ready),
	"step 2 active": (stage) => stage.link.print(tool(2, "active")),
	"step 2 done": (stage) => stage.link.print(tool(2, "done")),
	"step 2 failed": (stage) => stage.link.print(failedTool(2, "no")),
	"step 3 active": (stage) => stage.link.print(tool(3, "active")),
	"step 3 done": (stage) => stage.link.print(tool(3, "done")),
	subagent: (stage) => stage.link.print(subagent(4, "done")),
	result: (stage) => stage.link.print(END),
	stderr: (stage) => stage.link.send({ kind: "stderr", link: 1, text: "warning" }),
	"bad line": (stage) =>
		stage.link.send({ kind: "lines-rejected", link: 1, count: 1, byteLength: 1, reason: "not-json", sample: "x" }),
	exit: (stage) => stage.link.end(EXIT),
	"lane lost": (stage) => stage.link.end(LOST),
	abort: (stage) => stage.turn.abort(),
	silence: () => void vi.advanceTimersByTime(5 * MINUTE_MS),
	"a withheld answer": (stage) => stage.link.print({ kind: "withheld-answer", step: 5, text: "b" }),
	"a long time": (stage) => {
		for (let minute = 0; minute < 20; minute++) {
			stage.link.send({ kind: "stderr", link: 1, text: "." });
			vi.advanceTimersByTime(MINUTE_MS);
		}
	},
} satisfies Record<string, (stage: TurnStage) => void>;

type Happening = keyof typeof HAPPENINGS;

/** Per happening, the state it leads to from: streaming, parked with an open step, parked with a settled one. */
const TABLE: Readonly<Record<Happening, readonly [string, string, string]>> = {
	text: ["streaming", "held", "held"],
	thinking: ["streaming", "held", "held"],
	"model call": ["streaming", "held", "held"],
	notice: ["streaming", "parked", "held"],
	unknown: ["streaming", "parked", "held"],
	ready: ["streaming", "parked", "held"],
	"step 2 active": ["parked", "parked", "parked"],
	"step 2 done": ["parked", "parked", "parked"],
	"step 2 failed": ["parked", "parked", "parked"],
	"step 3 active": ["parked", "parked", "held"],
	"step 3 done": ["parked", "parked", "held"],
	subagent: ["parked", "parked", "held"],
	result: ["ended: complete", "held", "held"],
	stderr: ["streaming", "parked", "parked"],
	"bad line": ["streaming", "parked", "parked"],
	exit: ["ended: crashed", "untold: crashed", "untold: crashed"],
	"lane lost": ["ended: crashed", "untold: crashed", "untold: crashed"],
	abort: ["ended: cancelled", "untold: cancelled", "untold: cancelled"],
	silence: ["ended: timed-out", "untold: timed-out", "parked"],
	"a long time": ["ended: timed-out", "untold: timed-out", "parked"],
	"a withheld answer": ["ended: still-running", "held", "held"],
};

describe.each(Object.keys(TABLE) as Happening[])("%s", (happening) => {
	const [streaming, open, settled] = TABLE[happening];

	test.each([
		["streaming", streaming],
		["parked, step 2 open", open],
		["parked, step 2 settled", settled],
		["ended", "ended: complete"],
	] as const)("%s -> %s", async (from, to) => {
		const stage = new TurnStage();
		STATES[from](stage);
		HAPPENINGS[happening](stage);
		await stage.pass();
		expect(stage.state).toBe(to);
		expect(stage.ends.length).toBe(/ended|untold/.test(to) ? 1 : 0);
		if (to !== "streaming") expect(stage.message.problems()).toStrictEqual([]);
		stage.turn.abort();
		expect(vi.getTimerCount()).toBe(0);
	});
});

// --- one thing at a time ---------------------------------------------------------------------------------------------

describe("a plain turn", () => {
	test("hands over the prompt, streams and ends", () => {
		const stage = new TurnStage();
		stage.link.print(
			ready,
			notice,
			thinking("hm"),
			text("Good "),
			text("morning."),
			modelCall(),
			turnEnd({ text: "Good morning." }),
		);
		expect(stage.link.prompts).toStrictEqual(["the prompt\n"]);
		expect(stage.message.problems()).toStrictEqual([]);
		expect(stage.message.end?.content).toStrictEqual([
			{ type: "thinking", thinking: "hm" },
			{ type: "text", text: "Good morning." },
		]);
		expect(stage.message.end).toMatchObject({ stopReason: "stop", responseId: "c0ffee" });
		expect(stage.conversations).toStrictEqual(["c1", "c0ffee"]);
	});

	test("names the conversation that is resumed before agy does", () => {
		const link = new FakeLink();
		link.conversationId = "known";
		const stage = new TurnStage({ link: link.asLink });
		expect(stage.conversations).toStrictEqual(["known"]);
		stage.turn.abort();
	});

	test("shows at once that it has begun", () => {
		const stage = new TurnStage();
		expect(stage.message.types).toStrictEqual(["start"]);
		stage.turn.abort();
	});

	test("counts the tokens of model calls, titles and steps nobody knows", () => {
		const stage = new TurnStage();
		const usage = { input: 10, output: 2, thinking: 1, cacheRead: 5 };
		stage.link.print(modelCall(usage), { ...notice, usage }, { ...unknown, usage }, END);
		expect(stage.message.end?.usage).toMatchObject({ input: 30, output: 6, cacheRead: 15, reasoning: 3 });
	});

	test("each model call has a text block of its own", () => {
		const stage = new TurnStage();
		stage.link.print(text("a"), modelCall(), text("b", 2), modelCall(), END);
		expect(stage.message.end?.content.map((block) => block.type)).toStrictEqual(["text", "text"]);
	});
});

describe("the text of the result", () => {
	test.each([
		["nothing was streamed: all of it", [], "Hi.\n", "Hi.\n"],
		["it was streamed: none of it", [text("Hi.\n")], "Hi.\n", "Hi.\n"],
		["it goes on: the rest", [text("Hi.")], "Hi.\n", "Hi.\n"],
		["it is the last step's alone: none of it", [text("First. "), text("Second.", 2)], "Second.", "First. Second."],
		[
			"it goes on after the last step: the rest",
			[text("First. "), text("Second.", 2)],
			"Second.\n",
			"First. Second.\n",
		],
		["it says something else: none of it", [text("Hello.")], "Hi.", "Hello."],
		["it is shorter than what was streamed: none of it", [text("Hi there.")], "Hi", "Hi there."],
		["it is empty", [text("Hi.")], "", "Hi."],
		["it is a line end and nothing was streamed: nothing", [thinking("hm")], "\n", ""],
	] as const)("%s", (_name, streamed, response, expected) => {
		const stage = new TurnStage();
		stage.link.print(...streamed, turnEnd({ text: response }));
		expect(stage.text).toBe(expected);
	});
});

describe("cards", () => {
	test("a step ends the message with its call, and its end is what the call comes to", async () => {
		const stage = new TurnStage();
		stage.link.print(text("I will run it."), tool(2, "active"));
		expect(stage.message.end?.stopReason).toBe("toolUse");
		expect(stage.message.toolCalls).toMatchObject([
			{ name: STEP_TOOL, arguments: { tool: "run_command", args: { CommandLine: "make" } } },
		]);
		expect(await stage.runCalls()).toBe(false);
		stage.link.print(tool(2, "done", { output: "4 passed", durationMs: 640 }));
		expect(await stage.runCalls()).toBe(true);
		expect([...stage.outcomes.values()]).toStrictEqual([{ state: "done", output: "4 passed", durationMs: 640 }]);
		stage.resume();
		stage.link.print(text("It works.", 3), END);
		expect(stage.text).toBe("I will run it.It works.");
		expect(stage.state).toBe("ended: complete");
	});

	test("parallel steps of one frame are calls of one message", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "active"), tool(3, "active"), subagent(4, "active"));
		expect(stage.message.toolCalls.map((call) => call.arguments.tool)).toStrictEqual([
			"run_command",
			"run_command",
			"invoke_subagent",
		]);
		stage.link.print(tool(3, "done"), failedTool(2, "no"));
		expect(await stage.runCalls()).toBe(false);
		stage.link.print(subagent(4, "done"));
		expect(await stage.runCalls()).toBe(true);
		expect([...stage.outcomes.values()].map(({ state }) => state)).toStrictEqual(["error", "done", "done"]);
		stage.turn.abort();
	});

	test("a parallel step of a later frame is a call of the next message", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "active"));
		stage.link.print(tool(3, "active"), tool(2, "done"), tool(3, "done", { output: "three" }));
		expect(await stage.runCalls()).toBe(true);
		stage.resume();
		await stage.pass();
		expect(stage.message.toolCalls).toHaveLength(1);
		expect(await stage.runCalls()).toBe(true);
		expect([...stage.outcomes.values()].map(({ output }) => output)).toStrictEqual(["", "three"]);
		stage.turn.abort();
	});

	test("a step that agy leaves running is in the background, and its end gets a card of its own", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "active"));
		stage.link.print(text("Meanwhile."));
		expect(await stage.runCalls()).toBe(true);
		stage.resume();
		await stage.pass();
		stage.link.print(tool(2, "active"), text(" Waiting."));
		expect(stage.state).toBe("streaming");
		stage.link.print(tool(2, "done", { output: "late" }));
		expect(await stage.runCalls()).toBe(true);
		expect([...stage.outcomes.values()].map(({ state, output }) => `${state}: ${output}`)).toStrictEqual([
			"background: Still running when agy went on.",
			"done: late",
		]);
		expect(new Set(stage.outcomes.keys()).size).toBe(2);
		stage.turn.abort();
	});

	test("a step is shown once, however often it is reported", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "active"), tool(2, "active"), tool(2, "done"), tool(2, "done"));
		await stage.runCalls();
		stage.resume();
		stage.link.print(tool(2, "done"), END);
		expect(stage.messages.flatMap((message) => message.toolCalls)).toHaveLength(1);
	});

	test("nothing that comes while pi runs a call is lost, and the process is held back", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "done"));
		stage.link.print(text("a"), tool(3, "done"), text("b", 4));
		stage.link.print(text("c", 4), END);
		await stage.pass();
		expect(stage.link.isHeldBack).toBe(true);
		expect(stage.text).toBe("");
		for (let message = 0; message < 3 && stage.ends.length === 0; message++) {
			await stage.runCalls();
			stage.resume();
			await stage.pass();
		}
		expect(stage.text).toBe("abc");
		expect(stage.state).toBe("ended: complete");
	});

	test("a message after a card carries the context figure on", async () => {
		const stage = new TurnStage();
		stage.link.print(modelCall({ input: 100, output: 20, thinking: 0, cacheRead: 1_000 }), tool(2, "done"));
		await stage.runCalls();
		stage.resume();
		stage.link.print(tool(3, "done"));
		expect(stage.message.end?.usage).toMatchObject({ input: 0, totalTokens: 1_100 });
		stage.turn.abort();
	});

	test("the turn knows the calls it waits for, until they are run", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "done"));
		const [call] = stage.message.toolCalls;
		expect(stage.turn.owns(call?.id ?? "")).toBe(true);
		expect(stage.turn.owns("agy-2-2")).toBe(false);
		await stage.runCalls();
		stage.resume();
		expect(stage.turn.owns(call?.id ?? "")).toBe(false);
		stage.turn.abort();
	});
});

describe("a step that pi can run again", () => {
	const view = (state: StepState, step = 2) =>
		tool(step, state, { name: "view_file", args: { AbsolutePath: "/srv/demo/a.ts" } });
	const callsOf = (stage: TurnStage) => stage.messages.flatMap(({ toolCalls }) => toolCalls.map(({ name }) => name));

	function stageWithRead(): TurnStage {
		const stage = new TurnStage();
		stage.nativeTools.add("read");
		return stage;
	}

	test("waits for its end, while the turn streams on", async () => {
		const stage = stageWithRead();
		stage.link.print(view("active"));
		expect(stage.state).toBe("streaming");
		stage.link.print(view("done"));
		expect(stage.state).toBe("parked");
		expect(stage.message.toolCalls).toMatchObject([{ name: "read", arguments: { path: "/srv/demo/a.ts" } }]);
		expect(stage.turn.owns(stage.message.toolCalls[0]?.id ?? "")).toBe(true);
		await stage.runCalls();
		stage.resume();
		stage.link.print(text("Read."), END);
		expect([stage.text, stage.state]).toStrictEqual(["Read.", "ended: complete"]);
	});

	test("keeps no other card waiting, and comes with the next message", async () => {
		const stage = stageWithRead();
		stage.link.print(view("active", 2), tool(3, "active"));
		expect(stage.state).toBe("parked");
		expect(callsOf(stage)).toStrictEqual([STEP_TOOL]);
		stage.link.print(view("done", 2), tool(3, "done"));
		expect(await stage.runCalls()).toBe(true);
		stage.resume();
		await stage.pass();
		expect(callsOf(stage)).toStrictEqual([STEP_TOOL, "read"]);
		stage.turn.abort();
	});

	test("and fails shows why in the display tool", async () => {
		const stage = stageWithRead();
		stage.link.print(view("active"), {
			...failedTool(2, "no such file"),
			name: "view_file",
			args: view("active").args,
		});
		expect(callsOf(stage)).toStrictEqual([STEP_TOOL]);
		await stage.runCalls();
		expect([...stage.outcomes.values()]).toMatchObject([{ state: "error", output: "no such file" }]);
		stage.turn.abort();
	});

	test("and that agy leaves behind is shown as one in the background", async () => {
		const stage = stageWithRead();
		stage.link.print(view("active"), text("Meanwhile."), END);
		expect(stage.message.end?.stopReason).toBe("toolUse");
		expect(await stage.runCalls()).toBe(true);
		expect([...stage.outcomes.values()]).toMatchObject([{ state: "background" }]);
		stage.resume();
		await stage.pass();
		expect([stage.text, stage.state]).toStrictEqual(["Meanwhile.", "ended: complete"]);
	});

	test("leaves nothing behind when the turn is stopped before its end", () => {
		const stage = stageWithRead();
		stage.link.print(view("active"));
		stage.turn.abort();
		expect(callsOf(stage)).toStrictEqual([]);
		expect(stage.state).toBe("ended: cancelled");
	});
});

describe("a call that pi runs for agy", () => {
	const call = (state: StepState, step = 2) =>
		tool(step, state, { name: "call_mcp_tool", args: { ServerName: "pi-1", ToolName: "todo" } });
	const isBridged = (event: ToolEvent) => event.name === "call_mcp_tool" && event.args.ServerName === "pi-1";

	test.each<[string, StepDisplay | null]>([
		["card", null],
		["line", { as: "line" }],
	])("has no %s of its own", (_name, display) => {
		const stage = new TurnStage({ isBridged });
		if (display) stage.display = display;
		stage.link.print(call("active"), call("done"), text("Done."), END);
		expect(stage.messages).toHaveLength(1);
		expect([stage.message.toolCalls, stage.message.thinking]).toStrictEqual([[], ""]);
		expect([stage.text, stage.state]).toStrictEqual(["Done.", "ended: complete"]);
	});

	test("is a card like any other when another server answers it", () => {
		const stage = new TurnStage({ isBridged });
		stage.link.print({ ...call("done"), args: { ServerName: "other" } });
		expect(stage.message.toolCalls).toHaveLength(1);
		stage.turn.abort();
	});

	test("counts as something that was done", () => {
		const stage = new TurnStage({ isBridged });
		stage.link.turns = 2;
		stage.link.print(call("active"));
		stage.link.end(EXIT);
		expect(stage.offers).toStrictEqual([]);
		expect(stage.reads).toStrictEqual([""]);
	});

	test("does not hold the process back while pi runs a card", () => {
		const stage = new TurnStage({ isBridged });
		stage.link.print(tool(2, "done"));
		stage.link.print(call("active", 3));
		expect(stage.state).toBe("parked");
		stage.turn.abort();
	});
});

test("the files of a step are looked after when its news comes, not when it is shown", async () => {
	const noted: string[] = [];
	const view = Promise.resolve({ summary: "", diff: "+1 a", images: [] });
	const files = {
		note: async ({ step, state }: ToolEvent, conversationId: string) => {
			noted.push(`${conversationId} ${step} ${state}`);
		},
		viewOf: () => view,
	};
	const stage = new TurnStage({ files });
	stage.link.conversationId = "c0ffee";
	stage.link.print(tool(2, "active"));
	stage.link.print(tool(3, "active"), tool(3, "done"));
	expect(noted).toStrictEqual(["c0ffee 2 active", "c0ffee 3 active", "c0ffee 3 done"]);
	stage.link.print(tool(2, "done"));
	await stage.runCalls();
	expect([...stage.outcomes.values()].map((outcome) => outcome.view)).toStrictEqual([view]);
	stage.turn.abort();
});

describe("steps without cards", () => {
	test("are a line each once they ended, where there are no cards", () => {
		const stage = new TurnStage();
		stage.display = { as: "line" };
		stage.link.print(
			tool(2, "active"),
			tool(2, "done"),
			tool(2, "done"),
			failedTool(3, "no such file"),
			text("a"),
			END,
		);
		expect(stage.message.thinking).toBe("[agy ran run_command]\n[agy ran run_command: no such file]\n");
		expect(stage.state).toBe("ended: complete");
	});

	test("are nothing in a side request", () => {
		const stage = new TurnStage();
		stage.display = { as: "hidden" };
		stage.link.print(tool(2, "active"), tool(2, "done"), text("a"), END);
		expect(stage.message.types).toStrictEqual(["start", "text_start", "text_delta", "text_end", "done"]);
	});
});

describe("what the user says while pi runs a call", () => {
	test("is sent when agy has answered, and answered in the same message", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "done"));
		await stage.runCalls();
		stage.resume("Use tabs.");
		stage.link.print(text("Done."), turnEnd({ text: "Done." }));
		expect(stage.link.followUps).toStrictEqual(["Use tabs.\n"]);
		expect(stage.state).toBe("streaming");
		stage.link.print(text("With tabs.", 5), turnEnd({ text: "With tabs.\n" }));
		expect(stage.text).toBe("Done.With tabs.\n");
		expect(stage.state).toBe("ended: complete");
	});

	test("several times is sent one by one, each when the one before is answered", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "done"));
		await stage.runCalls();
		stage.resume("One.");
		stage.link.print(tool(3, "done"));
		await stage.runCalls();
		stage.resume("Two.");
		stage.link.print(END);
		expect(stage.link.followUps).toStrictEqual(["One.\n"]);
		stage.link.print(text("To one.", 7), END);
		expect(stage.link.followUps).toStrictEqual(["One.\n", "Two.\n"]);
		expect(stage.state).toBe("streaming");
		stage.link.print(text("To two.", 9), END);
		expect(stage.text).toBe("To one.To two.");
		expect(stage.ends).toMatchObject([{ verdict: { kind: "complete" }, undelivered: [] }]);
	});

	test.each([
		["agy fails", (stage: TurnStage) => stage.link.print(turnEnd({ status: "ERROR", error: "something new" }))],
		["agy exits", (stage: TurnStage) => stage.link.end(EXIT)],
		["the lane is lost", (stage: TurnStage) => stage.link.end(LOST)],
		["the turn is aborted", (stage: TurnStage) => stage.turn.abort()],
		["agy falls silent", () => void vi.advanceTimersByTime(5 * MINUTE_MS)],
		["an answer is withheld", (stage: TurnStage) => stage.link.print({ kind: "withheld-answer", step: 5, text: "b" })],
	])("is reported as undelivered when %s", async (_name, happen) => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "done"));
		await stage.runCalls();
		stage.resume("Use tabs.");
		happen(stage);
		expect(stage.link.followUps).toStrictEqual([]);
		expect(stage.ends).toMatchObject([{ undelivered: ["Use tabs."] }]);
	});

	test.each([
		["and was read is not reported, whatever comes of it", [text("b", 9)], ["", "One."], ["Two."]],
		["and was sent to an agy that showed no sign of it is reported", [], [""], ["One.", "Two."]],
	] as const)("%s", async (_name, signs, reads, undelivered) => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "done"));
		await stage.runCalls();
		stage.resume("One.");
		stage.link.print(tool(3, "done"));
		await stage.runCalls();
		stage.resume("Two.");
		stage.link.print(text("a"), turnEnd({ status: "OK" }), ...signs);
		stage.link.end(EXIT);
		expect(stage.link.followUps).toStrictEqual(["One.\n"]);
		expect(stage.reads).toStrictEqual(reads);
		expect(stage.ends).toMatchObject([{ verdict: { kind: "crashed" }, undelivered }]);
	});

	test("goes to nobody when agy had ended before; the message says how", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "active"));
		stage.link.end(EXIT);
		expect(await stage.runCalls()).toBe(true);
		expect(stage.turn.isUntold).toBe(true);
		stage.resume("Use tabs.");
		expect(stage.message.end).toMatchObject({ stopReason: "error" });
		expect(stage.message.end?.errorMessage).toContain("exited with code 1");
		expect(stage.turn.isUntold).toBe(false);
		expect(stage.link.followUps).toStrictEqual([]);
		expect(stage.ends).toHaveLength(1);
		expect(stage.messages.flatMap((message) => message.problems())).toStrictEqual([]);
	});
});

describe("time", () => {
	test("silence counts from the last sign of life", () => {
		const stage = new TurnStage();
		vi.advanceTimersByTime(4 * MINUTE_MS);
		stage.link.send({ kind: "stderr", link: 1, text: "." });
		vi.advanceTimersByTime(4 * MINUTE_MS);
		expect(stage.state).toBe("streaming");
		vi.advanceTimersByTime(MINUTE_MS);
		expect(stage.state).toBe("ended: timed-out");
		expect(stage.message.end?.errorMessage).toContain("5 minutes");
	});

	test("the time of the whole turn goes on after a card, the silence begins anew", async () => {
		const stage = new TurnStage();
		const stream = (minutes: number) => {
			for (let minute = 0; minute < minutes; minute++) {
				vi.advanceTimersByTime(MINUTE_MS);
				stage.link.print(notice);
			}
		};
		for (let card = 0; card < 4; card++) {
			stream(4);
			stage.link.print(tool(10 + card, "done"));
			vi.advanceTimersByTime(60 * MINUTE_MS);
			await stage.runCalls();
			stage.resume();
		}
		stream(3);
		expect(stage.state).toBe("streaming");
		stream(1);
		expect(stage.state).toBe("ended: timed-out");
		expect(stage.message.end?.errorMessage).toContain("20 minutes");
	});

	test("both clocks go on while it is agy that a card waits for", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "active"));
		for (let minute = 0; minute < 19; minute++) {
			vi.advanceTimersByTime(MINUTE_MS);
			stage.link.send({ kind: "stderr", link: 1, text: "." });
		}
		expect(stage.state).toBe("parked");
		vi.advanceTimersByTime(MINUTE_MS);
		expect(stage.state).toBe("untold: timed-out");
		await stage.runCalls();
		expect(stage.resume().end?.errorMessage).toContain("20 minutes");
	});

	test("both stand still from the moment the last step of the cards has ended", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(2, "active"), tool(3, "active"));
		vi.advanceTimersByTime(4 * MINUTE_MS);
		stage.link.print(tool(3, "done"));
		vi.advanceTimersByTime(4 * MINUTE_MS);
		stage.link.print(tool(2, "done"));
		vi.advanceTimersByTime(1_000 * MINUTE_MS);
		expect(stage.state).toBe("parked");
		await stage.runCalls();
		stage.resume();
		vi.advanceTimersByTime(5 * MINUTE_MS - 1);
		expect(stage.state).toBe("streaming");
		vi.advanceTimersByTime(1);
		expect(stage.message.end?.errorMessage).toContain("5 minutes");
	});

	describe("of silence is given again while a step of agy runs and something is seen to run", () => {
		const runs = (is: boolean) => {
			const stage = new TurnStage();
			stage.link.runningCommands = () => is;
			return stage;
		};
		const passSilence = async (stage: TurnStage) => {
			vi.advanceTimersByTime(5 * MINUTE_MS);
			await stage.pass();
		};

		test("twelve times, and anew after a sign of life", async () => {
			const stage = new TurnStage({ turnTimeoutMin: 0 });
			stage.link.runningCommands = () => true;
			stage.link.print(tool(2, "active"));
			for (let extension = 0; extension < MAX_SILENCE_EXTENSIONS; extension++) await passSilence(stage);
			expect(stage.state).toBe("parked");
			stage.link.send({ kind: "stderr", link: 1, text: "." });
			for (let extension = 0; extension < MAX_SILENCE_EXTENSIONS; extension++) await passSilence(stage);
			expect(stage.state).toBe("parked");
			await passSilence(stage);
			expect(stage.state).toBe("untold: timed-out");
		});

		test.each<[string, boolean, (stage: TurnStage) => void]>([
			["with no step", true, (stage) => stage.link.print(text("a"))],
			["when its step has ended", true, (stage) => stage.link.print(tool(2, "active"), tool(2, "done"), text("a"))],
			["when nothing runs", false, (stage) => stage.link.print(tool(2, "active"))],
		])("not %s", async (_name, isRunning, happen) => {
			const stage = runs(isRunning);
			stage.display = { as: "line" };
			happen(stage);
			await passSilence(stage);
			expect(stage.state).toBe("ended: timed-out");
		});

		test("not when the look fails", async () => {
			const stage = new TurnStage();
			stage.link.runningCommands = () => Promise.reject(new Error("ps is missing"));
			stage.link.print(tool(2, "active"));
			await passSilence(stage);
			expect(stage.state).toBe("untold: timed-out");
		});

		/** A look at the processes that takes until the test lets it end. */
		function slowLook() {
			const stage = new TurnStage({ turnTimeoutMin: 0 });
			let answer: (isRunning: boolean) => void = () => {};
			stage.link.runningCommands = () =>
				new Promise((resolve) => {
					answer = resolve;
				});
			stage.link.print(tool(2, "active"));
			vi.advanceTimersByTime(5 * MINUTE_MS);
			return { stage, endLook: (isRunning: boolean) => answer(isRunning) };
		}

		test.each([true, false])(
			"a turn that ended during the look stays ended (something runs: %s)",
			async (isRunning) => {
				const { stage, endLook } = slowLook();
				await stage.pass();
				stage.turn.abort();
				endLook(isRunning);
				await stage.pass();
				expect(vi.getTimerCount()).toBe(0);
				expect(stage.ends).toHaveLength(1);
			},
		);

		test.each([true, false])(
			"the clock of a turn that waits for pi since the look stands (something runs: %s)",
			async (isRunning) => {
				const { stage, endLook } = slowLook();
				await stage.pass();
				stage.link.print(tool(2, "done"));
				endLook(isRunning);
				await stage.pass();
				vi.advanceTimersByTime(1_000 * MINUTE_MS);
				await stage.pass();
				expect(stage.state).toBe("parked");
				stage.turn.abort();
			},
		);

		test("a sign of life during the look gives the whole time", async () => {
			const { stage, endLook } = slowLook();
			await stage.pass();
			stage.link.send({ kind: "stderr", link: 1, text: "." });
			endLook(false);
			await stage.pass();
			vi.advanceTimersByTime(5 * MINUTE_MS - 1);
			await stage.pass();
			expect(stage.state).toBe("parked");
			stage.turn.abort();
		});
	});

	test("both limits can be off", () => {
		const stage = new TurnStage({ inactivityTimeoutMin: 0, turnTimeoutMin: 0 });
		expect(vi.getTimerCount()).toBe(0);
		vi.advanceTimersByTime(1_000 * MINUTE_MS);
		expect(stage.state).toBe("streaming");
		stage.turn.abort();
	});
});

const WATCH = (afterStep: number) => ({ path: "/brain/c0ffee.jsonl", afterStep });

describe("an answer that agy holds back", () => {
	/** A turn that has been silent for `ms` since it printed these. */
	async function silentFor(ms: number, ...events: readonly AgyEvent[]): Promise<TurnStage> {
		const stage = new TurnStage();
		stage.link.conversationId = "c0ffee";
		stage.display = { as: "hidden" };
		stage.link.print(...events);
		vi.advanceTimersByTime(ms);
		return stage;
	}

	test("is looked for when a step runs and agy is silent, behind the turn's last request", async () => {
		const stage = await silentFor(WITHHELD_AFTER_MS - 1, { ...notice, step: 1 }, tool(4, "active"), text("a", 5));
		expect(stage.link.watches).toStrictEqual([]);
		vi.advanceTimersByTime(1);
		expect(stage.link.watches).toStrictEqual([WATCH(4)]);
		stage.turn.abort();
		expect(stage.link.watches).toStrictEqual([WATCH(4), null]);
	});

	test("is looked for later when no step runs", async () => {
		const stage = await silentFor(WITHHELD_IDLE_AFTER_MS - 1, tool(4, "active"), tool(4, "done"), text("a", 5));
		expect(stage.link.watches).toStrictEqual([]);
		vi.advanceTimersByTime(WITHHELD_AFTER_MS);
		expect(stage.link.watches).toStrictEqual([WATCH(4)]);
		stage.turn.abort();
	});

	test.each<[string, readonly AgyEvent[]]>([
		["before agy did anything", [ready]],
		["in a turn of text alone", [text("a", 5)]],
	])("is not looked for %s", async (_name, events) => {
		const stage = await silentFor(4 * MINUTE_MS, ...events);
		expect(stage.link.watches).toStrictEqual([]);
		stage.turn.abort();
		expect(vi.getTimerCount()).toBe(0);
	});

	test("is not looked for in a conversation that agy has not named", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(4, "active"));
		vi.advanceTimersByTime(4 * MINUTE_MS);
		expect(stage.link.watches).toStrictEqual([]);
		stage.turn.abort();
	});

	test.each<[string, (stage: TurnStage) => void]>([
		["an event", (stage) => stage.link.print(text("b", 5))],
		["a word on stderr", (stage) => stage.link.send({ kind: "stderr", link: 1, text: "." })],
	])("is not looked for any more after %s, until agy is silent again", async (_name, happen) => {
		const stage = await silentFor(WITHHELD_AFTER_MS, tool(4, "active"));
		happen(stage);
		expect(stage.link.watches).toStrictEqual([WATCH(4), null]);
		vi.advanceTimersByTime(WITHHELD_AFTER_MS);
		expect(stage.link.watches).toStrictEqual([WATCH(4), null, WATCH(4)]);
		stage.turn.abort();
	});

	test.each([
		["nothing of it was printed", [], "The server is up.\n", "The server is up.\n"],
		["it was printed", [text("The server is up.\n", 5)], "The server is up.\n", "The server is up.\n"],
		["its beginning was printed", [text("The server", 5)], "The server is up.\n", "The server is up.\n"],
		["another text came before", [text("Starting. ", 3)], "The server is up.\n", "Starting. The server is up.\n"],
		["the same text came before", [text("Up.", 3)], "Up.", "Up.Up."],
	] as const)(
		"ends the turn well, said once, and the process ends by itself: %s",
		async (_name, printed, answer, expected) => {
			const stage = await silentFor(WITHHELD_AFTER_MS, tool(4, "active"), ...printed);
			stage.link.print({ kind: "withheld-answer", step: 5, text: answer });
			expect(stage.text).toBe(expected);
			expect(stage.message.end?.stopReason).toBe("stop");
			expect(stage.message.thinking).toContain("still running in the background");
			expect(stage.ends).toMatchObject([
				{ verdict: { kind: "still-running", process: "drain", keepsConversation: true } },
			]);
			expect(stage.message.problems()).toStrictEqual([]);
			expect(vi.getTimerCount()).toBe(0);
		},
	);

	test("ends a turn with open cards in a message of its own", async () => {
		const stage = new TurnStage();
		stage.link.print(tool(4, "active"));
		stage.link.print({ kind: "withheld-answer", step: 5, text: "Up." });
		expect(stage.state).toBe("held");
		expect(await stage.runCalls()).toBe(true);
		expect([...stage.outcomes.values()]).toMatchObject([{ state: "background" }]);
		stage.resume();
		await stage.pass();
		expect(stage.text).toBe("Up.");
		expect(stage.state).toBe("ended: still-running");
	});
});

describe("a success whose last model call brought no answer", () => {
	const CALL: AgyEvent = { kind: "model-call", step: 5 };

	function stageOf(...events: readonly AgyEvent[]): TurnStage {
		const stage = new TurnStage();
		stage.link.conversationId = "c0ffee";
		stage.display = { as: "hidden" };
		stage.link.print({ ...notice, step: 4 }, ...events);
		return stage;
	}

	test("is given the one that the transcript holds, and the process takes another prompt", () => {
		const stage = stageOf(CALL, turnEnd({ status: "SUCCESS" }));
		expect(stage.link.watches).toStrictEqual([WATCH(4)]);
		expect(stage.state).toBe("streaming");
		stage.link.print({ kind: "withheld-answer", step: 5, text: "Written down." });
		expect(stage.text).toBe("Written down.");
		expect(stage.message.thinking).toBe("");
		expect(stage.ends).toMatchObject([{ verdict: { kind: "complete", process: "keep" } }]);
		expect(stage.link.watches).toStrictEqual([WATCH(4), null]);
		expect(vi.getTimerCount()).toBe(0);
	});

	test.each<[string, (stage: TurnStage) => void, string]>([
		["the transcript has none", () => vi.advanceTimersByTime(TRANSCRIPT_LOOKUP_MS), "partial"],
		["agy exits meanwhile", (stage) => stage.link.end(EXIT), "partial"],
		["the turn is stopped meanwhile", (stage) => stage.turn.abort(), "cancelled"],
	])("ends without: %s", (_name, happen, kind) => {
		const stage = stageOf(CALL, turnEnd({ status: "SUCCESS" }));
		vi.advanceTimersByTime(TRANSCRIPT_LOOKUP_MS - 1);
		stage.link.print({ ...notice, step: 6 }); // Whatever agy adds behind its result does not put it off.
		expect(stage.ends).toStrictEqual([]);
		happen(stage);
		if (kind === "partial") vi.advanceTimersByTime(1);
		expect(stage.ends).toMatchObject([{ verdict: { kind } }]);
		expect(stage.link.watches).toStrictEqual([WATCH(4), null]);
		expect(vi.getTimerCount()).toBe(0);
	});

	test.each<[string, readonly AgyEvent[]]>([
		["the answer was printed", [text("a", 5), CALL, turnEnd({ status: "SUCCESS" })]],
		["the answer stands in the result alone", [CALL, turnEnd({ status: "SUCCESS", text: "a" })]],
		["a tool came last", [CALL, tool(6, "done"), turnEnd({ status: "SUCCESS" })]],
		["agy failed", [CALL, turnEnd({ status: "ERROR", error: "interrupted" })]],
	])("is not looked for: %s", (_name, events) => {
		const stage = stageOf(...events);
		expect(stage.link.watches).toStrictEqual([]);
		expect(stage.ends).toHaveLength(1);
	});
});

describe("a prompt that agy has not read", () => {
	const DROPPED = turnEnd({ status: "SUCCESS" });

	test.each<[string, (stage: TurnStage) => void, "same" | "fresh"]>([
		["a process that served before exits at once", (stage) => stage.link.end(EXIT), "same"],
		["agy reports success without having done anything", (stage) => stage.link.print(ready, DROPPED), "fresh"],
		["it does so with a line end for an answer", (stage) => stage.link.print(ready, turnEnd({ text: "\n" })), "fresh"],
	])("is offered to be sent again: %s", (_name, happen, retry) => {
		const stage = new TurnStage();
		stage.link.turns = 2;
		stage.takesRetry = true;
		happen(stage);
		expect(stage.offers).toMatchObject([{ retry }]);
		expect(stage.ends).toMatchObject([{ wasRead: false }]);
		expect(stage.message.types).toStrictEqual(["start"]);
		expect(stage.completed).toStrictEqual([]);
		expect(vi.getTimerCount()).toBe(0);
	});

	test("fails where the offer is not taken", () => {
		const stage = new TurnStage();
		stage.link.turns = 2;
		stage.link.end(EXIT);
		expect(stage.offers).toHaveLength(1);
		expect(stage.message.end).toMatchObject({ stopReason: "error" });
	});

	test.each<[string, (stage: TurnStage) => void]>([
		["a process of this turn exits", (stage) => stage.link.end(EXIT)],
		["there was thinking", (stage) => stage.link.print(thinking("hm"), DROPPED)],
		["there was a model call", (stage) => stage.link.print(modelCall(), DROPPED)],
		["there was text", (stage) => stage.link.print(text("a"), DROPPED)],
		["there was a step that is not shown", (stage) => stage.link.print(tool(2, "done"), DROPPED)],
		["the user stopped it", (stage) => stage.turn.abort()],
		["agy was silent", () => void vi.advanceTimersByTime(5 * MINUTE_MS)],
		["the lane was lost", (stage) => stage.link.end(LOST)],
		["agy failed", (stage) => stage.link.print(turnEnd({ status: "ERROR", error: "UNAVAILABLE (code 503)" }))],
	])("is not offered when %s", (_name, happen) => {
		const stage = new TurnStage();
		stage.display = { as: "hidden" };
		stage.takesRetry = true;
		happen(stage);
		expect(stage.offers).toStrictEqual([]);
		expect(stage.ends).toHaveLength(1);
		expect(stage.message.end).not.toBeNull();
	});

	test.each<[string, AgyEvent, boolean]>([
		["agy's introduction", ready, false],
		["something unknown", unknown, false],
		["the prompt as a step", notice, true],
		["text", text("a"), true],
		["a step", tool(2, "active"), true],
	])("after %s it was read: %s", (_name, event, wasRead) => {
		const stage = new TurnStage();
		stage.display = { as: "hidden" };
		stage.link.print(event);
		stage.turn.abort();
		expect(stage.ends).toMatchObject([{ wasRead }]);
	});
});

describe("what a turn cost", () => {
	const COUNTERS = { input: 1_000, output: 200, thinking: 50, cacheRead: 5_000 };
	const BEFORE = { input: 900, output: 150, thinking: 40, cacheRead: 4_000 };
	const usageOf = (stage: TurnStage) => stage.message.end?.usage;

	test("is what its steps said, whatever agy's counters say", () => {
		const stage = new TurnStage({ usageBefore: BEFORE });
		stage.link.print(
			text("a"),
			modelCall({ input: 7, output: 3, thinking: 1, cacheRead: 2 }),
			turnEnd({ usage: COUNTERS }),
		);
		expect(usageOf(stage)).toMatchObject({ input: 7, output: 3, reasoning: 1, cacheRead: 2, totalTokens: 9 });
		expect(stage.ends).toMatchObject([{ counters: COUNTERS }]);
	});

	test("is the difference of agy's counters when the steps said nothing", () => {
		const stage = new TurnStage({ usageBefore: BEFORE });
		stage.link.print(text("a"), modelCall(), turnEnd({ usage: COUNTERS }));
		expect(usageOf(stage)).toMatchObject({ input: 100, output: 50, reasoning: 10, cacheRead: 1_000, totalTokens: 0 });
	});

	test("is nothing when the counters before are unknown, or went back", () => {
		const unknownBefore = new TurnStage({ usageBefore: null });
		const wentBack = new TurnStage({ usageBefore: { input: 9_999, output: 9_999, thinking: 9_999, cacheRead: 9_999 } });
		for (const stage of [unknownBefore, wentBack]) {
			stage.link.print(text("a"), turnEnd({ usage: COUNTERS }));
			expect(usageOf(stage)).toMatchObject({ input: 0, output: 0, cacheRead: 0 });
		}
	});

	test("is counted once over several answers of one turn", async () => {
		const stage = new TurnStage({ usageBefore: BEFORE });
		stage.link.print(tool(2, "done"));
		await stage.runCalls();
		stage.resume("Use tabs.");
		stage.link.print(text("a", 3), turnEnd({ usage: COUNTERS }));
		stage.link.print(text("b", 5), turnEnd({ usage: { ...COUNTERS, input: 1_300 } }));
		expect(usageOf(stage)).toMatchObject({ input: 400, output: 50, cacheRead: 1_000 });
	});

	test("is known up to the last answer, also of a turn that was cut off after it", async () => {
		const stage = new TurnStage({ usageBefore: BEFORE });
		stage.link.print(tool(2, "done"));
		await stage.runCalls();
		stage.resume("Use tabs.");
		stage.link.print(text("a", 3), turnEnd({ usage: COUNTERS }), text("b", 5));
		stage.turn.abort();
		expect(stage.ends).toMatchObject([{ counters: COUNTERS }]);
	});

	test("shows thinking as a row of each call", () => {
		const stage = new TurnStage();
		const usage = { input: 1, output: 30, thinking: 25, cacheRead: 0 };
		stage.link.print(
			text("a"),
			{ kind: "model-call", step: 1, usage, durationMs: 1_904 },
			{ kind: "model-call", step: 2, usage },
			{ kind: "model-call", step: 3, usage: { ...usage, thinking: 0 }, durationMs: 5 },
			END,
		);
		expect(stage.message.end?.content).toStrictEqual([
			{ type: "text", text: "a" },
			{ type: "thinking", thinking: "Thought for 1.9 s, 25 tokens." },
			{ type: "thinking", thinking: "Thought: 25 tokens." },
		]);
	});
});

test("a turn that took too long says what it did and where to go on", async () => {
	const stage = new TurnStage();
	stage.link.conversationId = "c0ffee";
	stage.display = { as: "hidden" };
	stage.link.print(
		text("a"),
		tool(2, "active"),
		tool(2, "done"),
		tool(2, "done"),
		tool(3, "done", { name: "view_file" }),
	);
	stage.link.print(tool(4, "active"), tool(4, "done"), tool(5, "active"));
	vi.advanceTimersByTime(5 * MINUTE_MS);
	await stage.pass();
	expect(stage.message.end?.errorMessage).toBe(
		"The turn is out of budget: agy said nothing for 5 minutes. The answer above is incomplete. " +
			"Until then it ran: run_command (2), view_file. The conversation c0ffee is kept; your next prompt resumes it. " +
			"The limit is AGY_INACTIVITY_TIMEOUT_MIN.",
	);
});

describe("hooks of other extensions", () => {
	test("the response is announced once per message, before anything of it", async () => {
		const order: string[] = [];
		const hooks = {
			onResponse: () => void order.push("response"),
			onEvent: (event: AgyEvent) => void order.push(event.kind),
		};
		const stage = new TurnStage({}, hooks);
		stage.link.print(notice, text("a"), tool(2, "done"));
		await stage.runCalls();
		stage.resume("", hooks);
		stage.link.print(text("b"), END);
		expect(order).toStrictEqual(["response", "notice", "text", "tool", "response", "text", "turn-end"]);
	});

	test("each event waits for its hook, and the order stays", async () => {
		const stage = new TurnStage(
			{},
			{
				onResponse: () => stage.pass(),
				onEvent: () => stage.pass(),
			},
		);
		stage.link.print(text("a"), text("b"));
		stage.link.print(text("c"), END);
		expect(stage.text).toBe("");
		expect(stage.link.isHeldBack).toBe(true);
		while (stage.ends.length === 0) await stage.pass();
		expect(stage.text).toBe("abc");
		expect(stage.message.problems()).toStrictEqual([]);
	});

	test.each([
		[
			"onResponse throws",
			{
				onResponse: () => {
					throw new Error("hook broke");
				},
			},
		],
		["onResponse rejects", { onResponse: () => Promise.reject(new Error("hook broke")) }],
		[
			"onEvent throws",
			{
				onEvent: () => {
					throw new Error("hook broke");
				},
			},
		],
		["onEvent rejects", { onEvent: () => Promise.reject(new Error("hook broke")) }],
	])("%s: the turn ends and says so", async (_name, hooks) => {
		const stage = new TurnStage({}, hooks);
		stage.link.print(text("a"));
		await stage.pass();
		expect(stage.state).toBe("ended: hook-failed");
		expect(stage.message.end?.errorMessage).toContain("hook broke");
		expect(stage.message.problems()).toStrictEqual([]);
		expect(vi.getTimerCount()).toBe(0);
	});
});

// --- everything at once ----------------------------------------------------------------------------------------------

const anyPlay = fc.record({
	acts: fc.array(anyAct, { maxLength: 40 }),
	ending: anyEnding,
	response: anyResponse,
	withHooks: fc.boolean(),
	endsInFrame: fc.boolean(),
	isRetried: fc.boolean(),
	commandsRun: fc.boolean(),
});

test("whatever happens in whatever order, nothing is lost, doubled or left open", async () => {
	const seen = new Map<string, number>();
	await fc.assert(
		fc.asyncProperty(anyPlay, async ({ acts, ending, response, withHooks, endsInFrame, isRetried, commandsRun }) => {
			const play = new TurnPlay({ withHooks, isRetried, commandsRun });
			const { stage } = play;
			for (const act of acts) await play.act(act);
			if (!endsInFrame) play.sendFrame();
			await finish(play, ending, response);
			await play.playOut();

			// One verdict, one end per message, balanced blocks, and all messages but the last end with cards.
			expect(stage.ends).toHaveLength(1);
			const verdict = stage.ends[0]?.verdict;
			seen.set(verdict?.kind ?? "", (seen.get(verdict?.kind ?? "") ?? 0) + 1);
			expect(stage.messages.flatMap((message) => message.problems())).toStrictEqual([]);
			const stopReasons = stage.messages.map((message) => message.end?.stopReason);
			expect(stopReasons.slice(0, -1).filter((reason) => reason !== "toolUse")).toStrictEqual([]);
			expect(stopReasons.at(-1)).toBe(verdict?.stop);

			// What agy is known to have said are the messages that were completed.
			const completed = stage.messages.filter(({ end }) => end?.stopReason === "toolUse" || end?.stopReason === "stop");
			expect(stage.completed).toStrictEqual(completed.map(({ stream }) => stream));

			// All text, in order, once; of a turn that was cut off, a beginning of it.
			const isCutOff = verdict?.kind === "cancelled" || verdict?.kind === "timed-out";
			if (isCutOff) expect(play.expected.startsWith(stage.text)).toBe(true);
			else expect(stage.text).toBe(play.expected);

			// Every card that pi ran came to something; every step that ended has said so on one card.
			const isPatient = !acts.some((act) => act.do === "pi" && act.isImpatient);
			const parked = stage.messages.filter(({ end }) => end?.stopReason === "toolUse");
			const callIds = parked.flatMap((message) => message.toolCalls.map(({ id }) => id));
			expect(new Set(callIds).size).toBe(callIds.length);
			if (isPatient) expect([...stage.outcomes.keys()].toSorted()).toStrictEqual(callIds.toSorted());
			if (isPatient && ending === "result" && !isCutOff) {
				const shown = [...stage.outcomes.values()].map(({ output }) => output);
				for (const output of play.outputs) expect(shown.filter((other) => other === output)).toHaveLength(1);
				expect(shown.filter((other) => other === RUN_AGAIN.output)).toHaveLength(play.runAgain);
			}

			// What the user said was sent once or not at all, and either read or reported as undelivered.
			const sent = stage.link.followUps.join("");
			const heard = stage.reads.join("") + (stage.ends[0]?.undelivered.join("") ?? "");
			for (const words of play.said) {
				expect(sent.split(words).length).toBeLessThanOrEqual(2);
				expect(heard.split(words)).toHaveLength(2);
			}

			// Nothing runs on: no timer, no look at the transcript, no offer to send again what was answered.
			expect(vi.getTimerCount()).toBe(0);
			expect(stage.link.watches.at(-1) ?? null).toBeNull();
			if (stage.text !== "") expect(stage.offers).toStrictEqual([]);
		}),
		{ numRuns: 800 },
	);
	// The plays reach these ends, or they prove little.
	for (const kind of ["complete", "failed", "cancelled", "crashed", "timed-out", "still-running"]) {
		expect([kind, seen.get(kind) ?? 0]).toStrictEqual([kind, expect.toSatisfy((count: number) => count > 10)]);
	}
});

async function finish(play: TurnPlay, ending: Ending, response: Parameters<TurnPlay["printResult"]>[0]): Promise<void> {
	const { stage } = play;
	if (ending === "result") return play.printResult(response, "SUCCESS");
	if (ending === "failed-result") return play.printResult("nothing", "ERROR");
	if (ending === "withheld") return play.printWithheld(response);
	play.sendFrame();
	switch (ending) {
		case "exit":
			return stage.link.end(EXIT);
		case "lane-lost":
			return stage.link.end(LOST);
		case "abort":
			return stage.turn.abort();
		case "silence":
			await stage.pass();
			vi.advanceTimersByTime(5 * MINUTE_MS);
			await stage.pass();
			if (stage.ends.length === 0) stage.turn.abort(); // It is parked, or a command runs.
	}
}

describe("a call of pi's tools that agy's stream did not announce", () => {
	const withCall = () => {
		const stage = new TurnStage();
		stage.takesRetry = true;
		stage.turn.takeCall({ id: "a", tool: "todo", args: {} });
		vi.advanceTimersByTime(100);
		expect(stage.message.end?.stopReason).toBe("toolUse");
		expect(stage.reads).toStrictEqual([""]);
		return stage;
	};

	test("keeps the prompt from being sent once more when the process leaves", async () => {
		const stage = withCall();
		stage.link.turns = 2;
		stage.resume();
		stage.link.end(EXIT);
		await stage.pass();
		expect(stage.offers).toStrictEqual([]);
		expect(stage.ends[0]?.wasRead).toBe(true);
	});

	test("keeps it from that when nothing else is said", async () => {
		const stage = withCall();
		stage.resume();
		stage.link.print(turnEnd({ text: "" }));
		await stage.pass();
		expect(stage.offers).toStrictEqual([]);
		stage.turn.abort();
	});
});

test("a call of pi's tools does not wait for a command that runs on", async () => {
	const stage = new TurnStage();
	stage.link.print(tool(2, "active"));
	stage.turn.takeCall({ id: "a", tool: "ask", args: {} });
	vi.advanceTimersByTime(1_000);
	expect(await stage.runCalls()).toBe(false);
	vi.advanceTimersByTime(2_000);
	expect(await stage.runCalls()).toBe(true);
	expect([...stage.outcomes.values()]).toMatchObject([{ state: "background" }]);
	stage.resume();
	await stage.pass();
	vi.advanceTimersByTime(100);
	expect(stage.message.toolCalls).toMatchObject([{ id: "a", name: "ask" }]);
	stage.turn.abort();
	expect(vi.getTimerCount()).toBe(0);
});

test("an answer that is held back, with its end, is not looked for in agy's transcript", async () => {
	const late = ["what came of it"];
	const stage = new TurnStage({ takeLate: () => late.shift() ?? "" });
	stage.link.conversationId = "c1";
	stage.link.print(
		ready,
		notice,
		tool(2, "done"),
		text("I wait.", 3),
		modelCall(undefined, 3),
		turnEnd({ text: "I wait." }),
	);
	expect(stage.state).toBe("held");
	vi.advanceTimersByTime(60_000);
	expect(stage.link.watches.filter((watch) => watch)).toStrictEqual([]);
	stage.resume();
	await stage.pass();
	expect([stage.state, stage.text]).toStrictEqual(["streaming", "I wait."]);
	expect(stage.link.followUps).toStrictEqual(["what came of it\n"]);
	stage.turn.abort();
});

test("a turn that was stopped on its way starts nothing", () => {
	const stage = new TurnStage();
	stage.turn.abort();
	stage.turn.start("the prompt\n");
	expect(vi.getTimerCount()).toBe(0);
});
