import { existsSync, readFileSync } from "node:fs";
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { beforeEach, describe, expect, test } from "vitest";
import { agentCommand } from "../../../src/main/command/agent-command.ts";
import { settingsCommands } from "../../../src/main/command/settings-commands.ts";
import type { Answer, Subcommand } from "../../../src/main/command/subcommand.ts";
import { Catalog } from "../../../src/main/models.ts";
import { Settings } from "../../../src/main/settings/settings.ts";
import { KEYS } from "../../../src/main/settings/table.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const CATALOG = new Catalog(
	[
		{ slug: "gemini-3.8-flash-high", name: "Flash" },
		{ slug: "gemini-3.8-flash-low", name: "Flash" },
		{ slug: "claude-opus-4-6-thinking", name: "Opus" },
	],
	true,
);
let settings: Settings;
let agents: readonly string[] | null;
let commands: ReadonlyMap<string, Subcommand>;

function open(env: Record<string, string> = {}): void {
	settings = new Settings({ PI_CODING_AGENT_DIR: folder.path, ...env });
	const ask = async () => {
		if (agents === null) throw new Error("no agy");
		return agents;
	};
	const all = [...settingsCommands({ settings, catalog: () => CATALOG }), agentCommand(settings, ask)];
	commands = new Map(all.map((command) => [command.name, command]));
}

beforeEach(() => {
	agents = [];
	open();
});

/** As typed behind `/agy`. */
async function run(line: string): Promise<Answer> {
	const [name = "", ...words] = line.split(" ");
	const context = { mode: "rpc" } as ExtensionCommandContext;
	const command = commands.get(name);
	if (!command) throw new Error(`no command ${name}`);
	return command.run({ rest: words.join(" "), words, asJson: false, context });
}

async function complete(name: string, ...words: readonly string[]): Promise<readonly string[]> {
	return ((await commands.get(name)?.complete?.(words)) ?? []).map(({ value }) => value);
}

function saved(): Record<string, unknown> {
	const { version: _version, ...rest } = JSON.parse(readFileSync(settings.path, "utf8"));
	return rest;
}

describe("each word", () => {
	test.each<[string, object, string]>([
		["engine legacy-sqlite", { engine: "legacy-sqlite" }, "engine: stream-json -> legacy-sqlite, after /reload."],
		["mode accept-edits", { mode: "accept-edits" }, "mode: default -> accept-edits, from the next turn on."],
		[
			"readonly on",
			{ readonly: true },
			"readonly: off -> on, from the next turn on. A turn that already runs goes on; Esc stops it.",
		],
		["permissions off", { skipPermissions: false }, "skipPermissions: on -> off, from the next turn on."],
		["thinking HIGH", { defaultThinking: "high" }, "defaultThinking: medium -> high, from the next turn on."],
		["digest on", { digest: true }, "digest: off -> on, from the next turn on."],
		["system-prompt off", { systemPrompt: false }, "systemPrompt: on -> off, from the next turn on."],
		["bridge mcp", { bridgeTools: "mcp" }, "bridgeTools: all -> mcp, from now on."],
		["ask off", { askTool: false }, "askTool: on -> off, from now on."],
		["timeout 30", { turnTimeoutMin: 30 }, "turnTimeoutMin: off in the TUI, else 20 -> 30, from the next turn on."],
		["timeout off", { turnTimeoutMin: 0 }, "turnTimeoutMin: off in the TUI, else 20 -> 0, from the next turn on."],
		[
			"model opus 4.6",
			{ defaultModel: "opus 4.6" },
			"defaultModel: first of agy's list -> opus 4.6, from the next turn on.",
		],
		["agent reviewer", { agent: "reviewer" }, "agent: none -> reviewer, from the next turn on."],
		[
			"set voiceInput -f pulse  -i default",
			{ voiceInput: ["-f", "pulse", "-i", "default"] },
			"voiceInput: not set -> -f pulse -i default, from now on.",
		],
		["set AGY_STEPS lines", { steps: "lines" }, "steps: cards -> lines, from the next turn on."],
	])("/agy %s", async (line, inFile, text) => {
		expect((await run(line)).text).toBe(text);
		expect(saved()).toStrictEqual(inFile);
	});

	test("mode default is agy's default mode, not the taking out of the setting", async () => {
		await run("mode default");
		expect(saved()).toStrictEqual({ mode: "default" });
	});

	test.each([
		["readonly on", "readonly default"],
		["timeout 3", "timeout default"],
		["model flash", "model default"],
		["agent reviewer", "agent off"],
		["set voiceSend on", "reset voiceSend"],
		["set steps lines", "reset AGY_STEPS"],
	])("/agy %s is undone by /agy %s", async (line, undo) => {
		await run(line);
		expect(Object.keys(saved())).toHaveLength(1);
		await run(undo);
		expect(saved()).toStrictEqual({});
	});

	test.each([
		["mode plann", /Allowed: default, accept-edits, plan\. Did you mean plan\?/],
		["engine acp", /engine cannot be "acp"\. Allowed: stream-json, legacy-sqlite/],
		["timeout 1441", /minutes up to 1440/],
		["timeout soon", /minutes up to 1440/],
		["model llama", /agy offers no model "llama"\. Allowed: .*gemini-3\.8-flash/],
		["set stepz lines", /stepz is no setting\. Did you mean steps\? Settings: .*steps/],
		["set", /No setting is named\. Settings: /],
		["reset", /No setting is named/],
		["set steps line", /Did you mean lines\?/],
	])("/agy %s is refused with what is allowed, and saves nothing", async (line, message) => {
		await expect(run(line)).rejects.toThrow(message);
		expect(existsSync(settings.path)).toBe(false);
	});

	test.each([
		["mode plan", /plan is no protection/],
		["permissions on", /without asking/],
	])("/agy %s warns", async (line, warning) => {
		expect(await run(line)).toMatchObject({ level: "warning", text: expect.stringMatching(warning) });
	});
});

describe("without a value", () => {
	test("the value, where it stands, and what is allowed", async () => {
		open({ AGY_MODE: "plan" });
		expect(await run("mode")).toMatchObject({
			text: "mode is plan (AGY_MODE). Allowed: default, accept-edits, plan; default: default. agy's --mode.",
			data: { key: "mode", value: "plan", source: { layer: "environment", name: "AGY_MODE" } },
		});
		expect((await run("set voiceKey")).text).toMatch(/^voiceKey is f12 \(default\)\./);
	});

	test("all settings, each with its source", async () => {
		open({ AGY_MODE: "plan" });
		await run("set digest on");
		const { text, data } = await run("settings");
		expect(text).toMatch(/^mode +plan +AGY_MODE$/m);
		expect(text).toMatch(/^digest +on +config\.json: digest$/m);
		expect(text).toMatch(/^agent +none +default$/m);
		const listed = data?.settings as readonly { readonly key: string }[] | undefined;
		expect(listed?.map(({ key }) => key)).toStrictEqual(KEYS);
	});
});

test.each([
	[
		"mode accept-edits",
		{ mode: "accept-edits" },
		"mode stays plan: AGY_MODE wins. config.json now holds mode: accept-edits, which applies once AGY_MODE is unset.",
	],
	["mode plann", null, ""],
])("where a variable wins, /agy %s", async (line, inFile, text) => {
	open({ AGY_MODE: "plan" });
	if (inFile === null) await expect(run(line)).rejects.toThrow("Did you mean plan?");
	else {
		expect(await run(line)).toMatchObject({ text, level: "warning" });
		expect(saved()).toStrictEqual(inFile);
	}
});

describe("completions", () => {
	test.each([
		["mode", [], ["default", "accept-edits", "plan"]],
		["readonly", [], ["on", "off", "default"]],
		["timeout", [], ["off", "default"]],
		["mode", ["plan"], []],
		["model", [], ["gemini-3.8-flash", "claude-opus-4-6-thinking", "default"]],
		["set", ["STEPS"], ["cards", "lines"]],
		["set", ["steps", "cards"], []],
		["set", ["none-such"], []],
		["set", [], KEYS],
		["reset", [], KEYS],
	])("of /agy %s %j", async (name, words, expected) => {
		expect(await complete(name, ...words)).toStrictEqual(expected);
	});
});

describe("/agy agent", () => {
	test("lists agy's agents, marks the one that is set, and leaves pi-agy's own out", async () => {
		agents = ["reviewer", "writer", "pi-agy-0123456789abcdef"];
		await run("agent writer");
		expect((await run("agent")).text).toMatch(/^agent is writer .*\n {2}reviewer\n\* writer$/);
		expect(await complete("agent")).toStrictEqual(["reviewer", "writer", "off"]);
	});

	test("refuses one that agy does not have", async () => {
		agents = ["reviewer"];
		await expect(run("agent reviewr")).rejects.toThrow(
			"agy has no agent reviewr. Did you mean reviewer? Agents: reviewer.",
		);
		await expect(run("agent a/b")).rejects.toThrow("agy has no agent a/b");
	});

	test.each<[readonly string[] | null, RegExp]>([
		[null, /agy could not be asked/],
		[[], /agy lists no agents/],
	])("with %j any name can be set", async (listed, text) => {
		agents = listed;
		expect((await run("agent")).text).toMatch(text);
		await run("agent reviewer");
		expect(saved()).toStrictEqual({ agent: "reviewer" });
		await expect(run("agent a/b")).rejects.toThrow("the name of an agent");
	});
});
