/** MCP servers that are really called, and hooks that are really run. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SimulatedAgy } from "./simulated-agy.ts";
import { ToolServer } from "./tool-server.ts";

const SKIP = "--dangerously-skip-permissions";

let agy: SimulatedAgy;
let servers: ToolServer[];
beforeEach(() => {
	agy = new SimulatedAgy();
	servers = [];
});
afterEach(async () => {
	await agy.close();
	await Promise.all(servers.map((server) => server.close()));
});

/** Starts a server and makes it the only configured one. */
async function configureServer(options?: ConstructorParameters<typeof ToolServer>[0]): Promise<ToolServer> {
	const server = new ToolServer(options);
	servers.push(server);
	const serverUrl = await server.listen();
	agy.write("config/mcp_config.json", {
		mcpServers: { calc: { serverUrl, headers: { Authorization: "Bearer key" } } },
	});
	return server;
}

function mcpEvents(): readonly unknown[] {
	return agy.journal("mcp").map((entry) => entry.event);
}

describe("MCP", () => {
	it("connects at start-up, sends its headers, caches schemas, and calls the tool", async () => {
		const server = await configureServer();
		const run = agy.start({ scenario: "mcp-call", more: [SKIP] });
		expect((await run.ask('add {"a":19,"b":23}')).response).toBe("42");
		expect(server.seen[0]).toEqual({ method: "server/discover", authorization: "Bearer key" });
		expect(server.seen.every(({ authorization }) => authorization === "Bearer key")).toBe(true);
		expect(mcpEvents()).toEqual(["discovered", "connected", "call", "answer"]);

		const calls = run.steps.filter((step) => step.tool_name === "call_mcp_tool");
		expect(calls.map((step) => step.state)).toEqual(["ACTIVE", "DONE"]);
		expect(Object.entries(calls[1]?.tool_info?.parameters ?? {})).toEqual([
			["Arguments", { a: 19, b: 23 }],
			["ServerName", "calc"],
			["ToolName", "add"],
		]);
		expect(calls[1]?.tool_info?.output).toBe("42");
		const looked = run.steps.find((step) => step.tool_name === "view_file");
		const path = String(looked?.tool_info?.parameters.AbsolutePath);
		expect(JSON.parse(readFileSync(path, "utf8")).inputSchema.properties).toHaveProperty("a");
	});

	it("is denied without permission, and allowed by an entry in settings.json", async () => {
		await configureServer();
		const denied = agy.start({ scenario: "mcp-call" });
		const result = await denied.ask("add");
		expect(result.denied_actions).toEqual([{ action: "mcp", display_name: "CallMcpTool" }]);
		expect(mcpEvents()).not.toContain("call");

		agy.write("antigravity-cli/settings.json", { permissions: { allow: ["mcp(calc/*)"] } });
		const allowed = agy.start({ scenario: "mcp-call" });
		expect((await allowed.ask('add {"a":1,"b":1}')).response).toBe("2");
	});

	it("gives a call up after its time and says so", async () => {
		await configureServer();
		const run = agy.start({ scenario: "mcp-abandon", more: [SKIP] });
		const result = await run.ask("never");
		expect(result.status).toBe("SUCCESS");
		const failed = run.steps.find((step) => step.state === "ERROR");
		expect(failed?.tool_info?.error?.message).toBe("MCP tool call abandoned after 0.3s");
	});

	it("makes 120 calls at once", async () => {
		const server = await configureServer();
		const run = agy.start({ scenario: "mcp-parallel", more: [SKIP] });
		await run.ask('add {"a":1,"b":2}');
		expect(server.seen.filter(({ method }) => method === "tools/call")).toHaveLength(120);
		const done = run.steps.filter((step) => step.tool_name === "call_mcp_tool" && step.state === "DONE");
		expect(new Set(done.map((step) => step.step_index)).size).toBe(120);
		expect(done.every((step) => step.tool_info?.output === "3")).toBe(true);
	});

	it("turns undeclared arguments down before they become a step, since 1.1.27", async () => {
		await configureServer();
		const strict = agy.start({ scenario: "mcp-call", more: [SKIP] });
		expect((await strict.ask('add {"c":1}')).response).toContain('undeclared argument "c"');
		expect(strict.steps.some((step) => step.tool_name === "call_mcp_tool")).toBe(false);
		await strict.finish();
		const older = agy.start({ scenario: "mcp-call", more: [SKIP], version: "1.1.26" });
		expect((await older.ask('add {"c":1}')).response).toBe("0");
	});

	it("gives up a server that meets server/discover with an HTTP error, unless lenient or older", async () => {
		await configureServer({ discoverStatus: 400 });
		const strict = agy.start({ scenario: "mcp-call", more: [SKIP] });
		expect((await strict.ask("add")).response).toContain("is not connected");
		const lenient = agy.start({ scenario: "mcp-lenient", more: [SKIP] });
		expect((await lenient.ask('add {"a":2,"b":2}')).response).toBe("4");
		const older = agy.start({ scenario: "mcp-call", more: [SKIP], version: "1.2.9" });
		expect((await older.ask('add {"a":2,"b":2}')).response).toBe("4");
	});

	it("reconnects when the configuration changes, and survives an unreadable one", async () => {
		await configureServer();
		const run = agy.start({ scenario: "mcp-reload", more: [SKIP] });
		run.send('add {"a":1,"b":1}');
		await agy.reached("called");
		agy.write("config/mcp_config.json", "{ not json");
		await until("the broken file seen", () => mcpEvents().includes("unreadable-config"));
		await configureServer({ offset: 100 });
		await until("the reload", () => mcpEvents().filter((event) => event === "connected").length === 2);
		agy.openGate("go");
		await run.finish();
		expect(run.results[0]?.response).toBe("2102");
	});

	it("starts all the same when a server is away or not supported", async () => {
		agy.write("config/mcp_config.json", {
			mcpServers: { gone: { serverUrl: "http://127.0.0.1:1/mcp" }, spelled: { url: "http://127.0.0.1:1/" } },
		});
		const run = agy.start({ scenario: "echo" });
		expect((await run.ask("hi")).response).toBe("hi");
		expect(mcpEvents()).toEqual(expect.arrayContaining(["connect-failed", "skipped"]));
	});
});

describe("hooks", () => {
	function configureHook(event: string, command: string, timeout = 10): void {
		const entry = { type: "command", command, timeout };
		const isToolEvent = event.endsWith("ToolUse");
		const hooks = isToolEvent ? [{ matcher: "run_command|write_to_file", hooks: [entry] }] : [entry];
		agy.write("config/hooks.json", { guard: { [event]: hooks } });
	}

	async function playHooked(scenario = "hooked") {
		const run = agy.start({ scenario, more: ["--add-dir", agy.workspace] });
		const result = await run.ask("write");
		const step = run.steps.findLast((step) => step.tool_name === "write_to_file");
		return { run, result, step, isWritten: existsSync(join(agy.workspace, "hooked.txt")) };
	}

	it("get the full arguments of a tool, in the folder of hooks.json", async () => {
		configureHook("PreToolUse", 'cat > question.json; echo \'{"decision":"allow"}\'');
		const { result, step, isWritten } = await playHooked();
		expect(isWritten).toBe(true);
		expect(JSON.parse(agy.read("config/question.json") ?? "")).toMatchObject({
			conversationId: result.conversation_id,
			stepIdx: step?.step_index,
			workspacePaths: [agy.workspace],
			toolCall: { name: "write_to_file", args: { CodeContent: "hooked\n", Overwrite: true } },
		});
		expect(step?.tool_info?.parameters).not.toHaveProperty("CodeContent");
	});

	it("deny, and the file is not written", async () => {
		configureHook("PreToolUse", 'echo \'{"decision":"deny","reason":"not today"}\'');
		const { result, step, isWritten } = await playHooked();
		expect(isWritten).toBe(false);
		expect(step?.state).toBe("ERROR");
		expect(step?.tool_info?.error?.message).toBe("tool call denied by pre-tool hook: not today");
		expect(result).toMatchObject({ status: "SUCCESS", response: "Done.\n" });
	});

	it.each([
		["exit 0 without output", "true", "hooked", true],
		["{}", "echo '{}'", "hooked", true],
		["{} where that denies", "echo '{}'", "hook-empty-denies", false],
		["a failing command", "exit 4", "hooked", false],
		["a missing command", "./no-such-command", "hooked", false],
		["malformed JSON", "echo nonsense", "hooked", false],
	])("answering with %s", async (_name, command, scenario, isWritten) => {
		configureHook("PreToolUse", command);
		expect((await playHooked(scenario)).isWritten).toBe(isWritten);
	});

	it.each([
		["hooked", false],
		["hook-timeout-passes", true],
	])("that time out: %s", async (scenario, isWritten) => {
		configureHook("PreToolUse", "exec tail -f /dev/null", 0.3);
		expect((await playHooked(scenario)).isWritten).toBe(isWritten);
	});

	it("run after a tool and are matched by its name", async () => {
		configureHook("PostToolUse", "cat >> after.ndjson");
		await playHooked();
		expect(JSON.parse(agy.read("config/after.ndjson") ?? "").toolCall.name).toBe("write_to_file");
		agy.write("config/hooks.json", {
			guard: { PreToolUse: [{ matcher: "view_file", hooks: [{ command: "exit 1" }] }] },
		});
		expect((await playHooked()).isWritten).toBe(true);
	});

	it("hook-stop: `continue` gets a second answer", async () => {
		configureHook("Stop", 'echo \'{"decision":"continue"}\'');
		expect((await playHooked("hook-stop")).result.response).toBe("First answer.\nSecond answer.\n");
		agy.write("config/hooks.json", {});
		expect((await playHooked("hook-stop")).result.response).toBe("First answer.\n");
	});

	it("of the workspace are loaded only where the scenario says so", async () => {
		const { mkdirSync, writeFileSync } = await import("node:fs");
		mkdirSync(join(agy.workspace, ".agents"));
		const deny = { guard: { PreToolUse: [{ hooks: [{ command: "exit 1" }] }] } };
		writeFileSync(join(agy.workspace, ".agents", "hooks.json"), JSON.stringify(deny));
		expect((await playHooked("workspace-config")).isWritten).toBe(false);
		expect((await playHooked("hooked")).isWritten).toBe(true);
	});
});
