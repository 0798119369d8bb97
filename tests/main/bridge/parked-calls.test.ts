import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CallResult } from "../../../src/main/bridge/mcp-server.ts";
import {
	ESCALATE_AFTER_MS,
	MAX_ESCALATED,
	MAX_TOMBSTONES,
	PARK_TIMEOUT_MS,
	type ParkedCall,
	ParkedCalls,
	RUNNING_TIMEOUT_MS,
} from "../../../src/main/bridge/parked-calls.ts";
import { textOf, toResult } from "../../support/bridge-rig.ts";

/** One session's calls with the turn that pi would run them in. */
class Stage {
	readonly delivered: ParkedCall[] = [];
	isTurnLive = true;
	readonly calls = new ParkedCalls({
		deliver: (call) => {
			if (this.isTurnLive) this.delivered.push(call);
			return this.isTurnLive;
		},
	});

	/** A call that pi has been given, and what agy has been answered so far. */
	start(tool = "bash", signal = new AbortController().signal, onProgress: ((text: string) => void) | null = null) {
		const answers: CallResult[] = [];
		const done = this.calls.call({ tool, args: { n: this.delivered.length }, signal, onProgress });
		void done.then((answer) => answers.push(answer));
		const id = this.delivered.at(-1)?.id ?? "";
		return { id, done, answers };
	}

	/** A call that agy was told to poll for. */
	async escalated(tool = "bash") {
		const call = this.start(tool);
		await vi.advanceTimersByTimeAsync(ESCALATE_AFTER_MS);
		return call;
	}

	poll(id: string): readonly [isError: boolean, text: string] {
		const result = this.calls.poll({ callId: id });
		return [result.isError, textOf(result)];
	}
}

let stage: Stage;

beforeEach(() => {
	vi.useFakeTimers();
	stage = new Stage();
});

afterEach(() => {
	stage.calls.abort("the test is over");
	expect(vi.getTimerCount()).toBe(0);
	vi.useRealTimers();
});

describe("a parked call", () => {
	test("that pi was never given fails, also when agy was told that it goes on", async () => {
		const { id } = stage.start("read");
		vi.advanceTimersByTime(ESCALATE_AFTER_MS);
		stage.delivered[0]?.drop?.();
		expect(stage.calls.poll({ callId: id })).toMatchObject({
			isError: true,
			content: [{ text: expect.stringContaining("before pi ran it") }],
		});
	});

	test("is answered with pi's result, whole and once", async () => {
		const { id, done } = stage.start("read");
		expect(stage.delivered).toStrictEqual([{ id, tool: "read", args: { n: 0 }, drop: expect.any(Function) }]);
		expect(stage.calls.hasOpen).toBe(true);
		const result: CallResult = {
			content: [{ type: "image", data: "QUJD", mimeType: "image/png" }],
			isError: true,
			structuredContent: { a: 1 },
		};
		expect(stage.calls.settle(id, result)).toBe("answered");
		expect(await done).toBe(result);
		expect(stage.calls.hasOpen).toBe(false);
		expect(stage.calls.settle(id, toResult("again"))).toBe("unknown");
		expect(stage.calls.failureOf(id)).toBeNull();
	});

	test("is answered beside 149 others in any order, each once", async () => {
		const calls = Array.from({ length: 150 }, () => stage.start());
		expect(new Set(calls.map(({ id }) => id)).size).toBe(150);
		for (let index = 0; index < 150; index += 1) {
			const { id = "" } = calls[(index * 67) % 150] ?? {};
			expect(stage.calls.settle(id, toResult(`of ${id}`))).toBe("answered");
		}
		for (const { id, done, answers } of calls) {
			expect(textOf(await done)).toBe(`of ${id}`);
			expect(answers).toHaveLength(1);
		}
	});

	test("fails without a live turn", async () => {
		stage.isTurnLive = false;
		const answer = await stage.start("bash").done;
		expect([answer.isError, textOf(answer)]).toStrictEqual([true, expect.stringContaining("no turn is running")]);
		expect(stage.calls.hasOpen).toBe(false);
	});

	test("fails with what the turn throws, and leaves nothing", async () => {
		const calls = new ParkedCalls({
			deliver: () => {
				throw new Error("a bug");
			},
		});
		const { signal } = new AbortController();
		await expect(calls.call({ tool: "bash", args: {}, signal, onProgress: null })).rejects.toThrow("a bug");
		expect(calls.hasOpen).toBe(false);
	});

	test("that was given up before it came is not given to pi", async () => {
		const answer = await stage.calls.call({ tool: "bash", args: {}, signal: AbortSignal.abort(), onProgress: null });
		expect(answer.isError).toBe(true);
		expect(stage.delivered).toStrictEqual([]);
	});

	test.each([
		["agy disconnects", (_calls: ParkedCalls, client: AbortController) => client.abort(), "gave the call up"],
		["the turn ends", (calls: ParkedCalls) => calls.endTurn("the turn has ended"), "the turn has ended"],
		["the user aborts", (calls: ParkedCalls) => calls.abort("the user aborted"), "the user aborted"],
	])("fails when %s, and its result is late, once", async (_name, end, reason) => {
		const client = new AbortController();
		const { id, done } = stage.start("bash", client.signal);
		end(stage.calls, client);
		const answer = await done;
		expect([answer.isError, textOf(answer)]).toStrictEqual([true, expect.stringContaining(reason)]);
		expect(stage.calls.hasOpen).toBe(false);
		expect(stage.calls.failureOf(id)).toMatchObject({ tool: "bash", reason: expect.stringContaining(reason) });
		expect(stage.poll(id)).toStrictEqual([true, expect.stringContaining(reason)]);
		expect(stage.calls.settle(id, toResult("late"))).toBe("late");
		expect(stage.calls.settle(id, toResult("late"))).toBe("unknown");
	});

	test("passes progress on to a client that asked for it", () => {
		const seen: string[] = [];
		const { id } = stage.start("bash", new AbortController().signal, (text) => seen.push(text));
		const { id: silent } = stage.start("bash");
		stage.calls.progress(id, "line 1");
		stage.calls.progress(silent, "unheard");
		stage.calls.progress("pi-nobody", "unheard");
		expect(seen).toStrictEqual(["line 1"]);
	});
});

describe("an escalated call", () => {
	test("is answered at 20 s with its id and the way to its result", async () => {
		const { id, answers } = stage.start("bash");
		await vi.advanceTimersByTimeAsync(ESCALATE_AFTER_MS - 1);
		expect(answers).toHaveLength(0);
		await vi.advanceTimersByTimeAsync(1);
		expect(answers.map(textOf)).toStrictEqual([
			expect.stringMatching(`^STILL RUNNING: bash .*bridge_poll_result.*${id}`),
		]);
		expect(answers[0]?.isError).toBe(false);
		expect(stage.calls.hasOpen).toBe(true);
	});

	test("can be polled: while it runs with its latest output, then for its result, again and again", async () => {
		const { id, answers } = await stage.escalated();
		expect(stage.poll(id)).toStrictEqual([false, expect.stringContaining("STILL RUNNING")]);
		stage.calls.progress(id, `${"x".repeat(1_000)}last line`);
		const [, text] = stage.poll(id);
		expect(text).toMatch(/x{491}last line$/);
		expect(text).not.toMatch(/x{492}/);
		const result = { ...toResult("done"), isError: true };
		expect(stage.calls.settle(id, result)).toBe("kept");
		expect(stage.calls.hasOpen).toBe(false);
		expect(stage.calls.poll({ callId: id })).toBe(result);
		expect(stage.calls.poll({ callId: id })).toBe(result);
		expect(stage.calls.settle(id, toResult("again"))).toBe("unknown");
		expect(answers).toHaveLength(1);
	});

	test("survives the end of its turn, and its client's leaving", async () => {
		const client = new AbortController();
		const { id } = stage.start("bash", client.signal);
		await vi.advanceTimersByTimeAsync(ESCALATE_AFTER_MS);
		client.abort();
		stage.calls.endTurn("the turn has ended");
		expect(stage.calls.hasOpen).toBe(true);
		expect(stage.calls.settle(id, toResult("done"))).toBe("kept");
		expect(stage.poll(id)).toStrictEqual([false, "done"]);
	});

	test("whose result nobody polled is given out once, also after the turn's end", async () => {
		const [unseen, polled, running] = [
			await stage.escalated("a"),
			await stage.escalated("b"),
			await stage.escalated("c"),
		];
		stage.calls.settle(unseen.id, toResult("one"));
		stage.calls.settle(polled.id, toResult("two"));
		stage.poll(polled.id);
		stage.calls.endTurn("the turn has ended");
		expect(stage.calls.takeUnpolled()).toStrictEqual([{ id: unseen.id, tool: "a", result: toResult("one") }]);
		expect(stage.calls.takeUnpolled()).toStrictEqual([]);
		expect(stage.poll(unseen.id)).toStrictEqual([false, "one"]);
		stage.calls.settle(running.id, toResult("three"));
		expect(stage.calls.takeUnpolled()).toHaveLength(1);
	});

	test("is forgotten at the turn's end when its result was seen", async () => {
		const { id } = await stage.escalated();
		stage.calls.settle(id, toResult("done"));
		stage.poll(id);
		stage.calls.endTurn("the turn has ended");
		expect(stage.poll(id)).toStrictEqual([true, expect.stringContaining("No call has the id")]);
	});

	test.each([
		["after 30 minutes", () => vi.advanceTimersByTimeAsync(RUNNING_TIMEOUT_MS), "30 minutes"],
		["when the user aborts", () => stage.calls.abort("the user aborted"), "the user aborted"],
	])("fails %s, says so, and its result is late", async (_name, end, reason) => {
		const { id } = await stage.escalated();
		await vi.advanceTimersByTimeAsync(RUNNING_TIMEOUT_MS - 1);
		expect(stage.poll(id)).toStrictEqual([false, expect.stringContaining("STILL RUNNING")]);
		await end();
		expect(stage.poll(id)).toStrictEqual([true, expect.stringContaining(reason)]);
		expect(stage.calls.hasOpen).toBe(false);
		expect(stage.calls.takeUnpolled()).toStrictEqual([]);
		expect(stage.calls.settle(id, toResult("late"))).toBe("late");
	});
});

describe("the poll tool", () => {
	test.each([
		["no id", {}, "needs the callId"],
		["an id that is no text", { callId: 7 }, "needs the callId"],
		["an unknown id", { callId: "pi-0" }, "No call has the id pi-0"],
	])("says what is wrong with %s", (_name, args, reason) => {
		const result = stage.calls.poll(args);
		expect([result.isError, textOf(result)]).toStrictEqual([true, expect.stringContaining(reason)]);
	});

	test("says of a parked call that it runs", () => {
		const { id } = stage.start();
		expect(stage.poll(id)).toStrictEqual([false, expect.stringContaining("STILL RUNNING")]);
	});
});

describe("with as many escalated calls as are remembered", () => {
	async function fill() {
		const calls = Array.from({ length: MAX_ESCALATED }, () => stage.start());
		await vi.advanceTimersByTimeAsync(ESCALATE_AFTER_MS);
		expect(calls.every(({ answers }) => answers.length === 1)).toBe(true);
		return calls;
	}

	test("another one stays parked, and is given up in the end", async () => {
		const running = await fill();
		const { id, answers } = stage.start();
		await vi.advanceTimersByTimeAsync(PARK_TIMEOUT_MS - 1);
		expect(answers).toHaveLength(0);
		await vi.advanceTimersByTimeAsync(1);
		expect(answers.map(textOf)).toStrictEqual([expect.stringContaining("480 s")]);
		expect(stage.calls.settle(id, toResult("late"))).toBe("late");
		expect(running.every((call) => stage.poll(call.id)[1].startsWith("STILL RUNNING"))).toBe(true);
	});

	test("another one takes the place of a result that was seen, and of no other", async () => {
		const [first, second] = await fill();
		const { id, answers } = stage.start();
		stage.calls.settle(first?.id ?? "", toResult("one"));
		await vi.advanceTimersByTimeAsync(ESCALATE_AFTER_MS);
		expect(answers).toHaveLength(0);
		stage.poll(first?.id ?? "");
		await vi.advanceTimersByTimeAsync(ESCALATE_AFTER_MS);
		expect(answers).toHaveLength(1);
		expect(stage.poll(first?.id ?? "")[1]).toContain("No call has the id");
		expect(stage.poll(second?.id ?? "")[1]).toContain("STILL RUNNING");
		expect(stage.calls.settle(id, toResult("done"))).toBe("kept");
	});
});

test("the oldest of too many tombstones are forgotten", () => {
	const calls = Array.from({ length: MAX_TOMBSTONES + 2 }, () => stage.start());
	stage.calls.endTurn("the turn has ended");
	const settled = calls.map(({ id }) => stage.calls.settle(id, toResult("late")));
	expect(settled.filter((what) => what === "late")).toHaveLength(MAX_TOMBSTONES);
	expect(settled.slice(0, 2)).toStrictEqual(["unknown", "unknown"]);
});

test("whatever happens in whatever order, a request is answered once and a result is told once", async () => {
	const event = fc.oneof(
		fc.record({ kind: fc.constant("call" as const) }),
		fc.record({ kind: fc.constantFrom("settle" as const, "poll" as const, "leave" as const), at: fc.nat(9) }),
		fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(1, ESCALATE_AFTER_MS, RUNNING_TIMEOUT_MS) }),
		fc.record({ kind: fc.constantFrom("end" as const, "abort" as const, "take" as const) }),
	);
	await fc.assert(
		fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
			const played = new Stage();
			const calls: (ReturnType<Stage["start"]> & { readonly client: AbortController; told: number })[] = [];
			const take = () => {
				for (const { id } of played.calls.takeUnpolled()) for (const call of calls) if (call.id === id) call.told += 1;
			};
			for (const step of events) {
				const call = "at" in step ? calls[step.at] : undefined;
				if (step.kind === "call") {
					const client = new AbortController();
					calls.push({ ...played.start("bash", client.signal), client, told: 0 });
				} else if (step.kind === "wait") await vi.advanceTimersByTimeAsync(step.ms);
				else if (step.kind === "end") played.calls.endTurn("end");
				else if (step.kind === "abort") played.calls.abort("abort");
				else if (step.kind === "take") take();
				else if (call && step.kind === "leave") call.client.abort();
				else if (call && step.kind === "poll") played.calls.poll({ callId: call.id });
				else if (call && step.kind === "settle") {
					const what = played.calls.settle(call.id, toResult("done"));
					if (what === "answered" || what === "late") call.told += 1;
				}
			}
			played.calls.abort("over");
			take();
			await vi.advanceTimersByTimeAsync(0);
			expect(played.calls.hasOpen).toBe(false);
			expect(vi.getTimerCount()).toBe(0);
			for (const { answers, told } of calls) {
				expect(answers).toHaveLength(1);
				expect(told).toBeLessThanOrEqual(1);
			}
		}),
		{ numRuns: 200 },
	);
});

describe("what becomes of calls", () => {
	test("is told and counted, by tool, without what they were given", async () => {
		const stages: string[] = [];
		const delivered: ParkedCall[] = [];
		const calls = new ParkedCalls({
			deliver: (call) => delivered.push(call) > 0,
			onStage: (stage, tool) => stages.push(`${stage} ${tool}`),
		});
		const start = (tool: string) => {
			void calls.call({ tool, args: {}, signal: new AbortController().signal, onProgress: null });
			return delivered.at(-1)?.id ?? "";
		};
		const [quick, slow, lost] = [start("quick"), start("slow"), start("lost")];
		expect(calls.counts).toStrictEqual({ parked: 3, escalated: 0, unseen: 0 });
		calls.settle(quick, toResult("done"));
		await vi.advanceTimersByTimeAsync(ESCALATE_AFTER_MS);
		expect(calls.counts).toStrictEqual({ parked: 0, escalated: 2, unseen: 0 });
		calls.settle(slow, { ...toResult("bad"), isError: true });
		expect(calls.counts).toStrictEqual({ parked: 0, escalated: 1, unseen: 1 });
		calls.abort("over");
		expect(calls.settle(lost, toResult("late"))).toBe("late");
		expect(stages).toStrictEqual([
			...["call-tool quick", "call-tool slow", "call-tool lost", "call-tool-ok quick"],
			...["call-tool-escalated slow", "call-tool-escalated lost", "call-tool-failed slow", "call-tool-failed lost"],
		]);
		calls.takeUnpolled();
	});
});
