/** The bridge between real pi processes and the simulated agy, in every mode of pi and after a sudden end. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { jsonPi, printPi } from "../support/pi-process.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { Sandbox } from "../support/sandbox.ts";
import { answer, cards, textOf } from "../support/transcript.ts";

const TOOLS = join(import.meta.dirname, "..", "support", "pi-tools.ts");
const CALL = { kind: "mcp", fromPrompt: true, tellsOutput: true };
const ECHO = { steps: [{ kind: "text", text: "{{prompt}}", deltaChars: 0 }] };
const extensions = [TOOLS];
/** agy gives a call up after 180 s; here soon after the bridge has to have answered. */
const ABANDON_MS = 25_000;

let sandbox: Sandbox;
beforeEach(() => {
	sandbox = new Sandbox({
		scenario: {
			behaviour: { loadsWorkspaceConfig: true },
			mcpAbandonMs: ABANDON_MS,
			turns: [
				{
					match: "^held",
					steps: [
						{ kind: "touch", marker: "held" },
						{ kind: "wait", gate: "go" },
						{ ...CALL, fromPrompt: false, tool: "where" },
						{ kind: "touch", marker: "called" },
						{ kind: "wait", gate: "end" },
					],
				},
				{ match: "^(where|forbidden|slow|activate_skill)", steps: [CALL] },
				ECHO,
			],
		},
	});
	sandbox.seedModels();
});
afterEach(() => sandbox.close());

const config = () => sandbox.read("sim/config/mcp_config.json");
const serversInConfig = () => Object.keys((JSON.parse(config() || "{}") as { mcpServers?: object }).mcpServers ?? {});

describe("agy calls a tool of pi's", () => {
	it("in print mode, one that a permission extension blocks, and a skill", async () => {
		sandbox.write(
			"agent/skills/greet/SKILL.md",
			"---\nname: greet\ndescription: How to greet\n---\nAlways bow first.\n",
		);
		const prompts = ["where", "forbidden", 'activate_skill {"name":"greet"}'];
		const pi = await printPi(sandbox, prompts, { extensions });
		expect([pi.exit?.code, pi.stderr]).toEqual([0, ""]);
		expect(pi.stdout).toContain("Always bow first.");
		expect(sandbox.journal("mcp").filter(({ event }) => event === "answer")).toMatchObject([
			{ tool: "where", ok: true, output: expect.stringContaining(`pi ${pi.pid}`) },
			{ tool: "forbidden", ok: false, message: expect.stringContaining("does not allow it") },
			{ tool: "activate_skill", ok: true, output: expect.stringContaining("Always bow first.") },
		]);
		expect(config()).toBe("");
	});

	it("in json mode", async () => {
		const pi = jsonPi(sandbox, ["where"], { extensions });
		expect((await pi.finished()).code).toBe(0);
		expect(cards(pi.records)).toMatchObject([{ call: { name: "where" }, output: `pi ${pi.pid}` }]);
		expect(textOf(answer(pi.records))).toBe(`pi ${pi.pid}`);
	});

	it("in rpc mode, for longer than agy waits: it is told to ask later, and then what came of it", async () => {
		const pi = new RpcClient(sandbox, { extensions });
		const from = await pi.begin("slow");
		await until(
			"agy is told that it goes on",
			() => sandbox.journal("mcp").some(({ output }) => String(output).includes("STILL RUNNING")),
			90_000,
		);
		sandbox.write("work/slow-may-end", "");
		const turn = await pi.settled(from);
		expect(cards(turn)).toMatchObject([{ call: { name: "slow" }, output: "done at last" }]);
		expect(textOf(answer(turn))).toMatch(/The tool slow that you called earlier has finished\..*done at last/s);
		expect(sandbox.prompts()).toEqual(["slow", expect.stringContaining("done at last")]);
		expect(sandbox.runs()).toHaveLength(1);
		await pi.close();
		expect(pi.pi.stderr).toBe("");
	});
});

describe("two pi processes at once", () => {
	it("keep their calls apart", async () => {
		const pis = [0, 1].map(() => jsonPi(sandbox, ["held"], { extensions }));
		const areAt = (marker: string) => sandbox.journal("reached").filter(({ name }) => name === marker).length === 2;
		await until("both agys are at work", () => areAt("held"));
		expect(serversInConfig()).toHaveLength(2);
		sandbox.openGate("go");
		// A pi that ends changes the file they share, and agy then connects anew, whatever it is waiting for.
		await until("both have their answers", () => areAt("called"));
		sandbox.openGate("end");
		for (const pi of pis) {
			expect((await pi.finished()).code).toBe(0);
			expect(textOf(answer(pi.records))).toBe(`pi ${pi.pid}`);
		}
		expect(config()).toBe("");
	});
});

describe("a pi that was killed", () => {
	it("has left nothing of its bridge after the next start", async () => {
		const killed = jsonPi(sandbox, ["held"], { extensions });
		await sandbox.reached("held");
		expect(serversInConfig()).toHaveLength(1);
		await killed.guardian();
		killed.kill("SIGKILL");
		await killed.finished();
		const next = await printPi(sandbox, ["hi"]);
		expect([next.stdout.trimEnd(), next.exit?.code]).toEqual(["hi", 0]);
		expect(config()).toBe("");
		expect(readdirSync(join(sandbox.agentDir, "pi-agy", "bridge"))).toEqual([]);
	});
});
