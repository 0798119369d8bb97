import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { McpConfigFile } from "../../../src/main/bridge/mcp-config-file.ts";
import { within } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";

const NO_PID = 2 ** 22 + 1; // Above the highest pid that Linux gives.

const folder = new Folder();

const path = () => folder.at("config", "mcp_config.json");
const content = () => readFileSync(path(), "utf8");
const names = () => readdirSync(folder.at("config")).toSorted();
const nothing = async () => {};

function put(text: string): void {
	mkdirSync(folder.at("config"), { recursive: true });
	writeFileSync(path(), text);
}

describe("a change", () => {
	test("is asked for again when another program has written meanwhile", async () => {
		put('{"a": 1}');
		const seen: (string | null)[] = [];
		await new McpConfigFile(path()).change(async (text) => {
			seen.push(text);
			if (seen.length === 1) put('{"a": 2}');
			return (text ?? "").replace("{", "{/*ours*/");
		}, nothing);
		expect(seen).toStrictEqual(['{"a": 1}', '{"a": 2}']);
		expect(content()).toBe('{/*ours*/"a": 2}');
		expect(names()).toStrictEqual(["mcp_config.json"]);
	});

	test("is refused, and nothing lost, when another program has spoilt the file meanwhile", async () => {
		put("{}");
		const change = new McpConfigFile(path()).change(async () => {
			put("{");
			return null;
		}, nothing);
		await expect(change).rejects.toMatchObject({ code: "bad-setting" });
		expect(content()).toBe("{");
		expect(names()).toStrictEqual(["mcp_config.json"]);
	});

	test("is given up when another program never stops writing", async () => {
		let count = 0;
		const change = new McpConfigFile(path()).change(async () => {
			put(`{"count": ${++count}}`);
			return "{}";
		}, nothing);
		await expect(change).rejects.toMatchObject({
			code: "not-writable",
			message: expect.stringContaining("another program keeps writing"),
		});
		expect(content()).toBe(`{"count": ${count}}`);
		expect(names()).toStrictEqual(["mcp_config.json"]);
	});

	test("waits for those before it, and holds the lock until it is done", async () => {
		const file = new McpConfigFile(path());
		const locked: boolean[] = [];
		const isLocked = async () => void locked.push(names().includes("mcp_config.json.lock"));
		await Promise.all([file.change(async () => "{}", isLocked), file.change(async (text) => `${text} `, isLocked)]);
		expect(content()).toBe("{} ");
		expect(locked).toStrictEqual([true, true]);
		expect(names()).toStrictEqual(["mcp_config.json"]);
	});

	test("that fails leaves the file and lets the next one through", async () => {
		put("{}");
		const file = new McpConfigFile(path());
		const failed = file.change(async () => Promise.reject(new Error("no")), nothing);
		await expect(failed).rejects.toThrow("no");
		expect(content()).toBe("{}");
		await within(
			"the next change",
			file.change(async () => "{ }", nothing),
		);
		expect(content()).toBe("{ }");
	});

	test("to the same text writes nothing", async () => {
		put("{}");
		const before = statSync(path());
		await new McpConfigFile(path()).change(async (text) => text, nothing);
		expect(statSync(path())).toMatchObject({ ino: before.ino, mode: before.mode });
	});
});

test("a sweep removes the lock and the drafts of dead processes, and nothing else", async () => {
	put("{}");
	const file = new McpConfigFile(path());
	const kept = ["mcp_config.json.bak", `mcp_config.json.${process.pid}.0badcafe.tmp`, `other.${NO_PID}.0badcafe.tmp`];
	for (const name of [...kept, `mcp_config.json.${NO_PID}.0badcafe.tmp`]) writeFileSync(folder.at("config", name), "x");
	writeFileSync(`${path()}.lock`, JSON.stringify({ pid: NO_PID, startTime: "1" }));
	await file.sweep();
	expect(names()).toStrictEqual(["mcp_config.json", ...kept].toSorted());
});
