/** The smoke run tried on the simulator: against itself there is no difference, and what deviates is told without content. */
import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Scenario } from "../agy-sim/scenario/scenario.ts";
import { differencesOf } from "../smoke/difference.ts";
import { type SmokeResult, smoke, toTable } from "../smoke/run.ts";
import { EXPECTED } from "../smoke/script.ts";
import { type TurnShape, toFrames } from "../smoke/shape.ts";
import { REPOSITORY, Sandbox } from "../support/sandbox.ts";

type Turn = Scenario["turns"][number];

let sandbox: Sandbox;
beforeEach(() => {
	sandbox = new Sandbox();
});
afterEach(() => sandbox.close());

function run(scenario: object): Promise<SmokeResult> {
	const path = sandbox.write("scenario.json", JSON.stringify(scenario));
	return smoke({ env: sandbox.env, scenario: path, say: () => {} });
}

/** The script's scenario with turns changed, in its order. */
function deviating(...changes: readonly ((turn: Turn) => Turn)[]): object {
	return { ...EXPECTED, turns: EXPECTED.turns.map((turn, index) => changes[index]?.(turn) ?? turn) };
}

/** A turn of these kinds of lines; fields by kind, with their types. */
function shape(kinds: string, fields: Readonly<Record<string, string>> = {}, more: Partial<TurnShape> = {}): TurnShape {
	const frames = kinds.split(", ").map((kind) => ({ kind, fields: new Map(Object.entries(fields)) }));
	return { name: "turn", frames, unreadable: 0, hasStderr: false, verdict: "complete", ...more };
}

describe("a difference", () => {
	const ACTIVE = "agent_response ACTIVE";
	const DONE = "agent_response DONE";
	it.each<[string, TurnShape, TurnShape, readonly object[]]>([
		["is none in how an answer is cut", shape(`init, ${ACTIVE}, ${DONE}`), shape(`init, ${DONE}`), []],
		[
			"is none in how often the model is called",
			shape(`${DONE}, ${DONE}, tool x DONE`),
			shape(`${DONE}, tool x DONE`),
			[],
		],
		[
			"is another order",
			shape("tool x DONE, user_input DONE"),
			shape("user_input DONE, tool x DONE"),
			[{ what: "order", agy: "tool x DONE, user_input DONE", simulator: "user_input DONE, tool x DONE" }],
		],
		[
			"is another status",
			shape("result OK"),
			shape("result SUCCESS"),
			[
				{ what: "status", agy: "result OK" },
				{ what: "status", agy: "-" },
			],
		],
		[
			"is another type",
			shape("init", { a: "string" }),
			shape("init", { a: "number" }),
			[{ what: "field", where: "init", agy: "a: string", simulator: "a: number" }],
		],
		[
			"is a field that is missing",
			shape("init"),
			shape("init", { a: "number" }),
			[{ what: "field", agy: "-", simulator: "a: number" }],
		],
		[
			"is another verdict",
			shape("init", {}, { verdict: "empty" }),
			shape("init"),
			[{ what: "verdict", agy: "empty", simulator: "complete" }],
		],
	])("%s", (_name, agy, simulator, expected) => {
		const differences = differencesOf([agy], [simulator]);
		expect(differences).toMatchObject(expected);
		expect(differences).toHaveLength(expected.length);
	});

	it("is told of what looks like a name, and of nothing else", () => {
		const line = {
			event: "result",
			result: { status: "all is lost", "my file.txt": 1, deep: { list: [{ inner: null }] } },
		};
		const { frames, unreadable } = toFrames([
			{ t: 0, dir: "out", line: JSON.stringify(line) },
			{ t: 0, dir: "out", line: "[1]" },
			{ t: 0, dir: "err", line: "noise" },
		]);
		expect(unreadable).toBe(1);
		expect(frames.map(({ kind, fields }) => [kind, Object.fromEntries(fields)])).toEqual([
			[
				"result (other)",
				{
					...{ event: "string", result: "object", "result.status": "string", "result.(other)": "number" },
					...{ "result.deep": "object", "result.deep.list": "object[]", "result.deep.list.inner": "null" },
				},
			],
		]);
	});
});

describe("npm run smoke", () => {
	it("finds nothing where agy sends what the simulator sends", async () => {
		const { differences, path } = await run(EXPECTED);
		expect(differences).toEqual([]);
		expect(statSync(path).mode & 0o777).toBe(0o600);
		expect(path).toMatch(new RegExp(`^${sandbox.agentDir}/pi-agy/reports/pi-agy-smoke-[\\dTZ-]+\\.json$`));
		expect(readFileSync(path, "utf8")).not.toMatch(/lighthouse\.\\n|One, two|echo smoke"/);
	});

	it("tells by shape, and without content, what agy sent otherwise", async () => {
		const secret = { sky: "my diary", "a key of mine": 3, state: "secretive" };
		const scenario = deviating(
			(turn) => ({
				...turn,
				steps: [{ kind: "event", event: "weather", payload: secret }, ...turn.steps],
				result: { extra: { mood: "secretly sad" } },
			}),
			(turn) => ({ ...turn, steps: turn.steps.filter(({ kind }) => kind !== "tool") }),
			(turn) => ({ ...turn, steps: [...turn.steps, { kind: "raw", text: "my diary is no JSON" }] }),
			(turn) => ({
				...turn,
				steps: [
					{ kind: "step", stepType: "hologram", state: "SHIMMERING" },
					{ kind: "stderr", line: "my diary" },
					...turn.steps,
				],
			}),
		);
		const { differences, path } = await run(scenario);
		expect(differences.toSorted((a, b) => a.what.localeCompare(b.what))).toEqual([
			{ what: "event", where: "answer", agy: "event weather", simulator: "-" },
			{ what: "field", where: "result SUCCESS", agy: "result.mood: string", simulator: "-" },
			{ what: "line", where: "command", agy: "1 unreadable", simulator: "0 unreadable" },
			{ what: "stderr", where: "resume", agy: "some", simulator: "none" },
			{ what: "step", where: "view-file", agy: "-", simulator: "tool view_file ACTIVE" },
			{ what: "step", where: "view-file", agy: "-", simulator: "tool view_file DONE" },
			{ what: "step", where: "resume", agy: "hologram SHIMMERING", simulator: "-" },
		]);
		const source = readFileSync(path, "utf8");
		expect(source).not.toMatch(/diary|secretive|secretly|a key of mine/);
		expect(toTable(differences).join("\n")).toMatch(/^what +where +agy +simulator\n.*event weather +-/);

		const again = await run(JSON.parse(source).scenario); // A developer's: the same lines without their content.
		const ofSteps = (result: Pick<SmokeResult, "differences">) =>
			result.differences.filter(({ what }) => what === "event" || what === "step" || what === "line");
		expect(ofSteps(again)).toEqual(ofSteps({ differences }));
	});

	it("refuses to take the simulator for agy", async () => {
		const script = join(REPOSITORY, "tests", "smoke", "smoke.ts");
		const refused = await promisify(execFile)(process.execPath, [script], { env: sandbox.env }).catch(
			(error: unknown) => error,
		);
		expect(refused).toMatchObject({
			code: 2,
			stdout: "",
			stderr: "The smoke run needs a real agy: AGY_BIN is the simulator. Unset it to leave.\n",
		});
	});
});
