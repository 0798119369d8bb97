/** What the user says reaches agy: all of it, once, in order, whatever its form and size. */
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { SdkStage } from "../support/sdk-stage.ts";
import { answer, textOf } from "../support/transcript.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const LIMIT_BYTES = 25_600;
const ECHO = { steps: [{ kind: "text", text: "{{prompt}}", deltaChars: 0 }] };
const TOOL = { kind: "tool", name: "run_command", permission: "allowed", output: "ran" };

const stage = new SdkStage();

/** A turn whose tool waits for a gate. */
function toolTurn(match: string, name: string) {
	return {
		match,
		steps: [
			{ ...TOOL, end: "open" },
			{ kind: "touch", marker: `${name}-runs` },
			{ kind: "wait", gate: `${name}-go` },
			{ kind: "text", text: "Done.", deltaChars: 0 },
		],
	};
}

describe("agy is told", () => {
	it("two messages that the user sent one after the other", async () => {
		const session = await stage.open();
		await session.session.sendCustomMessage({ customType: "note", content: "said first", display: true });
		expect(await session.ask("said second")).toBe("said first\n\nsaid second");
		expect(await session.ask("said third")).toBe("said third");
	});

	it("what the user said while a tool ran, once and in order", async () => {
		const session = await stage.open({ scenario: { turns: [toolTurn("^work", "steered"), ECHO] } });
		const turn = session.turn("work");
		await stage.sandbox.reached("steered-runs");
		await session.session.steer("one thing");
		await session.session.steer("and another");
		stage.sandbox.openGate("steered-go");
		await turn;
		expect(session.prompts().join("\n\n").split("\n\n")).toEqual(["work", "one thing", "and another"]);
		expect(await session.ask("next")).toBe("next");
		expect(session.prompts().filter((prompt) => /one thing|and another/.test(prompt)).length).toBeLessThanOrEqual(2);
	});

	it("what the user queued for after the answer", async () => {
		const session = await stage.open({ scenario: { turns: [toolTurn("^work", "followed"), ECHO] } });
		const turn = session.turn("work");
		await stage.sandbox.reached("followed-runs");
		await session.session.followUp("afterwards");
		stage.sandbox.openGate("followed-go");
		expect(textOf(answer(await turn))).toBe("afterwards");
		expect(session.prompts()).toEqual(["work", "afterwards"]);
	});

	it("what another extension says before the user's words", async () => {
		const session = await stage.open({
			extensions: [
				(pi: ExtensionAPI) => {
					pi.on("before_agent_start", () => ({
						message: { customType: "weather", content: "It is raining.", display: false },
					}));
				},
			],
		});
		const told = await session.ask("shall I go out?");
		expect(told.split("\n\n").toSorted()).toEqual(["It is raining.", "shall I go out?"]);
		expect(session.prompts()).toHaveLength(1);
	});

	it.each(["/", "/unknown command", "/model gemini", "-p --help", "{{not ours}}"])("%s as it is", async (text) => {
		const session = await stage.open();
		expect(await session.ask(text)).toBe(text);
		expect(session.runs()[0]?.argv).toContain("--disable-slash-commands");
	});

	it("a prompt of 200 KB, in a private file that is gone with the session", async () => {
		const session = await stage.open();
		const long = "All work and no play.\n".repeat(9_400);
		const said = await session.ask(long);
		expect(said).toMatch(/^The user's message is in the file \/\S+\.md, because it is long\. Read that whole file/);
		const [path = ""] = /\/\S+\.md/.exec(said) ?? [];
		expect(await readFile(path, "utf8")).toBe(long);
		expect(statSync(path).mode & 0o777).toBe(0o600);
		const [run] = session.runs();
		expect(run?.argv.some((argument) => argument !== "/" && path.startsWith(`${argument}/`))).toBe(true);
		expect(await session.ask("short")).toBe("short");
		await session.close();
		expect(() => statSync(path)).toThrow();
	});

	it.each([
		{ name: "by the agent file", env: {} },
		{ name: "by a file of the prompt where AGY_AGENT names another agent", env: { AGY_AGENT: "mine" } },
	])("a system prompt of 150 KB beside a prompt of 200 KB, $name", async ({ env }) => {
		const rules = "Never play.\n".repeat(12_800);
		const session = await stage.open({
			env,
			extensions: [(pi: ExtensionAPI) => void pi.on("before_agent_start", () => ({ systemPrompt: rules }))],
		});
		const long = "All work and no play.\n".repeat(9_400);
		const said = await session.ask(long);
		const [run] = session.runs();
		const argv = run?.argv ?? [];
		for (const argument of argv) expect(Buffer.byteLength(argument)).toBeLessThan(4_096);
		expect(Buffer.byteLength(argv.join(" "))).toBeLessThan(32_000);
		expect(session.prompts()).toEqual([said]);
		const told = stage.sandbox.filesOf(said);
		expect(told.at(-1)).toBe(long);
		const agent = argv[argv.indexOf("--agent") + 1];
		const instructions =
			agent === "mine"
				? told[0]
				: await readFile(join(stage.sandbox.simHome, "config", "agents", `${agent}.md`), "utf8");
		expect(instructions).toContain(rules.trim());
	});

	it("a prompt just above what agy takes, and one just below as it is", async () => {
		const session = await stage.open();
		const above = "a".repeat(LIMIT_BYTES + 1);
		const said = await session.ask(above);
		expect(stage.sandbox.filesOf(said)).toEqual([above]);
		const below = "b".repeat(19_000);
		expect(await session.ask(below)).toBe(below);
		expect(session.runs()).toHaveLength(1); // a dropped prompt would have cost the conversation
	});

	it("of an image by the path of a private copy", async () => {
		const session = await stage.open();
		const images = [{ type: "image" as const, data: PNG, mimeType: "image/png" }];
		const said = textOf(answer(await session.turn("what is this?", { images })));
		expect(said).toContain("what is this?");
		const [, path = ""] = /@(\/\S+\.png)/.exec(said) ?? [];
		expect((await readFile(path)).subarray(1, 4).toString()).toBe("PNG");
		expect(statSync(path).mode & 0o777).toBe(0o600);
	});
});

it("agy works where its session does, also beside another one", async () => {
	const scenario = { turns: [{ steps: [{ kind: "text", text: "{{workspace}}", deltaChars: 0 }] }] };
	const sessions = [await stage.open({ scenario }), await stage.open({ scenario })];
	const places = await Promise.all(sessions.map((session) => session.ask("where are you?")));
	expect(places).toEqual(sessions.map((session) => session.cwd));
	expect(new Set(places).size).toBe(2);
});

describe("what could not be delivered", () => {
	it("because the process crashed in the turn, comes with the next prompt", async () => {
		const crash = {
			match: "^work",
			steps: [
				{ ...TOOL, end: "open" },
				{ kind: "touch", marker: "crash-soon" },
				{ kind: "wait", gate: "crash-now" },
				{ kind: "crash", exitCode: 1 },
			],
		};
		const session = await stage.open({ scenario: { turns: [crash, ECHO] } });
		const turn = session.turn("work");
		await stage.sandbox.reached("crash-soon");
		await session.session.steer("by the way");
		stage.sandbox.openGate("crash-now");
		expect(answer(await turn)).toMatchObject({ stopReason: "error" });
		expect(session.prompts()).toEqual(["work"]);
		expect(await session.ask("go on")).toBe("by the way\n\ngo on");
		expect(session.runs()).toHaveLength(2);
		expect(session.runs()[1]?.argv).toContain("--conversation");
	});
});
