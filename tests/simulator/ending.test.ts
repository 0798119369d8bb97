/** How a process ends: end of stdin, signals, kills, crashes, and processes that do not end. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SimulatedAgy } from "./simulated-agy.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

describe("end of stdin", () => {
	it("before any line: init and exit 0, with an empty conversation left", async () => {
		const run = agy.start();
		expect(await run.finish()).toEqual({ code: 0, signal: null });
		expect(run.events.map((event) => event.event)).toEqual(["init"]);
		expect(agy.read(`antigravity-cli/conversations/${run.events[0]?.conversation_id}.json`)).toBeDefined();
	});

	it("when idle: exit 0 and no more lines", async () => {
		const run = agy.start();
		await run.ask("hi");
		const lineCount = run.lines.length;
		expect((await run.finish()).code).toBe(0);
		expect(run.lines).toHaveLength(lineCount);
	});

	it("within a turn: the turn finishes first", async () => {
		const run = agy.start({ scenario: "gated" });
		run.send("go");
		await agy.reached("first");
		run.endInput();
		await until("the end of stdin seen", () => agy.journal("stdin-eof").length === 1);
		agy.openGate("go");
		expect((await run.closed).code).toBe(0);
		expect(run.results[0]).toMatchObject({ status: "SUCCESS", response: "one two three four five.\n" });
	});

	it("does not end a process that hangs at exit", async () => {
		const run = agy.start({ scenario: "eof-hang" });
		await run.ask("hi");
		run.endInput();
		await until("the end of stdin seen", () => agy.journal("stdin-eof").length === 1);
		expect(run.child.exitCode).toBeNull();
		run.child.kill("SIGTERM");
		expect((await run.closed).code).toBe(0);
	});
});

describe("signals", () => {
	it.each(["SIGINT", "SIGTERM"] as const)("%s when idle: exit 0 without a result", async (name) => {
		const run = agy.start();
		await run.ask("hi");
		run.child.kill(name);
		expect(await run.closed).toEqual({ code: 0, signal: null });
		expect(run.results).toHaveLength(1);
		expect(agy.journal("signal")).toMatchObject([{ name }]);
	});

	it("SIGINT within a turn: ERROR interrupted, exit 1, and the conversation can be resumed", async () => {
		const run = agy.start({ scenario: "slow" });
		run.send("a long story");
		await agy.reached("speaking");
		run.child.kill("SIGINT");
		expect(await run.closed).toEqual({ code: 1, signal: null });
		expect(run.results[0]).toMatchObject({ status: "ERROR", response: "", error: "interrupted", num_turns: 1 });
		expect(run.results[0]?.usage.total_tokens).toBe(0);
		expect(run.stderr).toContain("error: interrupted");

		const resumed = agy.start({ more: ["--conversation", run.results[0]?.conversation_id ?? ""] });
		expect((await resumed.ask("again")).response).toBe("again");
	});

	it.each([
		["1.2.9", 0],
		["1.2.11", 12_060],
	])("the usage of an interrupted turn in %s: %i tokens", async (version, tokens) => {
		const scenario = { turns: [{ steps: [{ kind: "think" }, { kind: "hang", marker: "thought" }] }] };
		const run = agy.start({ scenario, version });
		run.send("hi");
		await agy.reached("thought");
		run.child.kill("SIGINT");
		await run.closed;
		expect(run.results[0]?.usage.total_tokens).toBe(tokens);
	});

	it("hang: nothing more comes, but SIGINT works", async () => {
		const run = agy.start({ scenario: "hang" });
		run.send("hi");
		await agy.reached("hanging");
		expect(run.results).toEqual([]);
		run.child.kill("SIGINT");
		expect((await run.closed).code).toBe(1);
		expect(run.text).toBe("This answer will not");
	});

	it("SIGTERM within a turn can end the process without a result", async () => {
		const run = agy.start({ scenario: "silent-term" });
		run.send("hi");
		await agy.reached("hanging");
		run.child.kill("SIGTERM");
		expect(await run.closed).toEqual({ code: null, signal: "SIGTERM" });
		expect(run.results).toEqual([]);
		expect(agy.journal("exit")).toMatchObject([{ code: null, signal: "SIGTERM" }]);
	});

	it("a kill leaves complete lines, a journal and a conversation to resume", async () => {
		const run = agy.start({ scenario: "gated" });
		run.send("remember me");
		await agy.reached("first");
		run.child.kill("SIGKILL");
		expect((await run.closed).signal).toBe("SIGKILL");
		expect(run.results).toEqual([]);
		expect(agy.journal().map((entry) => entry.kind)).toEqual(["start", "stdin", "reached"]);

		const lastIndex = run.steps.at(-1)?.step_index ?? 0;
		const resumed = agy.start({ more: ["--conversation", run.steps[0]?.conversation_id ?? ""] });
		await resumed.ask("back");
		expect(resumed.steps[0]?.step_index).toBe(lastIndex + 1);
	});

	it("a process deaf to signals needs SIGKILL", async () => {
		const run = agy.start({ scenario: "ignores-term" });
		run.send("hi");
		await agy.reached("hanging");
		for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
			run.child.kill(name);
			await until(`${name} journaled`, () => agy.journal("signal").some((entry) => entry.name === name));
		}
		expect(run.child.exitCode).toBeNull();
		run.child.kill("SIGKILL");
		expect((await run.closed).signal).toBe("SIGKILL");
	});
});

describe("crashes", () => {
	it.each([
		["crash", { code: 1, signal: null }],
		["crash-signal", { code: null, signal: "SIGSEGV" }],
		["crash-after-tool", { code: 1, signal: null }],
		["crash-silent", { code: 1, signal: null }],
		["no-result", { code: 0, signal: null }],
		["cut-line", { code: 0, signal: null }],
	])("%s: no result, and the resumed conversation answers", async (scenario, exit) => {
		const run = agy.start({ scenario });
		run.send("hi");
		expect(await run.closed).toEqual(exit);
		expect(run.results).toEqual([]);
		const endsWithinLine = scenario === "crash" || scenario === "cut-line";
		expect(run.stdout.endsWith("\n")).toBe(!endsWithinLine);

		const resumed = agy.start({ scenario, more: ["--conversation", run.events[0]?.conversation_id ?? ""] });
		expect((await resumed.ask("again")).response).toBe("Back again.\n");
	});

	it.each(["grandchild", "grandchild-crash"])(
		"%s: stdout stays open after the exit until the gate opens",
		async (scenario) => {
			const run = agy.start({ scenario });
			run.send("hi");
			run.endInput();
			expect((await run.exited).code).toBe(scenario === "grandchild" ? 0 : 1);
			expect(run.child.stdout.readableEnded).toBe(false);
			expect(agy.journal("grandchild")).toHaveLength(1);
			agy.openGate("release");
			await run.closed;
			expect(run.child.stdout.readableEnded).toBe(true);
		},
	);
});

describe("stdin nobody reads", () => {
	it("fills up when it is ignored", async () => {
		const run = agy.start({ scenario: "stdin-ignored" });
		await until("init", () => run.events.length === 1);
		expect(run.child.stdin.write("x".repeat(4 * 1024 * 1024))).toBe(false);
		expect(agy.journal("stdin")).toEqual([]);
		run.child.kill("SIGTERM");
		expect((await run.exited).code).toBe(0);
	});

	it("fails with EPIPE when it is closed", async () => {
		const run = agy.start({ scenario: "stdin-closed" });
		const failure = new Promise<NodeJS.ErrnoException>((resolve) => run.child.stdin.on("error", resolve));
		await until("init", () => run.events.length === 1);
		run.send("hi");
		expect((await failure).code).toBe("EPIPE");
	});
});
