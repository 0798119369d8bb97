import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { CAPTURE_FILE } from "../../src/shared/capture.ts";
import { FlightRecorder } from "../../src/workers/flight-recorder.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();
let logs: string[];
let recorder: FlightRecorder;

beforeEach(() => {
	logs = [];
	recorder = open(2);
});

const open = (turns: number) =>
	new FlightRecorder({ directory: folder.at("captures"), turns }, 7, (text) => logs.push(text));
const files = () => (existsSync(folder.at("captures")) ? readdirSync(folder.at("captures")).toSorted() : []);
const linesOf = (name = "") =>
	readFileSync(folder.at("captures", name), "utf8")
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));

async function turn(text: string, status: string | null = "SUCCESS"): Promise<void> {
	recorder.sent(`${text}\n`);
	recorder.received("out", Buffer.from(`said ${text}\n`));
	recorder.turnEnded(status);
	await recorder.settled;
}

describe("a recorded turn", () => {
	test("is a private file with both directions, in order, and its end", async () => {
		recorder.sent("ask\n");
		recorder.received("out", Buffer.from("one\ntw"));
		recorder.received("err", Buffer.from("warning: x\n"));
		recorder.received("out", Buffer.from("o\nlast"));
		recorder.exited({ code: 3, signal: null });
		recorder.turnEnded("ERROR");
		await recorder.settled;
		const [name = "", ...others] = files();
		expect(others).toStrictEqual([]);
		expect(name).toMatch(CAPTURE_FILE);
		expect(statSync(folder.at("captures")).mode & 0o777).toBe(0o700);
		expect(statSync(folder.at("captures", name)).mode & 0o777).toBe(0o600);
		const [head, ...rest] = linesOf(name);
		expect(head).toMatchObject({ capture: 1, link: 7 });
		expect(rest.map(({ dir, line, end }) => end ?? `${dir} ${line}`)).toStrictEqual([
			...["in ask", "out one", "err warning: x", "out two", "out last"],
			{ status: "ERROR", exit: { code: 3, signal: null }, droppedLines: 0 },
		]);
	});

	test("may be cut within a character", async () => {
		const bytes = Buffer.from("è\n");
		recorder.received("out", bytes.subarray(0, 1));
		recorder.received("out", bytes.subarray(1));
		recorder.turnEnded(null);
		await recorder.settled;
		expect(linesOf(files()[0])[1].line).toBe("è");
	});

	test("is kept until as many followed as were asked for", async () => {
		for (const text of ["a", "b", "c"]) await turn(text);
		expect(files().map((name) => linesOf(name)[1].line)).toStrictEqual(["b", "c"]);
	});

	test("is none when nothing was said", async () => {
		recorder.turnEnded("SUCCESS");
		await recorder.settled;
		expect(files()).toStrictEqual([]);
	});

	test("is bounded; its result is kept all the same", async () => {
		const chunk = Buffer.from(`${"x".repeat(1024 * 1024 - 1)}\n`);
		for (let count = 0; count < 8; count++) recorder.received("out", chunk);
		recorder.received("out", Buffer.from('{"event":"result","result":{}}\n'));
		recorder.turnEnded("SUCCESS");
		await recorder.settled;
		const rows = linesOf(files()[0]);
		expect(rows.at(-1).end.droppedLines).toBe(4);
		expect(rows.at(-2).line).toBe('{"event":"result","result":{}}');
		expect(rows).toHaveLength(7);
	});

	test("that cannot be written is told once and stops nothing", async () => {
		writeFileSync(folder.at("captures"), "in the way");
		await turn("a");
		await turn("b");
		expect(logs).toStrictEqual([expect.stringContaining("a turn could not be captured")]);
	});
});
