/** How turns end: statuses, denials, API failures and print timeouts, with exit codes and stderr. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SimulatedAgy, type StartOptions } from "./simulated-agy.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

/** One prompt, then the end of stdin. */
async function play(scenario: string | object, options: StartOptions = {}) {
	const run = agy.start({ scenario, ...options });
	run.send("hi");
	const { code } = await run.finish();
	return { run, code, result: run.results[0] };
}

describe("statuses", () => {
	it.each([
		["status-ok", "OK", "Done.\n"],
		["status-canceled", "CANCELED", "Done.\n"],
		["status-failure", "FAILURE", "Done.\n"],
		["status-unknown", "BEWILDERED", "Done.\n"],
		["empty-success", "SUCCESS", ""],
		["silent-model", "SUCCESS", ""],
		["structured", "SUCCESS", '{"ok":true}'],
		["near-context-limit", "SUCCESS", "Long.\n"],
	])("%s: %s", async (scenario, status, response) => {
		const { code, result } = await play(scenario);
		expect(result).toMatchObject({ status, response });
		expect(code).toBe(0);
	});

	it("error-object, empty-success and turn-usage in their details", async () => {
		expect((await play("error-object")).result?.error).toEqual({ type: "X", message: "object failure" });
		expect((await play("empty-success")).result?.usage.total_tokens).toBe(0);
		const run = agy.start({ scenario: "turn-usage" });
		await run.ask("one");
		expect((await run.ask("two")).usage.input_tokens).toBe(900);
	});

	it("near-context-limit: 990,000 tokens read", async () => {
		const { result } = await play("near-context-limit");
		expect(result?.usage).toMatchObject({ input_tokens: 190_000, cache_read_tokens: 800_000 });
	});

	it("parked: an answer in the transcript and no result", async () => {
		const run = agy.start({ scenario: "parked" });
		run.send("hi");
		await agy.reached("parked");
		expect(run.results).toEqual([]);
		await until("init", () => run.events.length > 0);
		const id = run.events[0]?.conversation_id;
		expect(agy.read(`antigravity-cli/brain/${id}/.system_generated/logs/transcript.jsonl`)).toContain(
			"The parked answer.",
		);
	});
});

describe("denials", () => {
	it("denied: ERROR step, empty SUCCESS, denied_actions, note on stderr, exit 0", async () => {
		const { run, code, result } = await play("denied");
		expect(result).toMatchObject({
			status: "SUCCESS",
			response: "",
			denied_actions: [{ action: "command", display_name: "RunCommand" }],
		});
		const step = run.steps.find((step) => step.step_type === "tool");
		expect(step?.state).toBe("ERROR");
		expect(step?.tool_info?.error?.message).toMatch(
			/^permission check failed for command "echo probe": user denied permission to run command:\necho probe\n/,
		);
		expect(run.stderr).toMatch(/^jetski: no output produced — a tool required the "command" permission/);
		expect(code).toBe(0);
	});

	it.each([
		["denied-done", undefined, "SUCCESS", true],
		["denied", "1.2.9", "SUCCESS", true],
		["denied-canceled", undefined, "CANCELED", false],
		["denied", "1.1.22", "CANCELED", false],
	])("%s (version %s): shows as DONE, result %s", async (scenario, version, status, isListed) => {
		const { run, result } = await play(scenario, version === undefined ? {} : { version });
		expect(run.steps.find((step) => step.step_type === "tool")).toMatchObject({ state: "DONE" });
		expect(result?.status).toBe(status);
		expect(result?.denied_actions !== undefined).toBe(isListed);
	});

	it("denied-goes-on: text and denied_actions together", async () => {
		const { run, result } = await play("denied-goes-on");
		expect(result).toMatchObject({ response: "I was not allowed to.\n", denied_actions: [{ action: "command" }] });
		expect(run.stderr).toBe("");
	});

	it("a denied run with a schema has no structured_output", async () => {
		const { result } = await play("denied", { more: ["--json-schema", '{"type":"object"}'] });
		expect(result).not.toHaveProperty("structured_output");
		expect(result?.json_schema).toEqual({ type: "object" });
	});
});

describe("API failures", () => {
	it("quota: five error_message steps, ERROR, AGY_ERROR, exit 3", async () => {
		const { run, code, result } = await play("quota");
		expect(run.steps.filter((step) => step.step_type === "error_message")).toHaveLength(5);
		expect(result?.status).toBe("ERROR");
		expect(result?.error).toMatch(/RESOURCE_EXHAUSTED \(code 429\).*Resets in 2h18m58s/);
		expect(result?.usage.total_tokens).toBe(0);
		const line = run.stderr.split("\n").find((text) => text.startsWith("AGY_ERROR: ")) ?? "";
		expect(JSON.parse(line.slice("AGY_ERROR: ".length)).short_error).toContain("RESOURCE_EXHAUSTED");
		expect(code).toBe(3);
	});

	it.each([
		["overloaded", "UNAVAILABLE (code 503)"],
		["server-error", "Error 500, Message: An internal error has occurred."],
	])("%s", async (scenario, error) => {
		const { code, result } = await play(scenario);
		expect(String(result?.error)).toContain(error);
		expect(code).toBe(3);
	});

	it.each([
		["1.2.17", 3],
		["1.2.9", 0],
	])("partial-then-error in %s: text kept, exit %i", async (version, code) => {
		const played = await play("partial-then-error", { version });
		expect(played.result).toMatchObject({ status: "ERROR", response: "The first half is" });
		expect(played.code).toBe(code);
	});

	it("quota-goes-on: the process answers the next turn", async () => {
		const run = agy.start({ scenario: "quota-goes-on" });
		expect((await run.ask("one")).status).toBe("ERROR");
		expect((await run.ask("two")).status).toBe("SUCCESS");
		expect(run.stderr).not.toContain("AGY_ERROR");
	});

	it("before 1.2.6 there is neither AGY_ERROR nor exit 3", async () => {
		const { run, code } = await play("quota", { version: "1.2.2" });
		expect(run.stderr).not.toContain("AGY_ERROR");
		expect(code).toBe(0);
	});

	it("quota-until-timeout: ERROR with the API text, exit 0", async () => {
		const { run, code, result } = await play("quota-until-timeout", { more: ["--print-timeout", "300ms"] });
		expect(run.steps.filter((step) => step.step_type === "error_message")).toHaveLength(7);
		expect(result?.status).toBe("ERROR");
		expect(String(result?.error)).toContain("RESOURCE_EXHAUSTED");
		expect(code).toBe(0);
	});
});

describe("print timeout", () => {
	it("since 1.1.28: partial text as SUCCESS, zero usage, note on stderr, exit 0", async () => {
		const { run, code, result } = await play("print-timeout", { more: ["--print-timeout", "300ms"] });
		expect(result).toMatchObject({ status: "SUCCESS", response: "The first half is" });
		expect(result?.usage.total_tokens).toBe(0);
		expect(run.stderr).toBe("[agy] print timeout after 300ms with turn in progress; returning partial output\n");
		expect(code).toBe(0);
	});

	it("before: ERROR", async () => {
		const { code, result } = await play("print-timeout-old", { more: ["--print-timeout=0.3s"] });
		expect(result).toMatchObject({ status: "ERROR", response: "", error: "timeout waiting for response" });
		expect(code).toBe(0);
	});

	it("0 is no limit", async () => {
		const run = agy.start({ scenario: "print-timeout", more: ["--print-timeout", "0"] });
		run.send("hi");
		await agy.reached("half");
		await until("the half answer", () => run.text === "The first half is");
		expect(run.results).toEqual([]);
	});
});
