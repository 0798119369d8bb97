/** Table of stdin lines: what agy takes, skips and refuses, with the exit code of each. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SimulatedAgy, type StartOptions } from "./simulated-agy.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

describe("user messages", () => {
	it.each([
		["a string", '{"event":"user","message":{"role":"user","content":"plain"}}', "plain"],
		["a string without role", '{"event":"user","message":{"content":"plain"}}', "plain"],
		[
			"text blocks",
			'{"event":"user","message":{"content":[{"type":"text","text":"a "},{"type":"text","text":"b"}]}}',
			"a b",
		],
		["escaped line feeds", '{"event":"user","message":{"content":"one\\ntwo"}}', "one\ntwo"],
	])("takes %s", async (_name, line, expected) => {
		const run = agy.start();
		run.sendLine(line);
		expect(await run.finish()).toEqual({ code: 0, signal: null });
		expect(run.results.map((result) => result.response)).toEqual([expected]);
	});

	it("answers lines sent early strictly in order, also after the end of stdin", async () => {
		const run = agy.start();
		for (const prompt of ["one", "two", "three"]) run.send(prompt);
		expect((await run.finish()).code).toBe(0);
		expect(run.results.map((result) => result.response)).toEqual(["one", "two", "three"]);
		expect(run.events.filter((event) => event.event === "init")).toHaveLength(1);
	});

	it("takes a last line without line feed and a message cut within a character", async () => {
		const run = agy.start();
		const bytes = Buffer.from('{"event":"user","message":{"content":"caffè ☕"}}');
		const cut = bytes.indexOf(0xc3) + 1;
		run.child.stdin.write(bytes.subarray(0, cut));
		await until("init", () => run.events.length > 0);
		run.child.stdin.write(bytes.subarray(cut));
		await run.finish();
		expect(run.results[0]?.response).toBe("caffè ☕");
	});
});

type Row = {
	readonly name: string;
	readonly line: string;
	readonly code: number;
	/** Beginning of the ERROR; undefined when no result comes. */
	readonly error?: string;
	readonly stderr?: string;
	readonly start?: StartOptions;
};

const REFUSED: readonly Row[] = [
	{ name: "no JSON", line: "hello", code: 1, error: "failed to decode stream input:" },
	{
		name: "no event",
		line: '{"message":{"content":"x"}}',
		code: 1,
		error: 'stream input message is missing the "event"',
	},
	{
		name: "no event (1.2.9)",
		line: '{"message":{"content":"x"}}',
		code: 1,
		stderr: 'error: stream input message is missing the "event" field',
		start: { version: "1.2.9" },
	},
	{
		name: "no message",
		line: '{"event":"user"}',
		code: 1,
		error: 'stream input "user" message is missing the "message" field',
	},
	{
		name: "no content",
		line: '{"event":"user","message":{}}',
		code: 1,
		error: 'stream input "user" message has no content',
	},
	{
		name: "a bare string",
		line: '{"event":"user","message":"x"}',
		code: 1,
		error: "failed to decode stream input: json: cannot unmarshal string into Go struct field",
	},
	{
		name: "an image block",
		line: '{"event":"user","message":{"content":[{"type":"image"}]}}',
		code: 1,
		error: 'stream input content block type "image" is not supported (only "text")',
	},
	{ name: "control_request", line: '{"event":"control_request"}', code: 2, error: "stream input" },
	{ name: "control_response", line: '{"event":"control_response"}', code: 2, error: "stream input" },
	{
		name: "a command of the CLI",
		line: '{"event":"user","message":{"content":"/model"}}',
		code: 2,
		error: "/model is answered by the CLI itself",
	},
];

describe("refused lines", () => {
	it.each(REFUSED)("$name ends the session with $code", async ({ line, code, error, stderr, start }) => {
		const run = agy.start(start);
		run.sendLine(line);
		expect(await run.closed).toEqual({ code, signal: null });
		expect(run.events[0]?.event).toBe("init");
		if (error === undefined) {
			expect(run.results).toEqual([]);
		} else {
			expect(run.results).toHaveLength(1);
			expect(run.results[0]).toMatchObject({ status: "ERROR", response: "", num_turns: 0 });
			expect(String(run.results[0]?.error).startsWith(error)).toBe(true);
		}
		expect(run.stderr).toContain(stderr ?? error);
	});

	it("skips an unknown event with a warning and goes on", async () => {
		const run = agy.start();
		run.sendLine('{"event":"other"}');
		run.sendLine("");
		run.send("still here");
		expect((await run.finish()).code).toBe(0);
		expect(run.stderr).toContain('warning: ignoring unsupported stream input message event "other"');
		expect(run.results.map((result) => result.response)).toEqual(["still here"]);
	});

	it("answers misplaced content with an empty SUCCESS in 1.2.5, with an error otherwise", async () => {
		const line = '{"event":"user","content":"beside"}';
		const lenient = agy.start({ version: "1.2.5" });
		lenient.sendLine(line);
		expect((await lenient.finish()).code).toBe(0);
		expect(lenient.results[0]).toMatchObject({ status: "SUCCESS", response: "" });

		const strict = agy.start();
		strict.sendLine(line);
		expect((await strict.closed).code).toBe(1);
	});

	it("treats a slash command as text when expansion is disabled", async () => {
		const run = agy.start({ more: ["--disable-slash-commands"] });
		expect((await run.ask("/model")).response).toBe("/model");
	});
});

describe("oversized prompts", () => {
	it("drops them with an empty SUCCESS, and the conversation never answers again", async () => {
		const run = agy.start();
		const result = await run.ask("x".repeat(26_000));
		expect(result).toMatchObject({ status: "SUCCESS", response: "", num_turns: 1 });
		expect(result.usage.total_tokens).toBe(0);
		expect(run.steps.map((step) => step.step_type)).toEqual(["user_input"]);
		await run.finish();

		const resumed = agy.start({ more: ["--conversation", result.conversation_id] });
		resumed.send("anybody there?");
		await until("user_input", () => resumed.steps.length === 1);
		resumed.child.kill("SIGINT");
		expect((await resumed.closed).code).toBe(1);
		expect(resumed.results.map(({ error }) => error)).toEqual(["interrupted"]);
	});

	it("takes them when the scenario lifts the limit", async () => {
		const scenario = { behaviour: { promptLimitBytes: 0 }, turns: [{ steps: [{ kind: "text", text: "{{prompt}}" }] }] };
		const run = agy.start({ scenario });
		expect((await run.ask("y".repeat(40_000))).response).toHaveLength(40_000);
	});
});
