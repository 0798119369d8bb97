/** Turns that a lane captures, and what comes out when they are played again without agy. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { play } from "../replay/play.ts";
import { until } from "../support/condition.ts";
import { LaneRig, type OpenOptions } from "../support/lane-rig.ts";
import { REPOSITORY, Sandbox, type ScenarioData } from "../support/sandbox.ts";

let sandbox: Sandbox;
let rig: LaneRig;
let directory: string;

beforeEach(() => {
	sandbox = new Sandbox();
	directory = join(sandbox.path, "captures");
	rig = new LaneRig(sandbox, { directory, turns: 2 });
});
afterEach(() => rig.close().finally(() => sandbox.close()));

const names = () => (existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith(".ndjson")) : []);

/** Plays one turn of agy; answers its capture. */
async function capture(prompt: string, scenario: ScenarioData, more: OpenOptions = {}): Promise<string> {
	const { heard } = await rig.ask(prompt, { scenario, ...more });
	await until("the end of the turn", () => heard.isDone || heard.end !== null);
	await until("a capture", () => names().length > 0);
	return readFileSync(join(directory, names().toSorted().at(-1) as string), "utf8");
}

describe("a captured turn, played again", () => {
	it("shows the steps and the answer, and comes to the same verdict", async () => {
		const tool = { kind: "tool", name: "run_command", permission: "allowed", output: "4 passed\r\n" };
		const steps = [{ kind: "text", text: "Let me see." }, tool, { kind: "text", text: "All is well." }];
		const source = await capture("run the tests", { turns: [{ steps }] });
		const lines = await play(source);
		expect(lines[0]).toBe("> run the tests");
		expect(lines.join("\n")).toMatch(/Let me see\.[\s\S]*\[call\] antigravity [\s\S]*All is well\./);
		expect(lines.at(-1)).toBe("verdict: complete");

		const file = sandbox.write("turn.ndjson", source);
		const printed = execFileSync(process.execPath, [join(REPOSITORY, "tests", "replay", "replay.ts"), file], {
			encoding: "utf8",
		});
		expect(printed).toBe(`${lines.join("\n")}\n`);
	});

	it("ends with agy when agy ended in it, and names what was unknown", async () => {
		const steps = [
			{ kind: "event", event: "mood", payload: { text: "happy" } },
			{ kind: "text", text: "half", finish: "none" },
			{ kind: "crash", exitCode: 7 },
		];
		const lines = await play(await capture("fail", { turns: [{ steps }] }));
		expect(lines.at(-1)).toMatch(/^verdict: crashed: agy .* in the middle of the turn/);
		expect(lines.join("\n")).toMatch(/half[\s\S]*\(unknown: event mood\)/);
	});

	it("holds no credential", async () => {
		const steps = [{ kind: "text", text: "", deltas: ["the key is AIzaSyA1234", "567890abcdefgh", "ijklmnop."] }];
		const source = await capture("my key is AIzaSyB1234567890abcdefghijklmnop", { turns: [{ steps }] });
		expect(source).not.toMatch(/AIza|567890/);
		expect((await play(source)).join("\n")).toContain("the key is [api key].");
	});

	it("is on disk when the lane ends at once", async () => {
		const steps = [{ kind: "steady", deltas: 1_000, deltaBytes: 1_024 }];
		const { heard } = await rig.ask("a lot", { scenario: { turns: [{ steps, result: { response: "" } }] } });
		await heard.done();
		await rig.lanes.close(); // While it is being written, or before.
		expect(names()).toHaveLength(1);
		expect((await play(readFileSync(join(directory, names()[0] as string), "utf8"))).at(-1)).toBe("verdict: complete");
	});

	it("is none unless it is asked for", async () => {
		await rig.close();
		rig = new LaneRig(sandbox);
		const { heard } = await rig.ask("anything");
		await heard.done();
		await rig.close();
		expect(existsSync(directory)).toBe(false);
	});

	it("is refused when it is something else", async () => {
		await expect(play('{"event":"result"}\n')).rejects.toThrow("no captured turn");
	});
});
