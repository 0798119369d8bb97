/** pi's system prompt on its way to agy, the files that carry it, and the flags that settings turn into. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { type AgyRun, Sandbox } from "../support/sandbox.ts";
import { SdkStage } from "../support/sdk-stage.ts";
import { answer, story, textOf } from "../support/transcript.ts";

const stage = new SdkStage();

function agentOf(run: AgyRun | undefined): string | null {
	const at = run?.argv.indexOf("--agent") ?? -1;
	return at === -1 ? null : (run?.argv[at + 1] ?? null);
}

describe("the file that holds pi's system prompt", () => {
	let sandbox: Sandbox | undefined;
	afterEach(() => sandbox?.close());

	function agentFiles({ simHome }: Sandbox): readonly string[] {
		const folder = join(simHome, "config", "agents");
		return existsSync(folder) ? readdirSync(folder) : [];
	}

	it("is private, is there while pi runs, and is gone with it", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const pi = new RpcClient(sandbox);
		expect(textOf(answer(await pi.prompt("hello")))).toBe("hello");
		const agent = agentOf(sandbox.runs()[0]);
		expect(agent).toMatch(/^pi-agy-[0-9a-f]{16}$/);
		expect(agentFiles(sandbox)).toEqual([`${agent}.md`]);
		const path = join(sandbox.simHome, "config", "agents", `${agent}.md`);
		expect(statSync(path).mode & 0o777).toBe(0o600);
		expect(readFileSync(path, "utf8")).toContain(sandbox.workspace);
		await pi.close();
		expect(agentFiles(sandbox)).toEqual([]);
	});

	it("that a killed pi left is removed by the next one", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const killed = new RpcClient(sandbox);
		await killed.prompt("hello");
		expect(agentFiles(sandbox)).toHaveLength(1);
		killed.pi.kill("SIGKILL");
		await killed.pi.finished();
		await until("its agy is gone", () => sandbox?.agyProcesses().length === 0);
		expect(agentFiles(sandbox)).toHaveLength(1);

		const next = new RpcClient(sandbox, { env: { AGY_SYSTEM_PROMPT: "off" } });
		await next.prompt("hello again");
		expect(agentFiles(sandbox)).toEqual([]);
		expect(agentOf(sandbox.runs().at(-1))).toBeNull();
		await next.close();
	});
});

describe("pi's system prompt", () => {
	it("is in the agent file as the session has it, and not in the prompt", async () => {
		const session = await stage.open();
		expect(await session.ask("hello")).toBe("hello");
		const file = join(stage.sandbox.simHome, "config", "agents", `${agentOf(session.runs()[0])}.md`);
		const said = readFileSync(file, "utf8");
		expect(session.session.systemPrompt).not.toBe("");
		expect(said).toContain(session.session.systemPrompt.trim());
	});

	it("that an extension changes between two turns is another agent file for the same conversation", async () => {
		let advice = "Be brief.";
		const session = await stage.open({
			extensions: [
				(pi: ExtensionAPI) => {
					pi.on("before_agent_start", ({ systemPrompt }) => ({ systemPrompt: `${systemPrompt}\n\n${advice}` }));
				},
			],
		});
		const { responseId } = answer(await session.turn("one"));
		advice = "Be thorough.";
		expect(await session.ask("two")).toBe("two");
		const [brief, thorough] = session.runs();
		expect(agentOf(thorough)).not.toBe(agentOf(brief));
		for (const [run, words] of [
			[brief, "Be brief."],
			[thorough, "Be thorough."],
		] as const)
			expect(readFileSync(join(stage.sandbox.simHome, "config", "agents", `${agentOf(run)}.md`), "utf8")).toContain(
				words,
			);
		expect(thorough?.argv.join(" ")).toContain(`--conversation ${responseId}`);
		expect(thorough?.prompts).toEqual(["two"]);
	});

	it("stays away with AGY_SYSTEM_PROMPT=off", async () => {
		const session = await stage.open({ env: { AGY_SYSTEM_PROMPT: "off" } });
		expect(await session.ask("hello")).toBe("hello");
		expect(agentOf(session.runs()[0])).toBeNull();
	});

	it("goes with the first prompt alone when AGY_AGENT names another agent", async () => {
		const session = await stage.open({ env: { AGY_AGENT: "mine" } });
		await session.ask("one");
		expect(await session.ask("two")).toBe("two");
		const [run] = session.runs();
		expect(agentOf(run)).toBe("mine");
		expect(run?.prompts[0]).toMatch(/^Instructions from pi, the program you work in:[\s\S]*\n\none$/);
		expect(run?.prompts[0]).toContain(session.session.systemPrompt.trim());
		session.session.setThinkingLevel("high");
		expect(await session.ask("three")).toBe("three"); // nor when the conversation is resumed
	});
});

describe("AGY_MODE=plan", () => {
	it("is passed on, without the flag that would override it", async () => {
		const session = await stage.open({ env: { AGY_MODE: "plan" } });
		await session.turn("make a plan");
		const argv = session.runs()[0]?.argv ?? [];
		expect(argv.join(" ")).toContain("--mode plan");
		expect(argv).not.toContain("--dangerously-skip-permissions");
		expect(argv).not.toContain("--disable-slash-commands");
	});

	it("is no protection: agy edits after its plan, and the user is told once", async () => {
		const session = await stage.open({ scenario: "plan", env: { AGY_MODE: "plan" } });
		const turn = await session.turn("make a plan");
		expect(story(turn).filter((part) => part === "[write_to_file]")).toHaveLength(2);
		expect(existsSync(join(session.cwd, "hooked.txt"))).toBe(true);
		await session.turn("make another one");
		expect(session.notices).toEqual([expect.stringMatching(/plan mode is no protection/)]);
	});

	it("does not take a prompt for one of agy's commands", async () => {
		const session = await stage.open({ env: { AGY_MODE: "plan" } });
		expect(await session.ask("/model is a path here")).toBe("The user says: /model is a path here");
	});
});
