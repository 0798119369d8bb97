/** `/agy` in the real pi: settings changed between turns, in print mode, and on the screen. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, createReadStream, existsSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { ProjectTrustStore } from "@earendil-works/pi-coding-agent";
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from "vitest";
import { until } from "../support/condition.ts";
import { PiProcess, printPi } from "../support/pi-process.ts";
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

	test.each([
		[
			"a value that is not allowed",
			"/agy mode plann",
			/^mode .*Allowed: default, accept-edits, plan\. Did you mean plan\?\n$/,
		],
		["an unknown word", "/agy mod plan", /^\/agy mod is unknown\. Did you mean \/agy mode\?/],
		["a missing file", "/agy voice /nowhere.wav", /\S\n$/],
	])("tells %s on stderr, with exit code 1", async (_what, prompt, message) => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const pi = await printPi(sandbox, [prompt]);
		expect(pi.stderr).toMatch(message);
		expect([pi.stdout, pi.exit?.code]).toStrictEqual(["", 1]);
	});

	it("tells a failure as JSON on stdout, with exit code 1", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const pi = await printPi(sandbox, ["/agy mode plann --json"]);
		expect(JSON.parse(pi.stdout)).toMatchObject({ error: expect.stringContaining("Did you mean plan?") });
		expect([pi.stderr, pi.exit?.code]).toStrictEqual(["", 1]);
	});

	it("prints all of a long answer to a reader that takes its time", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const models = Array.from({ length: 8_000 }, (_, index) => [`model-${index}`, { input: index, output: index }]);
		sandbox.write(SETTINGS, JSON.stringify({ version: 2, prices: Object.fromEntries(models) }));
		const pipe = join(sandbox.path, "pipe");
		execFileSync("mkfifo", [pipe]);
		const both = openSync(pipe, "r+"); // Neither end waits for the other.
		const writeEnd = openSync(pipe, "w");
		const pi = new PiProcess(sandbox, ["-p", "/agy --json"], { stdout: writeEnd });
		closeSync(writeEnd);
		const reader = createReadStream(pipe, { highWaterMark: 4_096 });
		await once(reader, "open");
		closeSync(both);
		let printed = "";
		for await (const piece of reader.setEncoding("utf8")) printed += piece;
		expect(await pi.finished()).toStrictEqual({ code: 0, signal: null });
		expect(printed.length).toBeGreaterThan(4 * 64 * 1024);
		const { settings } = JSON.parse(printed) as { settings: { key: string; value: object }[] };
		expect(Object.keys(settings.find(({ key }) => key === "prices")?.value ?? {})).toHaveLength(8_000);
		expect(pi.stderr).toBe("");
	});

	it("does not mind a reader that leaves", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const pipe = join(sandbox.path, "pipe");
		execFileSync("mkfifo", [pipe]);
		const both = openSync(pipe, "r+");
		const writeEnd = openSync(pipe, "w");
		closeSync(both); // Nobody reads.
		const pi = new PiProcess(sandbox, ["-p", "/agy mode"], { stdout: writeEnd });
		closeSync(writeEnd);
		expect(await pi.finished()).toStrictEqual({ code: 0, signal: null });
		expect(pi.stderr).toBe("");
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
