/** The command line: version, Go's flag rules, and which models and efforts are taken. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SimulatedAgy, STREAM_ARGS } from "./simulated-agy.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

describe("--version", () => {
	it.each(["1.1.17", "1.2.9", "1.4.0"])("prints the bare number %s", async (version) => {
		const run = agy.start({ args: ["--version"], version });
		expect((await run.closed).code).toBe(0);
		expect(run.stdout).toBe(`${version}\n`);
	});

	it("comes from the scenario when the environment does not set it", async () => {
		const run = agy.start({ args: ["-version"], scenario: "odd-version" });
		await run.closed;
		expect(run.stdout).toBe("agy 1.2.17-dev (simulated)\n");
	});

	it("can change between two starts", async () => {
		const seen: string[] = [];
		for (let start = 0; start < 3; start++) {
			const run = agy.start({ args: ["--version"], scenario: "version-changes" });
			await run.closed;
			seen.push(run.stdout.trim());
		}
		expect(seen).toEqual(["1.2.7", "1.2.9", "1.2.9"]);
	});
});

describe("flags", () => {
	it.each([
		["an unknown flag", ["--nope"], "flags provided but not defined: -nope"],
		["-p at the end", ["-p"], "flag needs an argument: -p"],
		["-p before a flag", ["-p", "--input-format", "stream-json"], '-p took "--input-format" as its prompt'],
		["a stray argument", ["--sandbox", "stray"], 'unexpected argument "stray"'],
		["a boolean with a bad value", ["--sandbox=maybe"], 'invalid boolean value "maybe"'],
		["stream input alone", ["--input-format", "stream-json"], "requires --output-format stream-json"],
		["a bad duration", ["--print-timeout", "soon", "-p", "x"], 'invalid value "soon"'],
		[
			"a flag a subcommand lacks",
			["models", "--output-format", "json"],
			"flags provided but not defined: -output-format",
		],
	])("refuses %s with exit 2", async (_name, args, message) => {
		const run = agy.start({ args });
		expect((await run.closed).code).toBe(2);
		expect(run.stderr).toContain(message);
		expect(run.stdout).toBe("");
	});

	it("lets -p swallow a flag silently before 1.1.18", async () => {
		const run = agy.start({ args: ["-p", "--output-format", "text"], version: "1.1.17" });
		expect((await run.closed).code).toBe(0);
		expect(run.stdout).toBe("--output-format\n");
	});

	it("does not know the input format in 1.1.14", async () => {
		const run = agy.start({ scenario: "old-version" });
		expect((await run.closed).code).toBe(2);
		expect(run.stderr).toContain("flags provided but not defined: -input-format");
	});

	it.each([
		["one dash and a value apart", ["-input-format", "stream-json", "-output-format", "stream-json"]],
		["values after =", ["--input-format=stream-json", "--output-format=stream-json", "--sandbox=true"]],
		["an empty prompt beside stream input", [...STREAM_ARGS, "--print="]],
		["a prompt beside stream input, discarded", [...STREAM_ARGS, "-p", "unheard"]],
	])("takes %s", async (_name, args) => {
		const run = agy.start({ args });
		expect((await run.ask("hi")).response).toBe("hi");
	});
});

describe("model and effort", () => {
	it.each([
		[
			["--model", "nope-1"],
			/^invalid model selection \(--model "nope-1" --effort ""\): .*\nAvailable models:\n {2}gemini/,
		],
		[
			["--model", "gemini-3.8-flash-high", "--effort=low"],
			/^--model gemini-3.8-flash-high conflicts with --effort=low$/,
		],
		[["--model", "claude-sonnet-4-6", "--effort", "low"], /^--effort is not supported for model "claude-sonnet-4-6"$/],
		[["--model", "gemini-3.8-flash"], /requires --effort \(available: low, medium, high\)/],
		[["--model", "gemini-3.1-pro", "--effort", "medium"], /requires --effort \(available: low, high\)/],
	])("refuses %j with a lone ERROR and exit 1", async (more, error) => {
		const run = agy.start({ more });
		expect((await run.closed).code).toBe(1);
		expect(run.events.map(({ event }) => event)).toEqual(["result"]);
		expect(run.results[0]).toMatchObject({ conversation_id: "", status: "ERROR", response: "", num_turns: 0 });
		expect(run.results[0]?.error).toMatch(error);
		expect(run.stderr).toBe(`error: ${run.results[0]?.error}\n`);
	});

	it.each([
		[["--model", "gemini-3.8-flash-low"], "gemini-3.8-flash-low"],
		[["--model", "gemini-3.8-flash-low", "--effort", "low"], "gemini-3.8-flash-low"],
		[["--model", "gemini-3.8-flash", "--effort", "high"], "gemini-3.8-flash-high"],
		[[], undefined],
	])("takes %j and names it in init only when asked for", async (more, model) => {
		const run = agy.start({ more });
		await run.finish();
		expect(run.events[0]?.init?.model).toBe(model);
	});
});
