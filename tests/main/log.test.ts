import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { Log } from "../../src/main/log.ts";
import { cpuMsOf } from "../support/cpu-time.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();
const today = () => `pi-agy-${new Date().toISOString().slice(0, 10)}.ndjson`;

function lines(): readonly {
	readonly level: string;
	readonly text: string;
	readonly time: string;
	readonly pid: number;
}[] {
	const source = readFileSync(folder.at("logs", today()), "utf8");
	expect(source.endsWith("\n")).toBe(true);
	return source
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
}

describe("what is written", () => {
	test("warnings and errors only, one object a line, in order", async () => {
		const log = new Log(folder.at("logs"), false);
		for (let index = 0; index < 20; index++) log.write("error", `line ${index}\nand more`);
		for (const level of ["debug", "info", "warn"] as const) log.write(level, `only ${level}`);
		await log.settled();
		expect(lines().map(({ text }) => text)).toStrictEqual([
			...Array.from({ length: 20 }, (_, index) => `line ${index}\nand more`),
			"only warn",
		]);
		expect(lines()[0]).toMatchObject({ level: "error", pid: process.pid, time: expect.stringMatching(/^\d{4}-.*Z$/) });
	});

	test("everything while debugging", async () => {
		const log = new Log(folder.at("logs"), true);
		for (const level of ["debug", "info", "warn", "error"] as const) log.write(level, "x");
		await log.settled();
		expect(lines().map(({ level }) => level)).toStrictEqual(["debug", "info", "warn", "error"]);
	});

	test("no secret, and no half of one at the end of a long text", async () => {
		const log = new Log(folder.at("logs"), false);
		log.write("error", `${"x".repeat(1_985)} AIzaSyA1234567890abcdefghijklmnop ${"y".repeat(50)}`);
		await log.settled();
		expect(lines()[0]?.text.length).toBe(2_000);
		expect(lines()[0]?.text).not.toContain("AIza");
	});
});

describe("an event", () => {
	test("stands in the line with its facts, short and without credentials", async () => {
		const log = new Log(folder.at("logs"), false);
		log.write("warn", "a turn failed", {
			event: "turn-error",
			kind: "quota",
			pid: 7,
			tool: "AIzaSyA1234567890abcdefghijklmnop",
		});
		log.write("warn", "no event");
		await log.settled();
		expect(lines()).toMatchObject([
			{ event: "turn-error", facts: { kind: "quota", pid: 7, tool: "[api key]" }, text: "a turn failed" },
			{ text: "no event" },
		]);
		expect(lines()[1]).not.toHaveProperty("event");
		expect(lines()[1]).not.toHaveProperty("facts");
	});

	test("is remembered also when its level is not written", async () => {
		const log = new Log(folder.at("logs"), false);
		log.write("debug", "the content of it", { event: "spawn", pid: 7 });
		await log.settled();
		expect(readdirSync(folder.path)).toStrictEqual([]);
		expect(log.lifecycle).toMatchObject([{ mark: { event: "spawn", pid: 7 } }]);
		expect(JSON.stringify(log.lifecycle)).not.toContain("content");
	});

	test("of a very long text costs no long time", async () => {
		const log = new Log(folder.at("logs"), false);
		expect(cpuMsOf(() => log.write("error", '"token'.repeat(5_000_000)))).toBeLessThan(1_000);
		await log.settled();
		expect(lines()[0]?.text).toHaveLength(2_000);
	});
});

describe("the files", () => {
	test("are private and come with the first line", async () => {
		const log = new Log(folder.at("logs"), false);
		await log.settled();
		expect(readdirSync(folder.path)).toStrictEqual([]);
		log.write("error", "x");
		await log.settled();
		expect(statSync(folder.at("logs")).mode & 0o777).toBe(0o700);
		expect(statSync(folder.at("logs", today())).mode & 0o777).toBe(0o600);
	});

	test("of the last two weeks are kept, older ones and nothing else removed", async () => {
		await mkdir(folder.at("logs"));
		const dayAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
		const kept = [`pi-agy-${dayAgo(13)}.ndjson`, "notes.txt", "pi-agy-old.ndjson", `other-${dayAgo(99)}.ndjson`];
		for (const name of [...kept, `pi-agy-${dayAgo(16)}.ndjson`, "pi-agy-2001-01-01.ndjson"]) {
			writeFileSync(folder.at("logs", name), "");
		}
		const log = new Log(folder.at("logs"), false);
		log.write("error", "x");
		await log.settled();
		expect(readdirSync(folder.at("logs")).toSorted()).toStrictEqual([...kept, today()].toSorted());
	});

	test("that cannot be written stop nothing", async () => {
		writeFileSync(folder.at("logs"), "in the way");
		const log = new Log(folder.at("logs"), false);
		log.write("error", "x");
		await log.settled();
		log.write("error", "y");
		await log.settled();
		expect(readFileSync(folder.at("logs"), "utf8")).toBe("in the way");
	});
});
