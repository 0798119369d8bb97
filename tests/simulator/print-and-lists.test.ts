/** Runs without a stream: `-p` in three formats, slash commands, structured answers, and the lists. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SimulatedAgy, type StartOptions } from "./simulated-agy.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

async function run(args: readonly string[], options: StartOptions = {}) {
	const started = agy.start({ ...options, args });
	const { code } = await started.closed;
	return { code, stdout: started.stdout, stderr: started.stderr, events: started.events };
}

describe("-p", () => {
	it.each([[["-p", "hi"]], [["--print=hi"]], [["--prompt", "hi", "--output-format", "text"]]])(
		"%j prints the answer",
		async (args) => {
			expect(await run(args)).toMatchObject({ code: 0, stdout: "hi\n", stderr: "" });
		},
	);

	it("json is one bare result", async () => {
		const { stdout } = await run(["-p", "hi", "--output-format", "json"]);
		expect(stdout.trim().split("\n")).toHaveLength(1);
		expect(JSON.parse(stdout)).toMatchObject({ status: "SUCCESS", response: "hi", num_turns: 1 });
		expect(JSON.parse(stdout)).not.toHaveProperty("event");
	});

	it("stream-json is init, steps and result", async () => {
		const { events } = await run(["-p", "hi", "--output-format", "stream-json"]);
		expect([events[0]?.event, events.at(-1)?.event]).toEqual(["init", "result"]);
	});

	it("reports a start that fails on stderr, and in json as a result", async () => {
		const text = await run(["-p", "hi", "--model", "nope"]);
		expect(text).toMatchObject({ code: 1, stdout: "" });
		expect(text.stderr).toMatch(/^error: invalid model selection/);
		const json = await run(["-p", "hi", "--output-format", "json"], { scenario: "login-required" });
		expect(JSON.parse(json.stdout)).toMatchObject({ conversation_id: "", status: "ERROR" });
		expect(json.code).toBe(1);
	});

	it("exits 3 when the API fails", async () => {
		expect((await run(["-p", "hi"], { scenario: "quota" })).code).toBe(3);
	});

	it("without a prompt there is no terminal to talk on", async () => {
		expect((await run([])).code).toBe(1);
	});
});

describe("slash commands", () => {
	it("/usage is answered without a turn", async () => {
		const { stdout } = await run(["-p", "/usage", "--output-format", "json"]);
		const result = JSON.parse(stdout);
		expect(result).toMatchObject({ status: "SUCCESS", response: "", num_turns: 0, command: { name: "usage" } });
		const buckets = result.command.data.groups.flatMap((group: { buckets: { id: string }[] }) => group.buckets);
		expect(buckets.map(({ id }: { id: string }) => id)).toEqual(["gemini-weekly", "gemini-5h", "3p-weekly", "3p-5h"]);
	});

	it("/usage is a prompt when expansion is disabled", async () => {
		expect((await run(["-p", "/usage", "--disable-slash-commands"])).stdout).toBe("/usage\n");
	});
});

describe("--json-schema", () => {
	const schema = '{"type":"object","properties":{"ok":{"type":"boolean"},"name":{"type":"string"}}}';

	it("echoes the schema and gives an answer that fits", async () => {
		const { stdout } = await run(["-p", "hi", "--output-format", "json", "--json-schema", schema]);
		expect(JSON.parse(stdout)).toMatchObject({
			structured_output: { ok: true, name: "simulated" },
			json_schema: JSON.parse(schema),
		});
	});

	it("takes the answer of the scenario, or the JSON in the text", async () => {
		const scripted = await run(["-p", "hi", "--output-format", "json", "--json-schema", schema], {
			scenario: "structured",
		});
		expect(JSON.parse(scripted.stdout).structured_output).toEqual({ ok: true });
		const echoed = await run(["-p", '{"ok":false}', "--output-format", "json", "--json-schema", schema]);
		expect(JSON.parse(echoed.stdout).structured_output).toEqual({ ok: false });
	});

	it("wants an object at the root since 1.2.14", async () => {
		expect((await run(["-p", "hi", "--json-schema", "string"])).code).toBe(1);
		expect((await run(["-p", "hi", "--json-schema", "string"], { version: "1.2.13" })).code).toBe(0);
	});
});

describe("models", () => {
	const rows = (stdout: string) => stdout.split("\n").filter((line) => /^[A-Za-z0-9._/-]+\t/.test(line));

	it("prints a banner and 14 rows of id, tab and label", async () => {
		const { code, stdout } = await run(["models"]);
		expect(code).toBe(0);
		expect(stdout.startsWith("Fetching available models...\n")).toBe(true);
		expect(rows(stdout)).toHaveLength(14);
	});

	it("models-stderr-banner: the banner stands on stderr", async () => {
		const { stdout, stderr } = await run(["models"], { scenario: "models-stderr-banner" });
		expect(stderr).toBe("Fetching available models...\n");
		expect(rows(stdout)).toHaveLength(14);
	});

	it("models-signed-out: no rows", async () => {
		const { stdout } = await run(["models"], { scenario: "models-signed-out" });
		expect(rows(stdout)).toEqual([]);
		expect(stdout).toMatch(/sign in/);
	});

	it("models-flaky: fails once", async () => {
		expect((await run(["models"], { scenario: "models-flaky" })).code).toBe(1);
		const second = await run(["models"], { scenario: "models-flaky" });
		expect(second.code).toBe(0);
		expect(rows(second.stdout)).toHaveLength(14);
	});

	it("models-noise: other lines among the rows", async () => {
		const { stdout } = await run(["models"], { scenario: "models-noise" });
		expect(rows(stdout)).toEqual([
			"custom/model-x\tCustom X\tpreview",
			"vertex_ai/gemini-3.8-flash-low\tGemini 3.8 Flash (Low)",
		]);
	});

	it("models-slow: waits for its gate", async () => {
		const started = agy.start({ args: ["models"], scenario: "models-slow" });
		await until("start", () => agy.journal("start").length === 1);
		expect(started.child.exitCode).toBeNull();
		agy.openGate("models");
		expect((await started.closed).code).toBe(0);
	});

	it("models-open-stdin: hangs until stdin is closed, before 1.1.23", async () => {
		const started = agy.start({ args: ["models"], scenario: "models-open-stdin" });
		await until("start", () => agy.journal("start").length === 1);
		expect(started.stdout).toBe("");
		expect((await started.finish()).code).toBe(0);
		expect(rows(started.stdout)).toHaveLength(14);
	});
});

describe("other lists", () => {
	it("agents: nothing, or the saved ones", async () => {
		expect((await run(["agents"])).stdout).toBe("");
		agy.write("config/agents/reviewer.md", "---\nname: reviewer\n---\n");
		expect((await run(["agent"])).stdout).toBe("reviewer\n");
	});

	it("mcp list: the servers of the configuration, comments and all", async () => {
		agy.write(
			"config/mcp_config.json",
			'{"mcpServers": { // ours\n "a": {"serverUrl": "http://127.0.0.1:1/mcp"},\n "b": {"command": "x", "disabled": true}, }}',
		);
		expect((await run(["mcp", "list"])).stdout).toBe("a\tenabled\thttp://127.0.0.1:1/mcp\nb\tdisabled\tx\n");
	});

	it("an unknown command is refused", async () => {
		expect((await run(["dance"])).code).toBe(2);
	});
});
