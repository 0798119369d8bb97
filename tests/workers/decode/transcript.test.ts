import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { TRANSCRIPT_POLL_MS, TRANSCRIPT_TAIL_BYTES } from "../../../src/shared/limits.ts";
import { findWithheldAnswer, TranscriptWatch, type WithheldAnswer } from "../../../src/workers/decode/transcript.ts";
import { until } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";

type Row = { readonly [field: string]: unknown };

/** A finished answer of the model, as agy's transcript has it. */
const answer = (more: Row = {}): Row => ({
	step_index: 7,
	source: "MODEL",
	type: "PLANNER_RESPONSE",
	status: "DONE",
	content: "The server is up.\n",
	...more,
});
const call = (more: Row = {}) => answer({ content: "", tool_calls: [{ name: "run_command", args: {} }], ...more });
const toolRow = (step_index: number) => ({
	step_index,
	source: "MODEL",
	type: "RUN_COMMAND",
	status: "RUNNING",
	content: "",
});
const toLines = (...rows: readonly Row[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

const FOUND: WithheldAnswer = { step: 7, text: "The server is up.\n" };

describe("the newest row", () => {
	test.each<[string, Row, number, WithheldAnswer | null]>([
		["a finished answer", answer(), 6, FOUND],
		["with an empty list of tool calls", answer({ tool_calls: [] }), 6, FOUND],
		["with no tool calls, said so", answer({ tool_calls: null }), 6, FOUND],
		["at the turn's last request", answer(), 7, null],
		["before the turn's last request", answer(), 8, null],
		["with a tool call", call(), 6, null],
		["with text and a tool call", answer({ tool_calls: [{ name: "x" }] }), 6, null],
		["with tool calls of another shape", answer({ tool_calls: { name: "x" } }), 6, null],
		["that is not finished", answer({ status: "IN_PROGRESS" }), 6, null],
		["that failed", answer({ status: "ERROR" }), 6, null],
		["without a status", answer({ status: undefined }), 6, null],
		["of the user", answer({ source: "USER_EXPLICIT" }), 6, null],
		["of another type", answer({ type: "USER_INPUT" }), 6, null],
		["without text", answer({ content: "" }), 6, null],
		["with blanks for text", answer({ content: " \n" }), 6, null],
		["with no text at all", answer({ content: undefined }), 6, null],
		["without a number", answer({ step_index: undefined }), 6, null],
		["with a number in words", answer({ step_index: "7" }), 6, null],
	])("%s", (_name, row, afterStep, found) => {
		expect(findWithheldAnswer(toLines(toolRow(5), row), afterStep)).toStrictEqual(found);
	});

	test.each<[string, string]>([
		["nothing", ""],
		["blank lines", "\n\n"],
		["no JSON", `${toLines(answer())}{"step_index":8,"sour\n`],
		["a number", `${toLines(answer())}12\n`],
		["null", `${toLines(answer())}null\n`],
		["a list", `${toLines(answer())}[1]\n`],
		["a tool that was started after the answer", toLines(answer(), toolRow(8))],
	])("that is %s is no answer", (_name, tail) => {
		expect(findWithheldAnswer(tail, 6)).toBeNull();
	});

	test("counts, whatever stands before it", () => {
		expect(
			findWithheldAnswer(`cut off":1}\n${toLines(call({ step_index: 5 }), toolRow(6), answer())}\n`, 6),
		).toStrictEqual(FOUND);
	});
});

describe("a watch", () => {
	const folder = new Folder();
	let answers: WithheldAnswer[];
	let watch: TranscriptWatch | null;

	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		answers = [];
		watch = null;
	});

	afterEach(() => {
		watch?.stop();
		const timerCount = vi.getTimerCount();
		vi.useRealTimers();
		expect(timerCount).toBe(0);
	});

	const path = () => folder.at("transcript.jsonl");
	const put = (content: string) => writeFileSync(path(), content);

	/** Begins to watch and waits for the first look. */
	async function start(afterStep = 6): Promise<void> {
		watch = new TranscriptWatch(path(), afterStep, (found) => answers.push(found));
		await looked();
	}

	/** A look ends with an answer or with the wait for the next look. */
	async function looked(): Promise<void> {
		const before = answers.length;
		await until("a look", () => vi.getTimerCount() === 1 || answers.length > before);
	}

	async function nextLook(): Promise<void> {
		vi.advanceTimersByTime(TRANSCRIPT_POLL_MS);
		await looked();
	}

	test("tells an answer that stands there at two looks, once", async () => {
		put(toLines(toolRow(6), answer()));
		await start();
		expect(answers).toStrictEqual([]);
		vi.advanceTimersByTime(TRANSCRIPT_POLL_MS - 1);
		expect(vi.getTimerCount()).toBe(1);
		vi.advanceTimersByTime(1);
		await looked();
		expect(answers).toStrictEqual([FOUND]);
		expect(vi.getTimerCount()).toBe(0);
	});

	test("does not tell one that was followed in between, and goes on looking", async () => {
		put(toLines(answer()));
		await start();
		appendFileSync(path(), toLines(toolRow(8)));
		await nextLook();
		appendFileSync(path(), toLines(answer({ step_index: 9, content: "Done." })));
		await nextLook();
		expect(answers).toStrictEqual([]);
		await nextLook();
		expect(answers).toStrictEqual([{ step: 9, text: "Done." }]);
	});

	test("takes two looks for each answer anew", async () => {
		put(toLines(answer()));
		await start();
		put(toLines(answer(), answer({ step_index: 8 })));
		await nextLook();
		expect(answers).toStrictEqual([]);
		await nextLook();
		expect(answers).toMatchObject([{ step: 8 }]);
	});

	test("an answer that was gone in between counts as new", async () => {
		put(toLines(answer()));
		await start();
		rmSync(path());
		await nextLook();
		put(toLines(answer()));
		await nextLook();
		expect(answers).toStrictEqual([]);
		await nextLook();
		expect(answers).toStrictEqual([FOUND]);
	});

	test("waits for a file that is not there yet", async () => {
		await start();
		await nextLook();
		put(toLines(answer()));
		await nextLook();
		await nextLook();
		expect(answers).toStrictEqual([FOUND]);
	});

	test.each([
		["being written, while what stands before it is an answer", `${toLines(answer())}{"step_index":8,"sou`, [FOUND]],
		["being written, while what stands before it is none", `${toLines(toolRow(6))}${JSON.stringify(answer())}`, []],
	])("does not see a line that is %s", async (_name, content, found) => {
		put(content);
		await start();
		await nextLook();
		expect(answers).toStrictEqual(found);
	});

	test("reads the end of a long file alone, cut within a character or not", async () => {
		for (let shift = 0; shift < 3; shift++) {
			const line = `${JSON.stringify({ ...toolRow(1), content: `${"x".repeat(shift)}${"漢".repeat(1_000)}` })}\n`;
			put(`${line.repeat(Math.ceil((2 * TRANSCRIPT_TAIL_BYTES) / Buffer.byteLength(line)))}${toLines(answer())}`);
			await start();
			await nextLook();
			expect(answers).toStrictEqual([FOUND]);
			answers = [];
		}
	});

	test("an answer longer than what is read is none", async () => {
		put(toLines(answer({ content: "x".repeat(TRANSCRIPT_TAIL_BYTES) })));
		await start();
		await nextLook();
		expect(answers).toStrictEqual([]);
	});

	test("that was stopped tells nothing, also when it is stopped in the middle of a look", async () => {
		put(toLines(answer()));
		await start();
		vi.advanceTimersByTime(TRANSCRIPT_POLL_MS);
		watch?.stop();
		for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
		expect(answers).toStrictEqual([]);
		expect(vi.getTimerCount()).toBe(0);
	});
});
