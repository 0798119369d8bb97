/** `/agy` in the real pi: settings changed between turns, in print mode, and on the screen. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { ProjectTrustStore } from "@earendil-works/pi-coding-agent";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { printPi } from "../support/pi-process.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { Sandbox } from "../support/sandbox.ts";
import { KEY, PiTerminal } from "../support/terminal.ts";
import { answer, textOf } from "../support/transcript.ts";

const SUPPORT = join(import.meta.dirname, "..", "support");
const SETTINGS = "agent/pi-agy/config.json";

function saved(sandbox: Sandbox): Record<string, unknown> {
	return JSON.parse(sandbox.read(SETTINGS));
}

describe("over rpc, in one session", () => {
	let sandbox: Sandbox;
	let pi: RpcClient;

	beforeAll(() => {
		sandbox = new Sandbox({ env: { AGY_DIGEST: "on" } });
		sandbox.seedModels();
		sandbox.write("work/.pi/pi-agy.json", JSON.stringify({ version: 1, systemPrompt: false, engine: "legacy-sqlite" }));
		new ProjectTrustStore(sandbox.agentDir).set(sandbox.workspace, true);
		pi = new RpcClient(sandbox, {
			extensions: [join(SUPPORT, "session-commands.ts"), join(SUPPORT, "pi-tools.ts")],
		});
	});
	afterAll(async () => {
		pi.pi.destroy(); // Where a test before the last one has failed.
		await sandbox.close();
	});

	/** What a command has answered. */
	async function agy(words: string): Promise<string> {
		const from = pi.records.length;
		await pi.command(`/agy ${words}`);
		const record = await pi.pi.record(
			`the answer to ${words}`,
			({ type }) => (type as string) === "entry_appended",
			from,
		);
		const { entry } = record as unknown as { readonly entry: { readonly data: { readonly text: string } } };
		return entry.data.text;
	}

	async function activeTools(): Promise<string> {
		const before = pi.notices().length;
		await pi.command("/test-active-tools");
		await pi.notice("active: ");
		return pi.notices().slice(before).at(-1) ?? "";
	}

	it("tells each value and where it stands, for a program too", async () => {
		expect(await agy("digest")).toMatch(/^digest is on \(AGY_DIGEST\)/);
		expect(await agy("system-prompt")).toMatch(/^systemPrompt is off \(\.pi\/pi-agy\.json: systemPrompt\)/);
		const { settings } = JSON.parse(await agy("--json"));
		expect(settings).toContainEqual(
			expect.objectContaining({ key: "mode", value: "default", source: { layer: "default", name: "default" } }),
		);
		expect(pi.notices()).toContainEqual(expect.stringContaining(".pi/pi-agy.json: engine cannot be set by a project"));
	});

	it("changes how the next turn is run, and keeps the conversation", async () => {
		expect(textOf(answer(await pi.prompt("first")))).toBe("first");
		expect(await agy("mode accept-edits")).toBe("mode: default -> accept-edits, from the next turn on.");
		expect(await agy("permissions off")).toBe("skipPermissions: on -> off, from the next turn on.");
		expect(textOf(answer(await pi.prompt("second")))).toBe("second");
		const [before, after] = sandbox.runs();
		expect(before?.argv).toContain("--dangerously-skip-permissions");
		expect(after?.argv).not.toContain("--dangerously-skip-permissions");
		expect(after?.argv.join(" ")).toMatch(/--mode accept-edits/);
		expect(after?.argv).toContain("--conversation");
		expect(saved(sandbox)).toStrictEqual({ version: 2, mode: "accept-edits", skipPermissions: false });
		expect(statSync(join(sandbox.path, SETTINGS)).mode & 0o777).toBe(0o600);
	});

	it("refuses what is not understood, and changes nothing", async () => {
		expect(await agy("mode plann")).toMatch(/Allowed: default, accept-edits, plan\. Did you mean plan\?$/);
		expect(await agy("mod plan")).toMatch(/^\/agy mod is unknown\. Did you mean \/agy mode\?/);
		expect(saved(sandbox)).toMatchObject({ mode: "accept-edits" });
	});

	it("runs no turn while it is read-only", async () => {
		const before = sandbox.prompts().length;
		expect(await agy("readonly on")).toMatch(/^readonly: off -> on/);
		const refused = answer(await pi.prompt("third"));
		expect(refused.stopReason).toBe("error");
		expect(refused.errorMessage).toMatch(
			/Nothing was sent to agy: readonly is on \(config\.json: readonly\).*\/agy readonly off/,
		);
		expect(sandbox.prompts()).toHaveLength(before);
		await agy("readonly default");
		expect(textOf(answer(await pi.prompt("fourth")))).toContain("fourth");
	});

	it("saves what a variable overrides, and says that it waits", async () => {
		expect(await agy("digest off")).toMatch(/^digest stays on: AGY_DIGEST wins\. config\.json now holds digest: off/);
		expect(saved(sandbox)).toMatchObject({ digest: false });
	});

	it("hides pi's tools from agy, one or all, at once", async () => {
		expect(JSON.parse(await agy("tools --json"))).toMatchObject({ offered: ["where", "forbidden", "slow"] });
		expect(await agy("tools hide slow")).toContain("Hidden in this session: slow.");
		await agy("bridge none");
		expect(await agy("tools")).toMatch(/^agy is offered none of pi's tools\./);
		await agy("bridge default");
		expect(JSON.parse(await agy("tools reset --json"))).toMatchObject({ offered: ["where", "forbidden", "slow"] });
		expect(saved(sandbox)).not.toHaveProperty("tools");
	});

	it("takes AskAntigravity from models and gives it back", async () => {
		expect(await activeTools()).toContain("AskAntigravity");
		await agy("ask off");
		expect(await activeTools()).not.toContain("AskAntigravity");
		await agy("ask on");
		expect(await activeTools()).toContain("AskAntigravity");
	});

	it("lists agy's own agents, without those of pi-agy", async () => {
		sandbox.write("sim/config/agents/reviewer.md", "# reviewer\n");
		expect(JSON.parse(await agy("agent --json"))).toMatchObject({ value: null, agents: ["reviewer"] });
	});

	it("keeps the engine until /reload, and then has the new one", async () => {
		expect(await agy("engine legacy-sqlite")).toBe("engine: stream-json -> legacy-sqlite, after /reload.");
		await pi.command("/test-reload");
		expect(await agy("engine")).toMatch(/^engine is legacy-sqlite \(config\.json: engine\)/);
		await pi.close();
	});
});

describe("in print mode", () => {
	let sandbox: Sandbox;
	afterEach(() => sandbox.close());

	it("prints JSON on stdout and nothing else, asks nothing and writes nothing", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const pi = await printPi(sandbox, ["/agy mode --json"]);
		expect(JSON.parse(pi.stdout)).toMatchObject({ key: "mode", value: "default", source: { layer: "default" } });
		expect([pi.stderr, pi.exit?.code]).toStrictEqual(["", 0]);
		expect(existsSync(join(sandbox.path, SETTINGS))).toBe(false);
	});
});

describe("on the screen", () => {
	let sandbox: Sandbox;
	let pi: PiTerminal | null = null;
	afterEach(async () => {
		pi?.destroy();
		pi = null;
		await sandbox.close();
	});

	it("asks for the engine until one is chosen, says that agy is missing, and shows the settings", async () => {
		sandbox = new Sandbox({ env: { AGY_BIN: "/nowhere/agy" } });
		pi = new PiTerminal(sandbox, { isFirstStart: true });
		await pi.shows("how shall pi drive agy?");
		await pi.shows("agy was not found: AGY_BIN is /nowhere/agy");
		pi.type(KEY.escape);
		await pi.hides("how shall pi drive agy?");
		await pi.quit();
		expect(existsSync(join(sandbox.path, SETTINGS))).toBe(false);
		pi.destroy();

		pi = new PiTerminal(sandbox, { isFirstStart: true });
		await pi.shows(/→ stream-json/);
		pi.type(KEY.enter);
		await pi.hides("how shall pi drive agy?");
		await pi.enter("/agy");
		await pi.shows("Antigravity settings");
		await until("the engine in the file", () => sandbox.read(SETTINGS) !== "");
		expect(saved(sandbox)).toStrictEqual({ version: 2, engine: "stream-json" });
		pi.type("digest");
		await pi.shows(/→ digest +off/);
		pi.type(KEY.enter);
		await pi.shows(/→ digest +on/);
		pi.type(KEY.escape);
		await pi.hides("Antigravity settings");
		await pi.quit(); // Not before what was chosen is on disk.
		expect(saved(sandbox)).toStrictEqual({ version: 2, engine: "stream-json", digest: true });
	});
});
