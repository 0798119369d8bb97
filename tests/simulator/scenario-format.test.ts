/** Scenarios as data: the parser's errors, files on disk, the choice of turns, and the table of the built-in ones. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pickTurn } from "../agy-sim/engine/pick-turn.ts";
import { behaviourOf, isAtLeast } from "../agy-sim/scenario/behaviour.ts";
import { findBuiltIn, listBuiltIns } from "../agy-sim/scenario/catalog.ts";
import { loadScenario } from "../agy-sim/scenario/load.ts";
import { SCENARIO } from "../agy-sim/scenario/scenario.ts";
import { SimulatedAgy } from "./simulated-agy.ts";

describe("scenario parser", () => {
	it.each([
		["no object", 5, "the scenario must be an object, not 5"],
		["no turns", {}, 'the scenario lacks the field "turns"'],
		["an unknown field", { turns: [], speed: 1 }, 'has an unknown field "speed"; known: turns, about,'],
		["a bad kind", { turns: [{ steps: [{ kind: "dance" }] }] }, "turns[0].steps[0].kind must be one of text, steady,"],
		[
			"a missing field of a step",
			{ turns: [{ steps: [{ kind: "text" }] }] },
			'turns[0].steps[0] lacks the field "text"',
		],
		[
			"a wrong type deep inside",
			{ turns: [{ steps: [{ kind: "parallel", tools: [{ name: 1 }] }] }] },
			"turns[0].steps[0].tools[0].name must be a string, not 1",
		],
		["a bad pattern", { turns: [{ match: "(", steps: [] }] }, "turns[0].match is not a valid regular expression"],
		[
			"a bad switch",
			{ turns: [], behaviour: { deniedTool: "MAYBE" } },
			"behaviour.deniedTool must be one of ERROR, DONE",
		],
		["a fraction", { turns: [], mcpAbandonMs: 1.5 }, "mcpAbandonMs must be a whole number >= 0"],
	])("refuses %s", (_name, value, message) => {
		expect(() => SCENARIO(value, "")).toThrow(message);
	});

	it("takes every built-in scenario as it is", async () => {
		for (const name of await listBuiltIns()) {
			const scenario = await loadScenario(name);
			expect(() => SCENARIO(JSON.parse(JSON.stringify(scenario)), name)).not.toThrow();
		}
	});

	it("passes numbers to scenarios that take them", async () => {
		expect((await loadScenario("steady:deltas=7,bytes=9")).turns[0]?.steps[0]).toMatchObject({
			deltas: 7,
			deltaBytes: 9,
		});
		await expect(loadScenario("steady:deltas=many")).rejects.toThrow('"deltas=many" is not name=number');
		await expect(loadScenario("no-such")).rejects.toThrow('no built-in scenario is called "no-such"');
	});
});

describe("choice of turns", () => {
	const turns = [
		{ match: "^hello", steps: [] },
		{ steps: [{ kind: "think" as const }] },
		{ match: "bye$", steps: [] },
		{ steps: [] },
	];

	it.each([
		["Hello there", 5, 0],
		["good BYE", 0, 2],
		["else", 0, 1],
		["else", 1, 3],
		["else", 9, 3],
	])("%j as turn %i is answered by script %i", (prompt, turnsBegun, index) => {
		expect(pickTurn(turns, prompt, turnsBegun)).toBe(turns[index]);
	});
});

describe("versions", () => {
	it.each([
		["1.2.17", "1.2.9", true],
		["1.1.9", "1.1.15", false],
		["1.2.6", "1.2.6", true],
		["2", "1.9.9", true],
		["dev", "1.2.17", true],
	])("%s is at least %s: %s", (version, other, expected) => {
		expect(isAtLeast(version, other)).toBe(expected);
	});

	it("set the switches, and a scenario overrides any of them", () => {
		expect(behaviourOf("1.1.27", {})).toMatchObject({
			printTimeout: "error",
			listsDeniedActions: true,
			apiFailureExits: false,
		});
		expect(behaviourOf("1.2.17", { printTimeout: "error" }).printTimeout).toBe("error");
	});
});

describe("scenario files", () => {
	let agy: SimulatedAgy;
	beforeEach(() => {
		agy = new SimulatedAgy();
	});
	afterEach(() => agy.close());

	it("play like built-in ones", async () => {
		const run = agy.start({
			scenario: {
				version: "1.2.7",
				turns: [
					{ match: "ping", steps: [{ kind: "text", text: "pong" }] },
					{ steps: [{ kind: "text", text: "{{prompt}} in {{version}} {{unknown}}" }] },
				],
			},
		});
		expect((await run.ask("a PING please")).response).toBe("pong");
		expect((await run.ask("{{cwd}}")).response).toBe("{{cwd}} in 1.2.7 {{unknown}}");
	});

	it("with a mistake end the simulator with the place of the mistake", async () => {
		const run = agy.start({ scenario: { turns: [{ steps: [{ kind: "text" }] }] } });
		expect((await run.closed).code).toBe(70);
		expect(run.stderr).toMatch(/^agy-sim: .*scenario-1\.json: turns\[0\]\.steps\[0\] lacks the field "text"\n$/);
	});
});

describe("README", () => {
	const readme = readFileSync(join(import.meta.dirname, "..", "agy-sim", "README.md"), "utf8");

	it("lists every built-in scenario with its line, and no other", async () => {
		const table = readme.slice(readme.indexOf("## Scenarios"));
		const rows = [...table.matchAll(/^\| `([\w-]+)` +\| (.*?) +\|$/gm)].map(([, name, about]) => [name, about]);
		const expected: (readonly [string, string])[] = [];
		for (const name of await listBuiltIns()) {
			const builtIn = await findBuiltIn(name);
			const scenario = typeof builtIn === "function" ? builtIn({}) : builtIn;
			expected.push([name, (scenario?.about ?? "").replaceAll("|", "\\|")]);
		}
		expect(rows).toEqual(expected);
	});
});
