import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Doctor } from "../../../src/main/diagnostics/doctor.ts";
import { writeReport } from "../../../src/main/diagnostics/report.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();

/** The part of it that a report reads by itself. */
const doctor = (more: object = {}): Doctor =>
	({
		atMs: Date.parse("2030-01-02T03:04:05.678Z"),
		log: { directory: folder.at("logs"), isDebugging: false },
		settings: [],
		events: [],
		drift: [],
		...more,
	}) as unknown as Doctor;

function logFile(day: string, lines: readonly string[]): void {
	mkdirSync(folder.at("logs"), { recursive: true });
	writeFileSync(folder.at("logs", `pi-agy-${day}.ndjson`), lines.map((line) => `${line}\n`).join(""));
}

async function write(more: object = {}, capture = 0) {
	const place = { dataDir: folder.path, childEnv: { PATH: "/secret/bin" }, capture };
	const { path, holds } = await writeReport(doctor(more), place);
	return { path, holds, source: readFileSync(path, "utf8") };
}

describe("a report", () => {
	test("has the time in its name and leaves no draft", async () => {
		const { path } = await write();
		expect(path).toBe(folder.at("reports", "pi-agy-report-2030-01-02T03-04-05-678Z.json"));
		expect(readdirSync(folder.at("reports"))).toHaveLength(1);
	});

	test("holds the last 200 lines of the log over the days, oldest first", async () => {
		logFile(
			"2030-01-01",
			Array.from({ length: 150 }, (_, line) => JSON.stringify({ day: 1, line })),
		);
		logFile(
			"2030-01-02",
			Array.from({ length: 100 }, (_, line) => JSON.stringify({ day: 2, line })),
		);
		logFile("not-a-day", ["{}"]);
		const { log } = JSON.parse((await write()).source);
		expect(log).toHaveLength(200);
		expect([log[0], log.at(-1)]).toStrictEqual([
			{ day: 1, line: 50 },
			{ day: 2, line: 99 },
		]);
	});

	test("reads no more than the end of a large file, and no half line", async () => {
		logFile(
			"2030-01-01",
			Array.from({ length: 300 }, (_, line) => JSON.stringify({ line, text: "x".repeat(2_000) })),
		);
		const { log } = JSON.parse((await write()).source);
		expect(log.length).toBeGreaterThan(100);
		expect(log.length).toBeLessThan(140);
		expect(log.every((line: unknown) => typeof line === "object")).toBe(true);
		expect(log.at(-1).line).toBe(299);
	});

	test("holds no credential that an older version logged, no home folder and no value of the environment", async () => {
		logFile("2030-01-01", [JSON.stringify({ text: "ya29.abcdef-1" }), `cut "token": "hunter2`, "sk-abcdefghijklmnop"]);
		const { source } = await write({ agy: { path: join(homedir(), "bin", "agy") } });
		expect(source).not.toMatch(/ya29|sk-abc|\/secret\/bin/);
		expect(source).not.toContain(homedir());
		expect(JSON.parse(source)).toMatchObject({ variablesOfAgy: ["PATH"], doctor: { agy: { path: "~/bin/agy" } } });
	});

	test("is written without a log too, and says what it holds", async () => {
		const { source, holds } = await write({ drift: [{ what: "event", name: "mood", count: 1 }] });
		expect(JSON.parse(source).log).toStrictEqual([]);
		expect(holds).toContain("1 kinds of output that this version does not know, by name");
	});

	test("holds the last captured turn that did not end well, when turns are captured", async () => {
		mkdirSync(folder.at("captures"));
		const put = (hour: number, status: string | null) =>
			writeFileSync(
				folder.at("captures", `2030-01-01T0${hour}-00-00-000Z_1_1_1.ndjson`),
				`{"capture":1}\n${JSON.stringify({ end: { status } })}\n`,
			);
		put(1, "ERROR");
		put(2, null);
		put(3, "SUCCESS");
		writeFileSync(folder.at("captures", "notes.ndjson"), "{}");
		const { source, holds } = await write({}, 3);
		expect(JSON.parse(source).failedTurn).toMatchObject({
			name: "2030-01-01T02-00-00-000Z_1_1_1.ndjson",
			lines: ['{"capture":1}', '{"end":{"status":null}}'],
		});
		expect(holds.at(-1)).toContain("your prompt and agy's answer are in it");
		expect(JSON.parse((await write({ atMs: 1 })).source).failedTurn).toBeNull();
	});

	test("that cannot be written is told, and leaves nothing", async () => {
		writeFileSync(folder.at("reports"), "in the way");
		await expect(write()).rejects.toThrow(/EEXIST|ENOTDIR/);
	});
});
