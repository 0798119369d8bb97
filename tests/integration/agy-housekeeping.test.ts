/** `/agy tasks`, `subagents`, `artifacts`, `patch-cleanup` and `uninstall` in a real pi. */
import {
	closeSync,
	existsSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { printPi } from "../support/pi-process.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { REPOSITORY, Sandbox } from "../support/sandbox.ts";
import { KEY, PiTerminal } from "../support/terminal.ts";
import { answer } from "../support/transcript.ts";

type Entry = { readonly type: string; readonly entry?: { readonly data?: { readonly text: string } } };
type Dialog = { readonly type: string; readonly method?: string; readonly id: string; readonly message?: string };

const SCENARIO = {
	turns: [
		{
			match: "^build",
			steps: [
				{
					kind: "tool",
					name: "run_command",
					parameters: { CommandLine: "npm run \u001b[31mbuild" },
					permission: "allowed",
					output:
						"Tool is running as a background task with task id: c0ffee00-0000-4000-8000-000000000001/task-2\nTask Description: npm run build",
				},
				{ kind: "subagent", prompt: "Find the licence file", typeName: "researcher", role: "Looks things up" },
				{
					kind: "tool",
					name: "write_to_file",
					permission: "allowed",
					writes: { in: "brain", path: "implementation_plan.md", text: "# Plan\n" },
				},
				{ kind: "text", text: "Started." },
			],
		},
		{ steps: [{ kind: "text", text: "{{prompt}}" }] },
	],
};

/** A command of an rpc pi, and what it put below the conversation. */
async function answerTo(pi: RpcClient, command: string, confirm?: boolean): Promise<string> {
	const from = pi.records.length;
	const done = pi.command(command);
	if (confirm !== undefined) {
		const asked = (record: unknown) =>
			(record as Dialog).type === "extension_ui_request" && (record as Dialog).method === "confirm";
		const { id } = (await pi.pi.record("a question", asked, from)) as unknown as Dialog;
		pi.pi.send({ type: "extension_ui_response", id, confirmed: confirm });
	}
	await done;
	const isAnswer = (record: unknown) => (record as Entry).type === "entry_appended";
	const record = await pi.pi.record(`an answer to ${command}`, isAnswer, from);
	return (record as unknown as Entry).entry?.data?.text ?? "";
}

describe("what agy left running, started and made", () => {
	let sandbox: Sandbox;
	let pi: RpcClient;
	let brain: string;

	beforeAll(async () => {
		sandbox = new Sandbox({ scenario: SCENARIO });
		sandbox.seedModels();
		const opener = `#!/bin/sh\nprintf '%s' "$1" > '${join(sandbox.path, "opened")}'\n`;
		for (const name of ["xdg-open", "open"]) sandbox.write(`bin/${name}`, opener, 0o700);
		sandbox.env.PATH = `${join(sandbox.path, "bin")}:${sandbox.env.PATH}`;
		pi = new RpcClient(sandbox, { session: ["--session-dir", sandbox.sessionDir] });
	});
	afterAll(async () => {
		pi.pi.destroy(); // Where a test before the last one has failed.
		await sandbox.close();
	});

	it("is nothing before the first turn", async () => {
		expect(JSON.parse(await answerTo(pi, "/agy tasks --json"))).toEqual({ conversation: null, tasks: [] });
		expect(await answerTo(pi, "/agy artifacts")).toBe("This session has no conversation with agy yet.");
	});

	it("lists a background task with its command, and the end of what it printed", async () => {
		await pi.prompt("build it");
		const { conversation } = JSON.parse(await answerTo(pi, "/agy tasks --json"));
		brain = join(sandbox.simHome, "antigravity-cli", "brain", conversation);
		const tasks = join(brain, ".system_generated", "tasks");
		mkdirSync(tasks, { recursive: true });
		const file = openSync(join(tasks, "task-2.log"), "a");
		writeFileSync(
			file,
			`${Array.from({ length: 60 }, (_, line) => `line ${line}`).join("\n")}\n\u001b]0;evil\u0007done\n`,
		);
		writeFileSync(join(tasks, "task-9.log"), "");
		try {
			const { tasks: rows } = JSON.parse(await answerTo(pi, "/agy tasks --json"));
			expect(rows).toMatchObject([
				{ number: 9, command: null, state: "ended", bytes: 0 },
				{ number: 2, command: "npm run build", state: "running", log: join(tasks, "task-2.log") },
			]);
		} finally {
			closeSync(file);
		}
		const text = await answerTo(pi, "/agy tasks");
		expect(text).toMatch(/ 9 {2}ended .*started before this pi session/);
		expect(text).toMatch(/ 2 {2}ended .*npm run build$/m);
		const tail = await answerTo(pi, "/agy tasks tail 2");
		expect(tail.split("\n")[0]).toBe("line 21");
		expect(tail).toMatch(/line 59\ndone$/);
		expect(tail).not.toContain("\u001b");
		expect(await answerTo(pi, "/agy tasks tail 7")).toMatch(/^Task 7 has no output file/);
	});

	it("lists the sub-agents, those of agy's folder too", async () => {
		const folder = join(brain, ".system_generated", "subagents");
		mkdirSync(folder, { recursive: true });
		writeFileSync(join(folder, "deadbeef-0000-4000-8000-000000000001.json"), "{}");
		const { subagents } = JSON.parse(await answerTo(pi, "/agy subagents --json"));
		expect(subagents).toMatchObject([
			{ conversationId: "deadbeef-0000-4000-8000-000000000001", state: "known", type: null },
			{ type: "researcher", role: "Looks things up", prompt: "Find the licence file", state: "started" },
		]);
		expect(await answerTo(pi, "/agy subagents")).toMatch(
			/researcher, Looks things up: Find the licence file\nagy tells when/,
		);
	});

	it("lists artifacts and opens one that is only shown, and only in its folder", async () => {
		writeFileSync(join(brain, "implementation_plan.md.metadata.json"), "{}");
		writeFileSync(join(brain, "run.command"), "echo no");
		symlinkSync("/etc/hostname", join(brain, "link.txt"));
		const { artifacts } = JSON.parse(await answerTo(pi, "/agy artifacts --json"));
		expect(artifacts.map(({ name }: { readonly name: string }) => name).toSorted()).toEqual([
			"implementation_plan.md",
			"run.command",
		]);
		expect(await answerTo(pi, "/agy artifacts open plan")).toBe(`Opened ${join(brain, "implementation_plan.md")}`);
		await until("the file to be opened", () => sandbox.read("opened") === join(brain, "implementation_plan.md"));
		expect(await answerTo(pi, "/agy artifacts open run.command")).toMatch(/is not opened: its kind may be run/);
		expect(await answerTo(pi, "/agy artifacts open link.txt")).toMatch(/is none of the artifacts/);
		expect(await pi.close()).toEqual({ code: 0, signal: null });
	});
});

describe("/agy patch-cleanup", () => {
	let sandbox: Sandbox;
	afterEach(() => sandbox.close());

	it("shows what is patched, and restores it when it may", async () => {
		const real = join(REPOSITORY, "node_modules", "@earendil-works", "pi-coding-agent");
		sandbox = new Sandbox();
		const root = join(sandbox.path, "pi");
		const backup = join(sandbox.agentDir, "antigravity-bridge", "pi-patch-backup", "made");
		for (const name of readdirSync(real))
			if (name !== "dist" && name !== "package.json") link(join(real, name), join(root, name));
		for (const name of readdirSync(join(real, "dist")))
			if (name !== "core") link(join(real, "dist", name), join(root, "dist", name));
		const manifest = readFileSync(join(real, "package.json"), "utf8");
		sandbox.write("pi/package.json", manifest);
		const { version } = JSON.parse(manifest);
		const loader = readFileSync(join(real, "dist", "core", "extensions", "loader.js"), "utf8");
		const patched = loader.replace("\n", "\n// LOCAL PATCH (pi-antigravity-bridge)\n");
		const path = sandbox.write("pi/dist/core/extensions/loader.js", patched, 0o640);
		sandbox.write("agent/antigravity-bridge/pi-patch-backup/made/VERSION", JSON.stringify({ version, root }));
		sandbox.write("agent/antigravity-bridge/pi-patch-backup/made/core/extensions/loader.js", loader);
		sandbox.env.PI_PACKAGE_DIR = root;

		const shown = await printPi(sandbox, ["/agy patch-cleanup"]);
		expect(shown.stdout).toContain(
			`- core/extensions/loader.js: backup ${join(backup, "core", "extensions", "loader.js")}`,
		);
		expect(shown.stdout).toContain("Nothing was changed. To restore them: /agy patch-cleanup --yes");
		expect(readFileSync(path, "utf8")).toBe(patched);

		const restored = await printPi(sandbox, ["/agy patch-cleanup --yes --json"]);
		expect(JSON.parse(restored.stdout)).toMatchObject({ restored: true, version, root });
		expect(readFileSync(path, "utf8")).toBe(loader);
		expect(statSync(path).mode & 0o777).toBe(0o640);
	});
});

describe("/agy uninstall", () => {
	let sandbox: Sandbox;
	afterEach(() => sandbox.close());

	it("refuses while another pi is there, asks, removes everything, and proves it", async () => {
		sandbox = new Sandbox({ scenario: SCENARIO, env: { AGY_DEBUG: "on", AGY_CAPTURE: "1" } });
		sandbox.seedModels();
		const config = sandbox.write(
			"sim/config/mcp_config.json",
			'{\n\t// mine\n\t"mcpServers": {"other": {"command": "x"}}\n}\n',
		);
		const mine = sandbox.write("sim/config/agents/reviewer.md", "# mine\n");
		const strange = sandbox.write("agent/pi-agy/notes.txt", "mine");
		const extensions = [join(REPOSITORY, "tests", "support", "pi-tools.ts")];
		const pi = new RpcClient(sandbox, { extensions });
		await pi.prompt("hello");
		await answerTo(pi, "/agy report");
		const [run] = sandbox.runs();
		expect(readFileSync(config, "utf8")).toMatch(/"pi_\d+_/);

		const other = new RpcClient(sandbox, { extensions });
		await other.prompt("hello from another");
		expect(await answerTo(pi, "/agy uninstall --yes")).toBe(
			`Nothing was removed: another pi uses pi-agy (process ${other.pi.pid}). Close it, then try again.`,
		);
		expect(await other.close()).toEqual({ code: 0, signal: null });

		expect(await answerTo(pi, "/agy uninstall", false)).toMatch(/Nothing was removed\.$/);
		expect(existsSync(join(sandbox.agentDir, "pi-agy", "reports"))).toBe(true);
		const { removed } = JSON.parse(await answerTo(pi, "/agy uninstall --json"));
		expect(removed).toEqual([]);

		const text = await answerTo(pi, "/agy uninstall", true);
		expect(text).toMatch(
			/^Removed: .*data folder.*1 agent file, 1 entry of mcp_config\.json.*1 temporary folder, 1 process\./,
		);
		expect(text).toContain("Looked again, and nothing of pi-agy's is left in:");
		expect(text).toContain(`- ${strange}: it has no name that pi-agy gives`);
		expect(text).toContain("leave it out of the arguments (-e)");
		expect(readdirSync(join(sandbox.agentDir, "pi-agy"))).toEqual(["notes.txt"]);
		expect(readFileSync(config, "utf8")).toBe('{\n\t// mine\n\t"mcpServers": {"other": {"command": "x"}}\n}\n');
		expect(readdirSync(dirname(mine))).toEqual(["reviewer.md"]);
		expect(sandbox.leftInTemp()).toEqual([]);
		expect(sandbox.agyProcesses().map(({ pid }) => pid)).not.toContain(run?.pid);

		for (const command of [
			"/agy mode plan",
			"/agy clear",
			"/agy report",
			"/agy doctor",
			"/agy",
			"/agy uninstall --yes",
		])
			expect(await answerTo(pi, command)).toBe("pi-agy was uninstalled in this session. Start pi anew.");
		const refused = answer(await pi.prompt("again"));
		expect(refused.errorMessage).toMatch(/pi-agy was uninstalled in this session/);
		expect(refused.stopReason).toBe("error"); // Of "aborted" pi shows no text.
		expect(await pi.close()).toEqual({ code: 0, signal: null });
		expect(readdirSync(join(sandbox.agentDir, "pi-agy"))).toEqual(["notes.txt"]);
	});

	it("asks on the screen, with everything that would go", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const pi = new PiTerminal(sandbox);
		try {
			await pi.started();
			await pi.enter("/agy uninstall");
			await pi.shows("Remove everything of pi-agy's?");
			await pi.shows("pi-agy/models-cache.json");
			await pi.shows(/Left:\s+- .*antigravity-cli: agy's own conversations/);
			pi.type(KEY.escape);
			await pi.shows("Nothing was removed.");
			expect(existsSync(join(sandbox.agentDir, "pi-agy", "models-cache.json"))).toBe(true);
			await pi.quit();
		} finally {
			pi.destroy();
		}
	});

	it("does it in print mode when it is told to, and nothing comes back when pi ends", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const listed = await printPi(sandbox, ["/agy uninstall --json"]);
		expect(JSON.parse(listed.stdout)).toMatchObject({ removed: [] });
		expect(existsSync(join(sandbox.agentDir, "pi-agy", "models-cache.json"))).toBe(true);
		const pi = await printPi(sandbox, ["/agy uninstall --yes --json"]);
		const { proof, left } = JSON.parse(pi.stdout);
		expect(proof).toMatchObject({ isClean: true, remaining: [] });
		expect(left).toContainEqual({
			path: join(sandbox.simHome, "antigravity-cli"),
			why: "agy's own conversations and settings",
		});
		expect([pi.stderr, pi.exit?.code]).toEqual(["", 0]);
		expect(existsSync(join(sandbox.agentDir, "pi-agy"))).toBe(false);
	});
});

function link(target: string, path: string): void {
	mkdirSync(dirname(path), { recursive: true });
	symlinkSync(target, path);
}
