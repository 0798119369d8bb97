/**
 * Conversation databases as a poll lane follows them while another process writes them: the cases F1 to F43 of the facts
 * about agy's databases that are about texts, tools and ends. Whose file it is and what happens to it:
 * database-files.test.ts; what a look costs and leaves alone: database-reads.test.ts.
 */
import { describe, expect, it } from "vitest";
import { DatabaseRig } from "../support/database-rig.ts";
import { call, command, hold, mark, planner, row, rows, scripted, sql, together } from "../support/database-scripts.ts";

const db = new DatabaseRig();

const BEGIN = ["ready", "0 notice user_input"];
const RUN = 'run_command active {"CommandLine":"make"}';
const SUCCESS = "turn-end SUCCESS";

describe("a text", () => {
	it("F1 that comes after its thinking is told, and so is the thinking", async () => {
		const agy = await db.follow(
			rows(
				...[planner(3, 8, { 3: "think" }), ...hold("a")],
				...[planner(3, 8, { 3: "think", 1: "Hello wor" }), ...hold("b")],
				planner(3, 3, { 3: "think", 1: "Hello world" }),
			),
		);
		await agy.seen("3 thinking: think", "a");
		await agy.seen("3 text: Hello wor", "b");
		expect(await agy.over()).toEqual([
			...[...BEGIN, "3 thinking: think", "3 text: Hello world", "3 model-call", SUCCESS],
		]);
	});

	it("F2 in a payload that is cut short appears when it is whole", async () => {
		const agy = await db.follow(
			rows(
				...together(row(3, 15, 8, { $cut: 4, of: { 20: { 1: "Whole at last." } } }), mark(4)),
				...hold("a"),
				planner(3, 3, "Whole at last."),
			),
		);
		await agy.seen("4 notice unknown", "a");
		expect(await agy.over()).toEqual([
			...[...BEGIN, "4 notice unknown", "3 text: Whole at last.", "3 model-call", SUCCESS],
		]);
	});

	it.each([
		["F3 rewritten in place", "The answer is 42. Nothing else."],
		["F4 that gets shorter", "It is 42."],
	])("%s is said again as a whole", async (_what, final) => {
		const agy = await db.follow(
			rows(planner(3, 8, "I will look at the file first"), ...hold("a"), planner(3, 3, final)),
		);
		await agy.seen("3 text: I will look at the file first", "a");
		expect(await agy.over()).toEqual([
			...[...BEGIN, "3 text: I will look at the file first", `3 text again: ${final}`, "3 model-call", SUCCESS],
		]);
		expect(agy.answer).toBe(final);
	});

	it("F5 that ends in half a character shows it when it is whole", async () => {
		const agy = await db.follow(
			rows(
				planner(3, 8, "ab\uFFFD"),
				...hold("a"),
				planner(3, 8, "ab修改\uFFFD"),
				...hold("b"),
				planner(3, 3, "ab修改"),
			),
		);
		await agy.seen("3 text: ab", "a");
		await agy.seen("3 text: ab修改", "b");
		expect(await agy.over()).toEqual([...BEGIN, "3 text: ab修改", "3 model-call", SUCCESS]);
	});

	it("F6 grows beside another that appeared with it", async () => {
		const agy = await db.follow(
			rows(
				...[...together(planner(1, 8, "One"), planner(2, 8, "Two")), ...hold("a")],
				...[planner(2, 3, "Two grown."), ...hold("b"), planner(1, 3, "One grown.")],
			),
		);
		await agy.seen("2 text: Two", "a");
		await agy.seen("2 model-call", "b");
		expect(await agy.over()).toEqual([
			...[...BEGIN, "1 text: One", "2 text: Two grown.", "2 model-call", "1 text:  grown.", "1 model-call", SUCCESS],
		]);
		expect(agy.answer).toBe("One grown.Two grown.");
	});

	it("F15 that is a message of agy's to the model is never shown, and one that only begins alike is", async () => {
		const envelope = "<SYSTEM_MESSAGE>\nThe task is done.";
		const grown = (idx: number, text: string) => Array.from(text, (_, end) => planner(idx, 8, text.slice(0, end + 1)));
		const agy = await db.follow(
			rows(
				...[...grown(1, envelope), planner(1, 3, envelope)],
				...[
					planner(2, 8, "<SYST"),
					mark(3),
					...hold("a"),
					...grown(2, "<SYSTEMS are fine>"),
					planner(2, 3, "<SYSTEMS are fine>"),
				],
			),
		);
		await agy.seen("3 notice unknown", "a");
		expect(await agy.over()).toEqual([
			...[
				...BEGIN,
				"1 notice system_message",
				"3 notice unknown",
				"2 text: <SYSTEMS are fine>",
				"2 model-call",
				SUCCESS,
			],
		]);
	});

	it("F16 that the user typed is no answer and no thinking", async () => {
		const agy = await db.follow(scripted({}, row(9, 14, 3, { 19: { 2: "{{prompt}}" } }), planner(10, 3, "Hello.")));
		expect(await agy.over()).toEqual(["ready", "9 notice user_input", "10 text: Hello.", "10 model-call", SUCCESS]);
	});

	it("F31 that grows to a megabyte in 100 commits is told once, piece by piece", async () => {
		const steps = [{ kind: "steady", deltas: 100, deltaBytes: 10_500 }];
		const agy = await db.follow({ database: { genMetadata: "none" }, turns: [{ steps }] });
		await agy.over();
		const texts = agy.heard.events.flatMap((event) => (event.kind === "text" ? [event] : []));
		expect(texts.some(({ replaces }) => replaces)).toBe(false);
		expect(agy.answer).toHaveLength(100 * 10_500);
		expect(agy.answer).toMatch(/^0 .*99 /s);
		expect(agy.outline.at(-1)).toBe(SUCCESS);
	});

	it.each([
		["stands in the second copy alone", { 8: "Forty-two." }, ["1 text: Forty-two."]],
		["is another in the second copy", { 1: "Forty-two", 8: "42" }, ["1 text: Forty", "1 text again: 42"]],
	])("F37 that %s ends as that", async (_what, final, lines) => {
		const agy = await db.follow(rows(planner(1, 8, "Forty"), ...hold("a"), planner(1, 3, final)));
		await agy.seen("1 text: Forty", "a");
		expect(await agy.over()).toEqual([...BEGIN, ...lines, "1 model-call", SUCCESS]);
	});

	it("F39 that is unfinished when the process ends is told so far, and the turn is not complete", async () => {
		const agy = await db.follow(rows(planner(1, 8, "Not finis\uFFFD")));
		expect(await agy.over()).toEqual([...BEGIN, "1 text: Not finis\uFFFD", "1 model-call"]);
		expect(agy.heard.end).toMatchObject({ exit: { code: 0 }, laneError: null });
	});
});

describe("a tool", () => {
	it("F8 whose row is there before its call is told when it has one, once each", async () => {
		const agy = await db.follow(
			rows(
				...[...together(row(4, 21, 1), mark(5)), ...hold("a")],
				...[command(4, 3, { 28: { 21: { 1: "out" } } }), planner(6, 3, "Done.")],
			),
		);
		await agy.seen("5 notice unknown", "a");
		expect(await agy.over()).toEqual([
			...[
				...BEGIN,
				"5 notice unknown",
				`4 ${RUN}`,
				"4 run_command done: out",
				"6 text: Done.",
				"6 model-call",
				SUCCESS,
			],
		]);
	});

	it("F9 has the output that is inside the message, without the bytes around it", async () => {
		const output = "0123456789".repeat(20);
		const agy = await db.follow(rows(command(4, 3, { 28: { 21: { 1: output } } })));
		expect((await agy.over()).slice(2, 4)).toEqual([`4 ${RUN}`, `4 run_command done: ${output}`]);
	});

	it("F10 has the result of the generic type too", async () => {
		const agy = await db.follow(rows(command(4, 3, { 140: { 2: { 1: "result" } } }, 132)));
		expect((await agy.over()).slice(2, 4)).toEqual([`4 ${RUN}`, "4 run_command done: result"]);
	});

	it.each([8, 11])("F11 is in progress with status %i", async (status) => {
		const agy = await db.follow(
			rows(...together(command(4, status), mark(5)), ...hold("a"), command(4, 3, { 28: { 21: { 1: "out" } } })),
		);
		await agy.seen("5 notice unknown", "a");
		expect((await agy.over()).slice(2, 5)).toEqual([`4 ${RUN}`, "5 notice unknown", "4 run_command done: out"]);
	});

	it("F12 is over with the statuses 4, 5 and 12", async () => {
		const agy = await db.follow(
			rows(...[command(1, 4), command(2, 5), command(3, 12)], planner(4, 3, "Done."), ...hold("a")),
		);
		await agy.seen("4 model-call", "a");
		const outline = await agy.over();
		expect(outline.filter((line) => line.includes("run_command"))).toEqual([
			...[`1 ${RUN}`, "1 run_command error (INVALID)", `2 ${RUN}`, "2 run_command error (CLEARED)"],
			...[`3 ${RUN}`, "3 run_command error (INTERRUPTED)"],
		]);
		expect(outline.at(-1)).toBe(SUCCESS);
	});

	it("F13 that never ends holds up nothing, and is over when the process is", async () => {
		const agy = await db.follow(rows(command(1, 2), planner(2, 3, "It runs."), ...hold("a")));
		await agy.seen("2 model-call", "a");
		expect(await agy.over()).toEqual([
			...[...BEGIN, `1 ${RUN}`, "2 text: It runs.", "2 model-call", "1 run_command error (INCOMPLETE)", SUCCESS],
		]);
	});

	it("F18 is told although a field of its result has another type than it should", async () => {
		const payload = {
			5: { 4: call(1, '{"Query":"sum"}', "grep_search") },
			13: { 1: "sum", 3: "a.txt:3:a sum", 4: { 1: "a.txt", 2: "3", 3: "a sum" } },
		};
		const agy = await db.follow(rows(row(1, 7, 3, payload), planner(2, 3, "Found.")));
		expect(await agy.over()).toEqual([
			...[...BEGIN, '1 grep_search active {"Query":"sum"}', "1 grep_search done: a.txt:3:a sum"],
			...["2 text: Found.", "2 model-call", SUCCESS],
		]);
	});

	it("F38 whose call was half written in the model's row is told once, with the whole call", async () => {
		const declared = (args: string) => ({ 1: "I look.", 7: call(1, args) });
		const agy = await db.follow(
			rows(
				...[planner(1, 8, declared('{"Command')), ...hold("a"), planner(1, 3, declared('{"CommandLine":"make"}'))],
				row(2, 21, 3, { 5: { 4: { 1: "call_1" } }, 28: { 21: { 1: "out" } } }),
				...[...together(row(4, 21, 8, { 5: { 4: call(4, '{"Comm') } }), mark(3)), ...hold("b"), command(4, 3)],
			),
		);
		await agy.seen("1 text: I look.", "a");
		await agy.seen("3 notice unknown", "b");
		const outline = (await agy.over()).filter((line) => !line.endsWith("unknown"));
		expect(outline.slice(2, 8)).toEqual([
			...["1 text: I look.", "1 model-call", `2 ${RUN}`, "2 run_command done: out", `4 ${RUN}`, "4 run_command done"],
		]);
	});

	it("F42 has an output that is bounded, whatever is in it", async () => {
		const odd = "a\u0000b\r\n\u001b[31mred\u001b[0m";
		const hit = { 1: "a.txt", 2: 3, 3: "a sum", 4: "/a.txt" };
		const agy = await db.follow(
			rows(
				command(1, 3, { 28: { 21: { 1: odd } } }),
				command(2, 3, { 28: { 21: { 1: { $repeat: "0123456789abcdef", times: 131_072 } } } }),
				row(3, 7, 3, { 5: { 4: call(3, "{}", "grep_search") }, 13: { 4: Array(10_000).fill(hit) } }),
				planner(4, 3, odd),
			),
		);
		expect((await agy.over()).at(-1)).toBe(SUCCESS);
		const outputs = agy.heard.events.flatMap((event) =>
			event.kind === "tool" && event.state === "done" ? [event.output ?? ""] : [],
		);
		expect([outputs.length, outputs[0], agy.answer]).toEqual([3, odd, odd]);
		for (const output of outputs.slice(1)) {
			expect(output.length).toBeGreaterThan(0);
			expect(Buffer.byteLength(output)).toBeLessThanOrEqual(2 ** 20 + 100);
		}
	});
});

describe("an end", () => {
	it("F14 by an error row is an error with its text", async () => {
		const details = { 1: "Quota exhausted", 2: "429", 5: '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}' };
		const agy = await db.follow(rows(row(1, 17, 3, { 24: { 3: details } })));
		const outline = await agy.over();
		expect(outline.slice(0, 3)).toEqual([...BEGIN, "1 notice error_message"]);
		expect(outline[3]).toMatch(/^turn-end ERROR: .*Quota exhausted/);
	});

	it("F20 of the table within the turn fails that turn alone", async () => {
		const agy = await db.follow(rows(planner(1, 8, "Gone"), ...hold("a"), sql("DROP TABLE steps")));
		await agy.seen("1 text: Gone", "a");
		expect(await agy.over()).toEqual([...BEGIN, "1 text: Gone", "1 model-call"]);
		expect(agy.heard.end).toMatchObject({ exit: { code: 0 }, laneError: null });
		const next = await db.follow(rows(planner(1, 3, "Still here.")));
		expect((await next.over()).at(-1)).toBe(SUCCESS);
		expect(db.rig.lanes.threads.length).toBe(1);
	});

	it("F28 by a signal is no success", async () => {
		const agy = await db.follow(rows(planner(1, 3, "Done."), ...hold("a"), { kind: "crash", signal: "SIGKILL" }));
		await agy.seen("1 model-call", "a");
		expect(await agy.over()).toEqual([...BEGIN, "1 text: Done.", "1 model-call"]);
		expect(agy.heard.end).toMatchObject({ exit: { code: null, signal: "SIGKILL" } });
	});

	it.each([
		["the text", [planner(1, 3, "Almost done.")], "1 text: Almost done."],
		["the status alone", [sql("UPDATE steps SET status = 3 WHERE idx = 1")], "1 text: Almost"],
	])("F29 whose last commit changes %s is the state that counts", async (_what, last, line) => {
		const agy = await db.follow(rows(planner(1, 8, "Almost"), ...hold("a"), ...last));
		await agy.seen("1 text: Almost", "a");
		expect(await agy.over()).toEqual([...BEGIN, line, "1 model-call", SUCCESS]);
	});

	it("F41 counts every model call once, and a checkpoint not at all", async () => {
		const usage = (id: string, input: number) => ({ 9: { 1: 1016, 2: input, 3: 5, 5: 100, 9: 2, 10: 3, 11: id } });
		const agy = await db.follow(
			rows(
				...[planner(1, 3, { 1: "I look.", 7: call(2) }, usage("r-1", 10)), command(2, 3)],
				...[planner(3, 3, "Done.", usage("r-2", 20)), planner(3, 3, "Done.", usage("r-2", 20))],
				...[row(4, 23, 3, { 5: usage("r-3", 46), 30: { 4: "About" } }), planner(5, 3, "Copy.", usage("r-2", 20))],
			),
		);
		await agy.over();
		const counted = agy.heard.events.flatMap((event) => ("usage" in event && event.usage ? [event] : []));
		expect(counted).toMatchObject([
			{ kind: "model-call", step: 1, usage: { input: 10, output: 5, thinking: 2, cacheRead: 100 } },
			{ kind: "model-call", step: 3, usage: { input: 20, output: 5, thinking: 2, cacheRead: 100 } },
		]);
	});
});
