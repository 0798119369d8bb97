import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonStore } from "../../../src/main/json-store.ts";
import { ProcessRegistry } from "../../../src/main/processes/registry.ts";
import { type CommandSpec, runCommand } from "../../../src/main/processes/run.ts";
import { until, within } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";
import { isRunning, killQuietly } from "../../support/process-table.ts";

const folder = new Folder();
let registry: ProcessRegistry;

beforeEach(() => {
	registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
		throw error;
	});
});

afterEach(async () => {
	await registry.close();
	expect(registry.running).toStrictEqual([]);
});

function shell(script: string, more: Partial<CommandSpec> = {}) {
	return runCommand(
		{ bin: "/bin/sh", args: ["-c", script], env: {}, timeoutMs: 10_000, maxBytes: 100_000, ...more },
		registry,
	);
}

describe("a command that ends", () => {
	test("gives its output and its code", async () => {
		expect(await shell("echo out; echo é >&2; exit 3")).toStrictEqual({
			ok: true,
			code: 3,
			stdout: "out\n",
			stderr: "é\n",
		});
	});

	test("finds its stdin at the end", async () => {
		expect(await shell("cat; echo done")).toMatchObject({ ok: true, code: 0, stdout: "done\n" });
	});

	test("reads the text it is given, and then the end", async () => {
		expect(await shell("cat; echo done", { input: "é\n".repeat(30_000) })).toMatchObject({
			ok: true,
			code: 0,
			stdout: `${"é\n".repeat(30_000)}done\n`,
		});
	});

	test.each(["exec <&-; sleep 0.05", "head -c 1", ":"])("need not read the text it is given: %s", async (script) => {
		expect(await shell(script, { input: "x".repeat(1_000_000) })).toMatchObject({ ok: true, code: 0 });
	});

	test("sees the environment it is given and no other", async () => {
		const result = await shell("/usr/bin/env", { env: { AGY_X: "1" } });
		expect(result.ok && result.stdout.split("\n").filter((line) => !/^(PWD|SHLVL|_)=|^$/.test(line))).toStrictEqual([
			"AGY_X=1",
		]);
	});

	test("ended by a signal has no code", async () => {
		expect(await shell("kill -9 $$")).toMatchObject({ ok: true, code: null });
	});

	test("is recorded while it runs", async () => {
		const result = shell(`while [ ! -e ${folder.at("go")} ]; do sleep 0.02; done`);
		await until("the record", async () =>
			/"processes": \[\s*\{/.test(await readFile(folder.at("processes.json"), "utf8").catch(() => "")),
		);
		expect(registry.running).toHaveLength(1);
		await shell(`touch ${folder.at("go")}`);
		expect(await result).toMatchObject({ ok: true, code: 0 });
		expect(JSON.parse(await readFile(folder.at("processes.json"), "utf8")).processes).toStrictEqual([]);
	});
});

describe("a command that leaves something running, which holds its output open", () => {
	let left: number;
	afterEach(() => killQuietly(left));

	test.each([
		["in its group", "sleep 1000 &"],
		["in a group of its own", "setsid sleep 1000 &"],
	])("has answered all the same, and it goes on: %s", async (_name, start) => {
		const script = `${start} echo $! > ${folder.at("left")}; echo up; exit 3`;
		const result = await within("the result", shell(script));
		left = Number(await readFile(folder.at("left"), "utf8"));
		expect(result).toStrictEqual({ ok: true, code: 3, stdout: "up\n", stderr: "" });
		expect(isRunning(left)).toBe(true);
	});

	test("is not waited for when it is cancelled just then", async () => {
		const controller = new AbortController();
		const result = shell(`sleep 1000 & echo $! > ${folder.at("left")}; echo up`, { signal: controller.signal });
		await until("it has begun", () => readFile(folder.at("left"), "utf8").catch(() => ""));
		controller.abort();
		await within("the result", result);
		left = Number(await readFile(folder.at("left"), "utf8"));
	});
});

describe("a command that is cut short", () => {
	/** A script that notes the pid of a child of its own and then waits. */
	const waiting = () => `sleep 1000 & echo $! > ${folder.at("child")}; echo up; wait`;

	afterEach(async () => {
		const child = await readFile(folder.at("child"), "utf8").catch(() => "");
		if (child !== "") killQuietly(Number(child));
	});

	async function expectGone(): Promise<void> {
		const child = Number(await readFile(folder.at("child"), "utf8"));
		await until("its child is gone too", () => !isRunning(child));
	}

	test("by its time", async () => {
		const result = await within("the result", shell(waiting(), { timeoutMs: 300 }));
		expect(result).toMatchObject({ ok: false, reason: "timeout", error: { message: "no answer within 0.3 s" } });
		await expectGone();
	});

	test("by what it prints", async () => {
		const result = await within("the result", shell("echo up; exec yes", { maxBytes: 10_000 }));
		expect(result).toMatchObject({ ok: false, reason: "too-much-output" });
	});

	test("by both outputs together", async () => {
		const script = "printf 123456; printf 123456 >&2; sleep 1000";
		const result = await within("the result", shell(script, { maxBytes: 10 }));
		expect(result).toMatchObject({ ok: false, reason: "too-much-output" });
	});

	test("by its caller, told to end first", async () => {
		const script = `trap 'echo bye; echo bye >&2; echo told > ${folder.at("told")}; exit 0' TERM; ${waiting()}`;
		const controller = new AbortController();
		const result = shell(script, { signal: controller.signal, cut: "stop" });
		await until("it runs", () => readFile(folder.at("child"), "utf8").catch(() => ""));
		controller.abort();
		expect(await within("the result", result)).toMatchObject({ ok: false, reason: "cancelled" });
		expect(await readFile(folder.at("told"), "utf8")).toBe("told\n");
		await expectGone();
	});

	test("by its caller, and killed where it goes on", async () => {
		const script = `trap '' TERM; sleep 1000 & echo $$ > ${folder.at("child")}; wait`;
		const controller = new AbortController();
		const result = shell(script, { signal: controller.signal, cut: "stop" });
		await until("it runs", () => readFile(folder.at("child"), "utf8").catch(() => ""));
		controller.abort();
		expect(await within("the result", result)).toMatchObject({ ok: false, reason: "cancelled" });
		expect(isRunning(Number(await readFile(folder.at("child"), "utf8")))).toBe(false);
	});

	test("by its caller", async () => {
		const controller = new AbortController();
		const result = shell(waiting(), { signal: controller.signal });
		await until("it runs", () => readFile(folder.at("child"), "utf8").catch(() => ""));
		controller.abort();
		expect(await within("the result", result)).toMatchObject({ ok: false, reason: "cancelled" });
		await expectGone();
	});

	test.each(["kill", "stop"] as const)("before it began: %s", async (cut) => {
		const result = shell("sleep 1000", { signal: AbortSignal.abort(), cut });
		expect(await within("the result", result)).toMatchObject({ ok: false, reason: "cancelled" });
	});

	test("output up to the limit is no reason", async () => {
		expect(await shell("printf 1234567890", { maxBytes: 10 })).toMatchObject({ ok: true, stdout: "1234567890" });
	});
});

test("a program that cannot be started is an answer, not a throw", async () => {
	for (const more of [{}, { input: "text" }]) {
		expect(await shell("", { bin: folder.at("missing"), ...more })).toMatchObject({
			ok: false,
			reason: "spawn-failed",
			error: { code: "ENOENT" },
		});
	}
});
