/**
 * What the scenarios of answers and tools put on the wire, each as its line in the README says. Those that are one turn and
 * nothing else share a process.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Medley, type Played } from "./medley.ts";
import { SimulatedAgy, type StartOptions } from "./simulated-agy.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { WireStep } from "./wire-event.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

const SHARED = [
	...[
		"done-only",
		"newline-done",
		"bare-done",
		"thinking-only",
		"graphemes",
		"final-only",
		"final-differs",
		"final-longer",
	],
	...[
		"transcript-only",
		"cumulative-text",
		"echo",
		"future",
		"ask-question",
		"subagent",
		"subagent-flat",
		"repeated-active",
	],
	...["no-active", "tool-open", "tool-error", "tool-rejected", "parallel-tools", "no-output", "tools", "artifact-path"],
];
let shared: SimulatedAgy;
let medley: Medley;
beforeAll(async () => {
	shared = new SimulatedAgy();
	medley = await Medley.start(shared, SHARED);
});
afterAll(() => shared.close());

/** One turn: with options, or of a scenario that is more than a turn, in a process of its own. */
async function play(scenario: string, options?: StartOptions): Promise<Played> {
	if (options === undefined && SHARED.includes(scenario)) return medley.play(scenario);
	const run = agy.start({ scenario, more: ["--add-dir", agy.workspace], ...options });
	const result = await run.ask("hi");
	return { bytes: run.bytes, lines: run.lines, steps: run.steps, text: run.text, result };
}

/** `tool run_command DONE` or `agent_response ACTIVE`, without the user_input in front. */
function outline(steps: readonly WireStep[]): readonly string[] {
	return steps.slice(1).map((step) => `${step.tool_name ?? step.step_type} ${step.state}`);
}

describe("a tool that takes a while", () => {
	it("prints its output so far, and ends when the gate opens", async () => {
		const tool = { name: "run_command", permission: "allowed", parameters: { CommandLine: "make" } };
		const live = { ...tool, progress: ["a", "ab"], marker: "printed", gate: "end", output: "abc" };
		const run = agy.start({ scenario: { turns: [{ steps: [{ kind: "tool", ...live }] }] } });
		const asked = run.ask("hi");
		await agy.reached("printed");
		expect(run.steps.some((step) => step.state === "DONE" && step.step_type === "tool")).toBe(false);
		agy.openGate("end");
		await asked;
		const tools = run.steps.filter((step) => step.step_type === "tool");
		expect(tools.map((step) => [step.state, step.tool_info?.output])).toEqual([
			["ACTIVE", undefined],
			["ACTIVE", "a"],
			["ACTIVE", "ab"],
			["DONE", "abc"],
		]);
	});
});

describe("answers", () => {
	it("done-only", async () => {
		expect(outline((await play("done-only")).steps)).toEqual(["agent_response DONE"]);
	});

	it("newline-done and bare-done", async () => {
		const newline = await play("newline-done");
		expect(newline.steps.at(-1)).toMatchObject({ state: "DONE", text_delta: "\n" });
		expect(newline.result.response).toBe("All of it came before.\n");
		const bare = await play("bare-done");
		expect(bare.steps.at(-1)?.state).toBe("DONE");
		expect(bare.steps.at(-1)).not.toHaveProperty("text_delta");
	});

	it("thinking-only: usage, no text", async () => {
		const { steps } = await play("thinking-only");
		expect(steps[1]).not.toHaveProperty("text_delta");
		expect(steps[1]?.usage?.thinking_tokens).toBe(60);
	});

	it("graphemes: one code point a delta, nothing lost", async () => {
		const { steps, text, result } = await play("graphemes");
		const deltas = steps.map((step) => step.text_delta ?? "").filter((delta) => delta !== "");
		expect(deltas.every((delta) => Array.from(delta).length === 1)).toBe(true);
		expect(text).toBe(result.response);
		expect(result.response).toContain("\u{1f469}\u200d\u{1f469}\u200d\u{1f467}");
	});

	it("all frames of one answer share an index", async () => {
		const { steps } = await play("echo");
		expect(new Set(steps.slice(1).map((step) => step.step_index)).size).toBe(1);
	});

	it.each([
		["final-only", "", "Only here.\n"],
		["final-differs", "What was streamed.\n", "What was meant.\n"],
		["final-longer", "The beginning", "The beginning and the end.\n"],
		["last-step-response", "Before the tool.\nAfter the tool.\n", "After the tool.\n"],
		["transcript-only", "", ""],
		["response-text", "", "Found in another field.\n"],
	])("%s", async (scenario, streamed, response) => {
		const { text, result } = await play(scenario);
		expect(text).toBe(streamed);
		expect(result.response).toBe(response);
	});

	it("cumulative-text: each frame starts with the one before", async () => {
		const { steps } = await play("cumulative-text");
		const texts = steps.slice(1).map((step) => step.text_delta ?? "");
		for (const [position, text] of texts.entries()) expect(text.startsWith(texts[position - 1] ?? "")).toBe(true);
		expect(texts.at(-1)).toBe("Again and again from the start.\n");
	});

	it("turns: another answer each turn, the last one for ever", async () => {
		const run = agy.start({ scenario: "turns" });
		for (const answer of ["First.\n", "Second.\n", "Later.\n", "Later.\n"]) {
			expect((await run.ask("next")).response).toBe(answer);
		}
	});
});

describe("other steps", () => {
	it("legacy-steps, with the checkpoint's usage counted", async () => {
		const { lines, steps, result } = await play("legacy-steps");
		expect(outline(steps).slice(0, 3)).toEqual(["unknown DONE", "checkpoint DONE", "title DONE"]);
		expect(lines.join("\n")).toContain('"thinking_delta":"Let m"');
		expect(result.usage.input_tokens).toBe(400 + 900);
	});

	it("checkpoint comes by itself up to 1.1.19", async () => {
		expect(outline((await play("done-only", { version: "1.1.19" })).steps)).toContain("checkpoint DONE");
		expect(outline((await play("done-only", { version: "1.1.20" })).steps)).not.toContain("checkpoint DONE");
	});

	it("future: unknown step, state and events", async () => {
		const { lines, steps } = await play("future");
		expect(outline(steps)).toContain("hologram SHIMMERING");
		expect(lines).toEqual(
			expect.arrayContaining(['{"event":"weather","weather":{"sky":"clear"}}', '{"event":"no_payload"}']),
		);
	});

	it("system-messages: one in every turn", async () => {
		const run = agy.start({ scenario: "system-messages" });
		for (const prompt of ["hi", "again"]) await run.ask(prompt);
		expect(run.steps.filter((step) => step.step_type === "system_message")).toHaveLength(2);
	});

	it("ask-question: an unknown step and an answer", async () => {
		expect(outline((await play("ask-question")).steps)[0]).toBe("unknown DONE");
	});

	it("subagent: id only on DONE, a system_message later", async () => {
		const { steps } = await play("subagent");
		const [active, done] = steps.filter((step) => step.step_type === "subagent");
		expect(active?.subagent_info?.subagents[0]).not.toHaveProperty("conversation_id");
		expect(done?.subagent_info?.subagents[0]?.conversation_id).toMatch(/^[0-9a-f-]{36}$/);
		expect(done?.subagent_info?.subagents[0]?.conversation_id).not.toBe(done?.conversation_id);
		expect(outline(steps)).toContain("system_message DONE");

		const flat = await play("subagent-flat");
		expect(flat.steps.find((step) => step.subagent_info?.conversation_id !== undefined)).toBeDefined();
	});
});

describe("tools", () => {
	it.each([
		[
			"repeated-active",
			["run_command ACTIVE", "run_command ACTIVE", "run_command ACTIVE", "run_command DONE", "agent_response DONE"],
		],
		["no-active", ["run_command DONE", "agent_response DONE"]],
		["tool-open", ["run_command ACTIVE"]],
		["tool-error", ["read_url_content ACTIVE", "read_url_content ERROR", "error_message DONE"]],
		["tool-rejected", ["error_message DONE"]],
		[
			"parallel-tools",
			[
				"view_file ACTIVE",
				"replace_file_content ACTIVE",
				"run_command ACTIVE",
				"run_command DONE",
				"view_file DONE",
				"replace_file_content DONE",
				"agent_response DONE",
			],
		],
	])("%s", async (scenario, expected) => {
		const { steps, result } = await play(scenario);
		expect(outline(steps).slice(0, expected.length)).toEqual(expected);
		expect(result.status).toBe("SUCCESS");
	});

	it("tool-open and tool-rejected have no end and no step of the tool", async () => {
		expect(outline((await play("tool-open")).steps)).not.toContain("run_command DONE");
		expect((await play("tool-rejected")).steps.some((step) => step.step_type === "tool")).toBe(false);
	});

	it("tool-error: the run is an ERROR with the answer's text up to 1.1.19", async () => {
		const { result } = await play("tool-error", { version: "1.1.19" });
		expect(result).toMatchObject({
			status: "ERROR",
			response: "The page could not be fetched.\n",
			error: "Failed to fetch document content at http://127.0.0.1:1/",
		});
	});

	it("no-output: the field is absent", async () => {
		const { steps } = await play("no-output");
		for (const step of steps.filter((step) => step.step_type === "tool")) {
			expect(step.tool_info).not.toHaveProperty("output");
		}
	});

	it("tools: command output with CR LF, and text on both sides in the response", async () => {
		const { steps, result } = await play("tools");
		const command = steps.find((step) => step.tool_name === "run_command" && step.state === "DONE");
		expect(command?.tool_info?.output).toBe("4 passed\r\n");
		expect(result.response).toBe("I will fix the sign and run the tests.\nAll four tests pass now.\n");
	});

	it.each([
		["output-beside", "1.2.17"],
		["no-active", "1.1.17"],
	])("%s in %s: output beside tool_info", async (scenario, version) => {
		const { steps } = await play(scenario, { version });
		const step = steps.find(({ tool_name, state }) => tool_name === "run_command" && state === "DONE");
		expect(step?.output).toBe("4 passed\r\n");
		expect(step?.tool_info).not.toHaveProperty("output");
	});

	it("background-task holds the turn open", async () => {
		const run = agy.start({ scenario: "background-task" });
		run.send("hi");
		await agy.reached("task-running");
		expect(run.results).toEqual([]);
		agy.openGate("task-done");
		await run.finish();
		expect(run.results[0]?.response).toBe("Waiting for the build.\nDone.\n");
	});

	it("image: no output, the file lies in the brain folder", async () => {
		const { result } = await play("image");
		const path = join(agy.home, "antigravity-cli", "brain", result.conversation_id, "pixel.png");
		expect(existsSync(path)).toBe(true);
		expect(result.response).toContain(path);
	});

	it("artifact-path fails, edits-file writes when it may", async () => {
		const failed = (await play("artifact-path")).steps.find((step) => step.state === "ERROR");
		expect(failed?.tool_info?.error?.message).toContain("is not a valid artifact path");
	});
});

describe("demo", () => {
	let run: SimulatedProcess;
	beforeAll(() => {
		writeFileSync(join(shared.workspace, "notes.txt"), "");
		const more = ["--add-dir", shared.workspace];
		run = shared.start({ scenario: "demo", env: { AGY_SIM_TOKENS_PER_SECOND: "0" }, more });
	});

	/** The answer, the steps of its turn, and the text they streamed. */
	async function ask(prompt: string) {
		const before = run.steps.length;
		const { response } = await run.ask(prompt);
		const steps = run.steps.slice(before);
		return { response, steps, text: steps.map((step) => step.text_delta ?? "").join("") };
	}

	it.each([
		["say hello", "Hello!"],
		["what can you do?", "delegate"],
		["write a function that sorts", "```ts"],
		["Explain gravity", "> Explain gravity"],
	])("%s", async (prompt, expected) => {
		const { response, text } = await ask(prompt);
		expect(response).toContain(expected);
		expect(response.match(/simulator/g)).toHaveLength(1);
		expect(text).toBe(response);
	});

	it("lists the real files of the workspace through a tool", async () => {
		const { response, steps } = await ask("Please list the files here");
		expect(response).toContain("notes.txt");
		expect(outline(steps).filter((line) => line.startsWith("list_dir"))).toEqual(["list_dir ACTIVE", "list_dir DONE"]);
	});
});
