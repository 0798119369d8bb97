/** From the start to the first turn: init in all its moments, and starts that fail. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SimulatedAgy } from "./simulated-agy.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

describe("init", () => {
	it("has exactly the captured fields, in order, at once", async () => {
		const run = agy.start({ more: ["--agent", "reviewer", "--json-schema", '{"type":"object"}'] });
		await until("init before any stdin", () => run.events.length === 1);
		const [init] = run.events;
		expect(Object.keys(init ?? {})).toEqual(["event", "conversation_id", "init"]);
		expect(Object.keys(init?.init ?? {})).toEqual(["agent", "cwd", "tools", "permission_mode", "json_schema"]);
		expect(init?.init?.tools).toHaveLength(57);
		expect(init?.init?.permission_mode).toBe("request-review");
	});

	it.each(["late-init", "init-after-input"])("%s: comes only after the first prompt", async (scenario) => {
		const run = agy.start({ scenario });
		run.send("hi");
		await run.finish();
		const order = scenario === "late-init" ? ["init", "step_update"] : ["step_update", "init"];
		expect(run.events.map(({ event }) => event).slice(0, 2)).toEqual(order);
	});

	it("comes late by default in 1.1.18", async () => {
		const run = agy.start({ scenario: "gated", version: "1.1.18" });
		run.send("hi");
		await agy.reached("first");
		await until("its first line", () => run.events.length > 0);
		expect(run.events[0]?.event).toBe("init");
	});

	it("never comes, and neither does anything else", async () => {
		const run = agy.start({ scenario: "never-init" });
		run.send("hi");
		await until("the prompt read", () => agy.journal("stdin").length === 1);
		run.child.kill("SIGKILL");
		await run.closed;
		expect(run.stdout).toBe("");
	});

	it("never comes although the session works", async () => {
		const run = agy.start({ scenario: "no-init" });
		await run.ask("hi");
		expect(run.events[0]?.event).toBe("step_update");
	});

	it("waits for a gate, and a signal ends the wait", async () => {
		const run = agy.start({ scenario: "slow-start" });
		await agy.reached("starting");
		expect(run.stdout).toBe("");
		agy.openGate("start");
		await run.ask("hi");

		const stopped = agy.start({ scenario: "slow-to-die", env: { AGY_SIM_HOME: join(agy.home, "other") } });
		await until("start", () => agy.read("other/reached/starting") !== undefined);
		stopped.child.kill("SIGINT");
		await until("SIGINT seen", () => (agy.read("other/journal.ndjson") ?? "").includes("SIGINT"));
		expect(stopped.child.exitCode).toBeNull();
		stopped.child.kill("SIGTERM");
		expect((await stopped.closed).code).toBe(0);
	});

	it("init-id-inside: the conversation id stands within the payload", async () => {
		const run = agy.start({ scenario: "init-id-inside" });
		await run.finish();
		expect(run.events[0]).not.toHaveProperty("conversation_id");
		expect(Object.keys(run.events[0]?.init ?? {})[0]).toBe("conversation_id");
	});

	it("may name another model than the one asked for", async () => {
		const run = agy.start({ scenario: "other-model", more: ["--model", "gemini-3.8-flash-low"] });
		await run.finish();
		expect(run.events[0]?.init?.model).toBe("gemini-3.1-pro-low");
	});
});

describe("starts that fail", () => {
	it.each([
		["login-required", "authentication failed or timed out"],
		["eligibility", "Eligibility check failed:"],
		["region", "FAILED_PRECONDITION (code 400)"],
	])("%s: a lone ERROR result, exit 1", async (scenario, error) => {
		const run = agy.start({ scenario });
		expect((await run.closed).code).toBe(1);
		expect(run.events).toHaveLength(1);
		expect(run.results[0]).toMatchObject({ conversation_id: "", status: "ERROR", num_turns: 0 });
		expect(String(run.results[0]?.error)).toContain(error);
	});

	it("login-timeout: the same after a long wait", async () => {
		const run = agy.start({ scenario: "login-timeout" });
		await agy.reached("starting");
		agy.openGate("start");
		expect((await run.closed).code).toBe(1);
		expect(run.results[0]?.error).toBe("authentication failed or timed out");
	});

	it("init-signed-out: init proves nothing", async () => {
		const idle = agy.start({ scenario: "init-signed-out" });
		expect((await idle.finish()).code).toBe(0);
		expect(idle.events.map(({ event }) => event)).toEqual(["init"]);

		const run = agy.start({ scenario: "init-signed-out" });
		run.send("hi");
		expect((await run.closed).code).toBe(1);
		expect(run.results[0]).toMatchObject({ status: "ERROR", error: "authentication failed or timed out" });
	});

	it.each([
		["login-text", 1, "Authentication required. Please visit the URL", ""],
		["html", 0, "<!DOCTYPE html>", ""],
		["exits-at-once", 1, "", "panic: no home\n"],
		["exits-silently", 1, "", ""],
	])("%s: exit %i without an event", async (scenario, code, stdout, stderr) => {
		const run = agy.start({ scenario });
		expect((await run.closed).code).toBe(code);
		expect(run.events).toEqual([]);
		expect(run.stdout.startsWith(stdout)).toBe(true);
		expect(run.stderr).toBe(stderr);
	});
});
