/** `pi --mode json`: tokens while they come, cards, usage, and the provider hooks of other extensions. */
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { jsonPi } from "../support/pi-process.ts";
import { Sandbox } from "../support/sandbox.ts";
import { answer, assistantMessages, cards, retries, story, streamedText } from "../support/transcript.ts";

const HOOK_RECORDER = join(import.meta.dirname, "..", "support", "hook-recorder.ts");

let sandbox: Sandbox;
afterEach(() => sandbox.close());

describe("pi --mode json", () => {
	it("brings tokens before agy has finished, and the usage with the message", async () => {
		sandbox = new Sandbox({ scenario: "gated" });
		sandbox.seedModels();
		const pi = jsonPi(sandbox, ["say the numbers"]);
		await sandbox.reached("first");
		await pi.record("the third word", () => streamedText(pi.records) === "one two three ");
		expect(pi.records.some((record) => record.type === "message_end" && record.message.role === "assistant")).toBe(
			false,
		);

		sandbox.openGate("go");
		expect((await pi.finished()).code).toBe(0);
		expect(streamedText(pi.records)).toBe("one two three four five.\n");
		const { usage, stopReason, responseId } = answer(pi.records);
		expect(stopReason).toBe("stop");
		expect(responseId).toBe("c0ffee00-0000-4000-8000-000000000001");
		expect(usage.input).toBeGreaterThan(0);
		expect(usage.output).toBeGreaterThan(0);
		expect(usage.totalTokens).toBe(usage.input + usage.cacheRead);
		expect(pi.stderr).toBe("");
		expect(pi.otherLines).toEqual([]);
	});

	it("lets other extensions see and replace what is sent, and see what comes back", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const hookFile = join(sandbox.path, "hooks.ndjson");
		const pi = jsonPi(sandbox, ["replace me"], { extensions: [HOOK_RECORDER], env: { TEST_HOOK_FILE: hookFile } });
		await pi.finished();
		expect(streamedText(pi.records)).toBe("replaced");
		expect(sandbox.prompts()).toEqual(["replaced"]);

		type Entry = { hook: string; payload?: object; status?: number; provider?: string; data?: { kind: string } };
		const entries = sandbox
			.read("hooks.ndjson")
			.split("\n")
			.slice(0, -1)
			.map((line): Entry => JSON.parse(line));
		const [request, response, ...events] = entries;
		expect(request).toEqual({
			hook: "request",
			payload: { event: "user", message: { role: "user", content: "replace me" } },
		});
		expect(response).toEqual({ hook: "response", status: 200 });
		expect(events.every(({ hook, provider }) => hook === "event" && provider === "antigravity")).toBe(true);
		const kinds = events.map(({ data }) => data?.kind);
		expect(kinds).toEqual(expect.arrayContaining(["text", "model-call", "turn-end"]));
		expect(kinds.at(-1)).toBe("turn-end");
		expect(pi.stderr).toBe("");
	});

	it("shows each step of agy as one card with its result, between the texts around it", async () => {
		const tool = (name: string, more: object = {}) => ({ kind: "tool", name, permission: "allowed", ...more });
		const read = tool("view_file", { parameters: { AbsolutePath: "{{workspace}}/a.txt" }, output: "12 lines" });
		const fail = tool("read_url_content", { end: "error", error: "Failed to fetch" });
		const open = tool("run_command", { parameters: { CommandLine: "npm start" }, end: "open" });
		const text = (said: string) => ({ kind: "text", text: said });
		const { kind: _read, ...readTool } = read;
		const edit = { name: "replace_file_content", permission: "allowed", durationSeconds: 0.25 };
		const run = { name: "run_command", permission: "allowed", output: "4 passed\r\n" };
		sandbox = new Sandbox({
			scenario: {
				turns: [
					{
						match: "^one",
						steps: [text("Before. "), read, text("After. "), fail, text("So it failed.")],
					},
					{
						match: "^several",
						steps: [
							{ kind: "parallel", tools: [readTool, edit, run], finishOrder: [2, 0, 1] },
							text("All three done."),
						],
					},
					{ match: "^background", steps: [open, text("It runs in the background.")] },
				],
			},
		});
		sandbox.seedModels();
		sandbox.write("work/a.txt", "what pi reads");
		const pi = jsonPi(sandbox, ["one", "several", "background"]);
		expect((await pi.finished()).code).toBe(0);
		expect(pi.stderr).toBe("");
		const isThought = (part: string) => /^\(Thought for \d+\.\d s, \d+ tokens\.\)$/.test(part);
		expect(story(pi.records).some(isThought)).toBe(true);
		expect(story(pi.records).filter((part) => !isThought(part))).toEqual([
			"Before. ",
			"[read]",
			"After. ",
			"[read_url_content]",
			"So it failed.",
			"[replace_file_content]",
			"[run_command]",
			"[read]",
			"All three done.",
			"[run_command]",
			"It runs in the background.",
		]);
		expect(
			cards(pi.records).map(({ output, isError, details, call }) => [
				output,
				isError,
				details?.state,
				details?.durationMs,
				Object.values((call.arguments as { args?: object }).args ?? call.arguments),
			]),
		).toEqual([
			["what pi reads", false, undefined, undefined, [`${sandbox.workspace}/a.txt`]],
			["Failed to fetch", true, "error", 20, []],
			["(no output)", false, "done", 250, []],
			["4 passed\r\n", false, "done", 20, []],
			["what pi reads", false, undefined, undefined, [`${sandbox.workspace}/a.txt`]],
			[expect.stringContaining("Still running"), false, "background", null, ["npm start"]],
		]);
		// Tools that run at once share a message when agy's lines arrive together, so only its last one is certain.
		const stops = assistantMessages(pi.records).map((message) => message.stopReason);
		expect(stops.join(" ")).toMatch(/^((toolUse )+stop ?){3}$/);
		expect(retries(pi.records)).toBe(0);
		expect(sandbox.runs()).toMatchObject([{ prompts: ["one", "several", "background"] }]);
	});
});
