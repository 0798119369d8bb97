/** Where the agent works and what it may do there: --add-dir, modes, permissions, log. */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SimulatedAgy } from "./simulated-agy.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

describe("workspace and modes", () => {
	const showWorkspace = { turns: [{ steps: [{ kind: "text", text: "{{workspace}}" }] }] };

	it("is the scratch folder without --add-dir, whatever init.cwd says", async () => {
		const run = agy.start({ scenario: showWorkspace });
		expect((await run.ask("where?")).response).toBe(join(agy.home, "antigravity-cli", "scratch"));
		expect(run.events[0]?.init?.cwd).toBe(realpathSync(agy.workspace));
	});

	it("is the folder added first, also after a resume", async () => {
		const run = agy.start({ scenario: showWorkspace, more: ["--add-dir", agy.workspace] });
		const { response, conversation_id } = await run.ask("where?");
		expect(response).toBe(agy.workspace);
		await run.finish();
		const resumed = agy.start({ scenario: showWorkspace, more: ["--conversation", conversation_id] });
		expect((await resumed.ask("where?")).response).toBe(agy.workspace);
	});

	it("plan mode writes a plan and then edits the workspace all the same", async () => {
		const run = agy.start({ scenario: "plan", more: ["--mode", "plan", "--add-dir", agy.workspace] });
		const { conversation_id } = await run.ask("change it");
		expect(agy.read(`antigravity-cli/brain/${conversation_id}/implementation_plan.md`)).toContain("change it");
		expect(existsSync(join(agy.workspace, "hooked.txt"))).toBe(true);
		const types = run.steps.map((step) => step.tool_name ?? step.step_type);
		expect(types.filter((type) => type !== "agent_response")).toEqual([
			"user_input",
			"write_to_file",
			"system_message",
			"write_to_file",
			"write_to_file",
		]);
		expect(run.events[0]?.init?.permission_mode).toBe("request-review");
	});

	it.each([
		["with slash commands disabled, and warns", ["--disable-slash-commands"], "warning: --mode plan has no effect"],
		["with permissions skipped", ["--dangerously-skip-permissions"], ""],
	])("plan mode does nothing %s", async (_name, more, warning) => {
		const run = agy.start({ more: ["--mode", "plan", ...more] });
		await run.ask("hi");
		expect(run.steps.map((step) => step.step_type)).not.toContain("tool");
		expect(run.stderr.startsWith(warning)).toBe(true);
		if (warning === "") expect(run.stderr).toBe("");
	});

	it.each([
		[[], "request-review", "denied"],
		[["--dangerously-skip-permissions"], "always-proceed", "written"],
		[["--mode", "accept-edits"], "request-review", "written"],
	])("%j gives %s and a file %s", async (more, mode, outcome) => {
		const run = agy.start({ scenario: "edits-file", more: ["--add-dir", agy.workspace, ...more] });
		const result = await run.ask("write");
		expect(run.events[0]?.init?.permission_mode).toBe(mode);
		expect(existsSync(join(agy.workspace, "agy-sim-was-here.txt"))).toBe(outcome === "written");
		expect(result.denied_actions === undefined).toBe(outcome === "written");
	});

	it.each([
		["an allow entry permits", { permissions: { allow: ["write_file(*)"] } }, true],
		["always-proceed permits", { toolPermission: "always-proceed" }, true],
		[
			"an unknown toolPermission discards the whole file",
			{ toolPermission: "yes", permissions: { allow: ["write_file(*)"] } },
			false,
		],
	])("settings.json: %s", async (_name, settings, isWritten) => {
		agy.write("antigravity-cli/settings.json", settings);
		const run = agy.start({ scenario: "edits-file", more: ["--add-dir", agy.workspace] });
		await run.ask("write");
		expect(existsSync(join(agy.workspace, "agy-sim-was-here.txt"))).toBe(isWritten);
	});

	it("writes its log where --log-file says, and nowhere else", async () => {
		const path = join(agy.workspace, "agy.log");
		const run = agy.start({ more: ["--log-file", path] });
		await run.finish();
		expect(existsSync(path)).toBe(true);
		expect(agy.read("antigravity-cli/log/cli.log")).toBeUndefined();
	});
});
