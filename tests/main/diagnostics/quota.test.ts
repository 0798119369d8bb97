import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Binary } from "../../../src/main/binary.ts";
import { type Config, loadConfig } from "../../../src/main/config.ts";
import { type Quota, QuotaReader, toGroups } from "../../../src/main/diagnostics/quota.ts";
import { renderQuota } from "../../../src/main/diagnostics/quota-text.ts";
import { JsonStore } from "../../../src/main/json-store.ts";
import { ProcessRegistry } from "../../../src/main/processes/registry.ts";
import { writeScript } from "../../support/executables.ts";
import { Folder } from "../../support/folder.ts";
import { REPOSITORY } from "../../support/sandbox.ts";

const folder = new Folder();
const NEVER = new AbortController().signal;
let registry: ProcessRegistry;

beforeEach(() => {
	registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
		throw error;
	});
});
afterEach(() => registry.close());

const reader = () => new QuotaReader(new JsonStore(folder.at("quota.json")), () => registry);
const configOf = (bin: string): Config =>
	loadConfig({
		PI_CODING_AGENT_DIR: folder.path,
		PATH: process.env.PATH,
		HOME: folder.path,
		AGY_BIN: bin,
		AGY_SIM_HOME: folder.at("sim"),
	});
const binaryOf = (path: string, missingFlags: readonly string[] = []) =>
	({ path, version: "1.2.17", missingFlags }) as unknown as Binary;

function ask(bin: string, missingFlags: readonly string[] = []): Promise<Quota> {
	return reader().ask(binaryOf(bin, missingFlags), configOf(bin), NEVER);
}

/** An agy that notes its arguments and prints `stdout`. */
function agy(stdout: string, more = ""): string {
	writeFileSync(folder.at("answer"), stdout);
	return writeScript(folder.at("agy"), `echo "$@" > ${folder.at("argv")}; cat ${folder.at("answer")}; ${more}`);
}

const DATA = {
	groups: [
		{
			name: "Gemini",
			buckets: [
				{ id: "gemini-weekly", remaining_fraction: 0.75, reset_time: "2030-01-07T00:00:00Z", window: "weekly" },
				{ id: "gemini-5h", remaining_fraction: 0.5, reset_time: "2030-01-01T05:00:00Z", window: "5h" },
			],
		},
	],
};
const answer = (more: object) => JSON.stringify({ status: "SUCCESS", response: "", num_turns: 0, ...more });
const USAGE = answer({ command: { name: "usage", data: DATA } });

describe("asking agy", () => {
	test("is one /usage of the simulator, and is kept for the same agy", async () => {
		const bin = join(REPOSITORY, "tests", "agy-sim", "agy");
		const quota = await ask(bin);
		expect(quota.groups.map(({ name, buckets }) => [name, buckets.map(({ id }) => id)])).toStrictEqual([
			["Gemini", ["gemini-5h", "gemini-weekly"]],
			["Third-party", ["3p-5h", "3p-weekly"]],
		]);
		expect(await reader().kept(configOf(bin))).toStrictEqual(quota);
		expect(await reader().kept(configOf("/other/agy"))).toBeNull();
		expect(statSync(folder.at("quota.json")).mode & 0o777).toBe(0o600);
		const journal = readFileSync(folder.at("sim", "journal.ndjson"), "utf8");
		expect(journal).not.toContain('"kind":"stdin"');
	});

	test.each([
		[[], "--output-format json --print-timeout 30s -p /usage\n"],
		[["print-timeout"], "--output-format json -p /usage\n"],
	])("leaves out the flags that agy does not have: %j", async (missingFlags, argv) => {
		await ask(agy(USAGE), missingFlags);
		expect(readFileSync(folder.at("argv"), "utf8")).toBe(argv);
	});

	test.each([
		["behind a banner", `Fetching...\n${USAGE}\n`],
		["in an envelope", JSON.stringify({ event: "result", result: JSON.parse(USAGE) })],
		["over several lines", JSON.stringify(JSON.parse(USAGE), null, 2)],
	])("understands an answer %s", async (_name, stdout) => {
		expect((await ask(agy(stdout))).groups).toHaveLength(1);
	});

	test.each([
		[
			"is not signed in",
			answer({ status: "ERROR", error: "authentication failed or timed out" }),
			"",
			"is not signed in",
		],
		["says nothing", "", "exit 3", "nothing of use, and exited with code 3"],
		["says something else", "no such command\n", "", "it said: no such command"],
		["fails", answer({ status: "ERROR", error: "Error 500" }), "", "did not tell its quota: Error 500"],
		["answers as if it were a prompt", answer({ response: "You have plenty." }), "", "agy 1.1.9 or newer has /usage"],
		["has no groups", answer({ command: { name: "usage", data: {} } }), "", "without any quota"],
		["tells a secret", "token ya29.abcdef-1\n", "", "it said: token [oauth token]"],
	])("says what is wrong when agy %s", async (_name, stdout, more, message) => {
		await expect(ask(agy(stdout, more))).rejects.toThrow(message);
		expect(await reader().kept(configOf(folder.at("agy")))).toBeNull();
	});

	test("is refused for an agy without --output-format", async () => {
		await expect(ask(agy(USAGE), ["output-format"])).rejects.toMatchObject({ code: "agy-too-old" });
	});

	test("stops with the session", async () => {
		const bin = writeScript(folder.at("agy"), "exec sleep 100");
		const asked = reader().ask(binaryOf(bin), configOf(bin), AbortSignal.timeout(50));
		await expect(asked).rejects.toMatchObject({ code: "cancelled" });
	});
});

describe("an answer of another shape", () => {
	test.each([
		["nothing", null],
		["no groups", { groups: {} }],
		["groups of nothing", { groups: [null, 1, { buckets: "x" }, { buckets: [{}] }] }],
		["no number", { groups: [{ buckets: [{ id: "a", remaining_fraction: "much" }] }] }],
	])("has no quota: %s", (_name, data) => {
		expect(toGroups(data)).toStrictEqual([]);
	});

	test("is read as far as it goes", () => {
		expect(toGroups({ groups: [{ buckets: [{ id: "x-5h", remaining_fraction: "1.5" }] }] })).toStrictEqual([
			{ name: "group 1", buckets: [{ id: "x-5h", window: "5h", remaining: 1, resetsAtMs: null }] },
		]);
	});
});

test("bars show the shortest window first, and something left is never nothing", () => {
	const now = Date.parse("2030-01-01T02:41:00Z");
	const bucket = { id: "", resetsAtMs: null, window: "daily", remaining: 0.004 };
	const groups = [...toGroups(DATA), { name: "Other", buckets: [bucket, { ...bucket, remaining: 0 }] }];
	expect(renderQuota({ groups, fetchedAtMs: now - 60_000 }, now)).toBe(
		[
			"Gemini",
			"  5h      ██████████░░░░░░░░░░  50 % left, resets in 2 h 19 min",
			"  weekly  ███████████████░░░░░  75 % left, resets in 5 d 21 h",
			"Other",
			"  daily   █░░░░░░░░░░░░░░░░░░░   0 % left",
			"  daily   ░░░░░░░░░░░░░░░░░░░░   0 % left",
			"as of 1 min ago",
		].join("\n"),
	);
});
