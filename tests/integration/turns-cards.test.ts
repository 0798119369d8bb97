/** agy's own steps as cards of pi's session: real files, real git, pi's real tools. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ExtensionAPI, initTheme } from "@earendil-works/pi-coding-agent";
import { beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { GitRepository } from "../support/git-repository.ts";
import type { ScenarioData } from "../support/sandbox.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage, type StageOptions } from "../support/sdk-stage.ts";
import { answer, assistantMessages, cards, story, textOf } from "../support/transcript.ts";

const stage = new SdkStage();

type ToolScript = Readonly<Record<string, unknown>> & { readonly name: string };

function script(...tools: readonly ToolScript[]): ScenarioData {
	const steps = tools.map((tool) => ({ kind: "tool", permission: "allowed", ...tool }));
	return { turns: [{ steps: [...steps, { kind: "text", text: "Done.\n", deltaChars: 0 }] }] };
}

const NAMES = ["read", "bash", "edit", "write", "ls", "grep", "find", "antigravity"];

/** A session whose folder holds these files, with all of pi's builtins on. */
async function openWith(files: Readonly<Record<string, string>>, options: StageOptions): Promise<SdkSession> {
	const session = await stage.open(options);
	for (const [name, content] of Object.entries(files)) stage.sandbox.write(join(relativeOf(session), name), content);
	session.session.setActiveToolsByName(NAMES);
	return session;
}

function relativeOf({ cwd }: SdkSession): string {
	return cwd.slice(stage.sandbox.path.length + 1);
}

const FILES = { "src/sum.ts": "one\ntwo\nthree\nfour\n", "notes.md": "TODO: more\n" };
const VIEW: ToolScript = { name: "view_file", parameters: { AbsolutePath: "{{workspace}}/src/sum.ts" } };

describe("a step that only looks", () => {
	it("is pi's own card, with pi's own result", async () => {
		const session = await openWith(FILES, {
			scenario: script(
				VIEW,
				{ name: "view_file", parameters: { AbsolutePath: "{{workspace}}/src/sum.ts", StartLine: "2", EndLine: 3 } },
				{ name: "list_dir", parameters: { DirectoryPath: "{{workspace}}" }, output: "agy's own words" },
				{ name: "grep_search", parameters: { SearchPath: "{{workspace}}", Query: "TODO" } },
				{ name: "find_by_name", parameters: { SearchDirectory: "{{workspace}}", Pattern: "*.ts" } },
			),
		});
		const turn = await session.turn("go");
		const shown = cards(turn);
		const path = join(session.cwd, "src/sum.ts");
		expect(shown.map(({ call }) => [call.name, call.arguments])).toEqual([
			["read", { path }],
			["read", { path, offset: 2, limit: 2 }],
			["ls", { path: session.cwd }],
			["grep", { pattern: "TODO", path: session.cwd, literal: true }],
			["find", { pattern: "*.ts", path: session.cwd }],
		]);
		// The last two need programs that pi fetches when they are not there.
		expect(shown.slice(0, 3).map(({ isError }) => isError)).toEqual([false, false, false]);
		expect(shown[0]?.output).toBe(FILES["src/sum.ts"]);
		expect(shown[1]?.output).toMatch(/^two\nthree\n/);
		expect(shown[2]?.output).toBe("notes.md\nsrc/");
		expect([textOf(answer(turn)), answer(turn).stopReason]).toEqual(["Done.\n", "stop"]);
	});

	it("leaves the conversation as it is: agy is told nothing of pi's result", async () => {
		const session = await openWith(FILES, { scenario: script(VIEW) });
		await session.turn("first");
		expect(cards(await session.turn("second"))).toMatchObject([{ call: { name: "read" } }]);
		expect(session.prompts()).toEqual(["first", "second"]);
		expect(session.runs()).toHaveLength(1);
		expect(session.notices).toEqual([]);
	});

	it.each([
		[
			"has an argument that pi does not know",
			{ ...VIEW, parameters: { ...(VIEW.parameters as object), Extra: 1 } },
			NAMES,
		],
		["is one for which pi has no tool at hand", VIEW, ["bash", "antigravity"]],
	])("and %s is shown with agy's words", async (_name, tool, names) => {
		const session = await openWith(FILES, { scenario: script({ ...tool, output: "4 lines, 19 bytes" }) });
		session.session.setActiveToolsByName([...names]);
		expect(cards(await session.turn("go"))).toMatchObject([
			{ call: { name: "antigravity" }, output: "4 lines, 19 bytes", isError: false },
		]);
	});

	it("and failed is red, with agy's error, and not run again", async () => {
		const session = await openWith(FILES, { scenario: script({ ...VIEW, end: "error", error: "permission denied" }) });
		expect(cards(await session.turn("go"))).toMatchObject([
			{ call: { name: "antigravity" }, output: "permission denied", isError: true, details: { state: "error" } },
		]);
	});

	it("is not run by another extension's tool of the same name", async () => {
		const ran: string[] = [];
		const override = (pi: ExtensionAPI) => {
			pi.registerTool({
				name: "read",
				label: "read",
				description: "Another one",
				parameters: { type: "object", properties: {} } as never,
				execute: async (callId) => {
					ran.push(callId);
					return { content: [], details: undefined };
				},
			});
		};
		const session = await openWith(FILES, { scenario: script(VIEW), extensions: [override] });
		expect(cards(await session.turn("go"))).toMatchObject([{ call: { name: "antigravity" } }]);
		expect(ran).toEqual([]);
	});

	it("may be refused by another extension; the turn goes on", async () => {
		const refuse = (pi: ExtensionAPI) => {
			pi.on("tool_call", ({ toolName }) => (toolName === "read" ? { block: true, reason: "not here" } : undefined));
		};
		const run = { name: "run_command", parameters: { CommandLine: "make" }, output: "made" };
		const session = await openWith(FILES, { scenario: script(VIEW, run), extensions: [refuse] });
		const turn = await session.turn("go");
		expect(cards(turn).map(({ call, isError }) => [call.name, isError])).toEqual([
			["read", true],
			["antigravity", false],
		]);
		expect([textOf(answer(turn)), answer(turn).stopReason]).toEqual(["Done.\n", "stop"]);
		expect(session.prompts()).toEqual(["go"]);
	});
});

describe("an edit", () => {
	beforeAll(() => initTheme("dark"));

	const edit = (name: string, text: string, more: object = {}): ToolScript => ({
		name: "replace_file_content",
		parameters: { TargetFile: `{{workspace}}/${name}` },
		writes: { path: name, text },
		...more,
	});

	/** The card is there, agy has not written yet. */
	async function release(session: SdkSession, gate: string, count: number): Promise<void> {
		await until(
			() => `card ${count}`,
			() => session.records.filter(({ type }) => type === "tool_execution_start").length === count,
		);
		stage.sandbox.openGate(gate);
	}

	it("shows what it changed, one after the other", async () => {
		repositoryOf("edits", { "a.ts": "one\ntwo\n" });
		const session = await stage.open({
			workspace: "edits",
			env: tellingGit("told-of-edits"),
			scenario: script(
				edit("a.ts", "one\n2\n", { gate: "first-edit" }),
				edit("a.ts", "one\n2\nthree\n", { gate: "second-edit" }),
				edit("new.ts", "fresh\n", { gate: "new-file" }),
				edit("a.ts", "one\n2\nthree\n"),
			),
		});
		const turn = session.turn("go");
		await untilGitHasTold("told-of-edits"); // A look that comes too late makes no difference then.
		await release(session, "first-edit", 1);
		await release(session, "second-edit", 2);
		await release(session, "new-file", 3);
		const shown = cards(await turn);
		expect(shown.map(({ output, details }) => [output, (details as { diff?: string }).diff])).toEqual([
			["a.ts: 1 added, 1 removed (lines).", " 1 one\n-2 two\n+2 2"],
			["a.ts: 1 added, 0 removed (lines).", " 1 one\n 2 2\n+3 three"],
			["new.ts: new file, 1 added, 0 removed (lines).", "+1 fresh"],
			["a.ts: no change beyond the diff of the edit before.", undefined],
		]);
		expect(shown.every(({ isError }) => !isError)).toBe(true);
		expect(readFileSync(join(session.cwd, "a.ts"), "utf8")).toBe("one\n2\nthree\n");
	});

	it("that is known only when it is done starts at git's commit", async () => {
		repositoryOf("late", { "a.ts": "one\n", "b.ts": "one\n" }).write("b.ts", "mine\n");
		const session = await stage.open({
			workspace: "late",
			env: tellingGit("told-of-late"),
			scenario: script(
				{ name: "run_command", parameters: { CommandLine: "look" }, gate: "git-has-told" },
				edit("a.ts", "one\ntwo\n", { active: 0 }),
				edit("b.ts", "mine\ntwo\n", { active: 0 }),
			),
		});
		const turn = session.turn("go");
		await untilGitHasTold("told-of-late");
		stage.sandbox.openGate("git-has-told");
		expect(cards(await turn).slice(1)).toMatchObject([
			{ output: "a.ts: 1 added, 0 removed (lines).", details: { diff: " 1 one\n+2 two" } },
			{ output: "b.ts: what stood there before the edit is not known, so there is no diff." },
		]);
	});

	it("that fails is red and has no diff", async () => {
		const session = await openWith({}, { scenario: "artifact-path" });
		const [card] = cards(await session.turn("go"));
		expect(card).toMatchObject({ isError: true });
		expect(card?.output).toContain("is not a valid artifact path");
		expect("diff" in (card?.details ?? {})).toBe(false);
	});

	it("of a binary file is told in one line", async () => {
		const session = await openWith(
			{},
			{ scenario: script(edit("a.bin", "", { writes: { path: "a.bin", base64: "AAECAw==" }, gate: "binary" })) },
		);
		const turn = session.turn("go");
		await release(session, "binary", 1);
		expect(cards(await turn)).toMatchObject([{ output: "a.bin: binary, no file before, 4 bytes now." }]);
	});
});

/** What a session needs for a git that says when it has told the state of a repository. */
function tellingGit(marker: string): Readonly<Record<string, string>> {
	const git = execFileSync("/bin/sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
	const script = `#!/bin/sh\n'${git}' "$@"\ncode=$?\n: > '${stage.sandbox.path}/${marker}'\nexit $code\n`;
	const path = stage.sandbox.write(`bin-${marker}/git`, script, 0o700);
	return { PATH: `${dirname(path)}:${process.env.PATH ?? ""}` };
}

async function untilGitHasTold(marker: string): Promise<void> {
	await until("git's answer", () => existsSync(join(stage.sandbox.path, marker)));
}

/** A workspace that is a repository without changes. */
function repositoryOf(name: string, files: Readonly<Record<string, string>>): GitRepository {
	const repo = new GitRepository(join(stage.sandbox.workspace, name));
	repo.commit(files);
	return repo;
}

describe("a command", () => {
	it("shows what it prints while it runs", async () => {
		const session = await openWith(
			{},
			{
				scenario: script({
					name: "run_command",
					parameters: { CommandLine: "make" },
					progress: ["building\n", "building\n4 of 9\n"],
					gate: "make-ends",
					output: "building\n9 of 9\n",
					durationSeconds: 1.5,
				}),
			},
		);
		const turn = session.turn("go");
		const printed = () =>
			session.records.flatMap((record) =>
				record.type === "tool_execution_update" ? (record.partialResult.content[0]?.text ?? "") : [],
			);
		await until(
			() => `its output, not ${JSON.stringify(printed())}`,
			() => printed().at(-1) === "building\n4 of 9\n",
		);
		stage.sandbox.openGate("make-ends");
		expect(cards(await turn)).toMatchObject([
			{ output: "building\n9 of 9\n", isError: false, details: { state: "done", durationMs: 1_500 } },
		]);
	});
});

describe("an image that agy made", () => {
	it("stands in its card", async () => {
		const session = await openWith({}, { scenario: "image" });
		const turn = await session.turn("draw a pixel");
		const [end] = turn.flatMap((record) => (record.type === "tool_execution_end" ? record : []));
		const [, path = ""] = /(\/\S+\/pixel\.png)/.exec(textOf(answer(turn))) ?? [];
		expect(end?.result.content).toEqual([
			{ type: "text", text: path },
			{ type: "image", mimeType: "image/png", data: readFileSync(path).toString("base64") },
		]);
	});
});

describe("AGY_STEPS=lines", () => {
	it("tells each step in a line of the thinking text, and runs nothing", async () => {
		const session = await openWith(FILES, {
			scenario: script(VIEW, { name: "run_command", parameters: { CommandLine: "make" }, end: "error", error: "no" }),
			env: { AGY_STEPS: "lines" },
		});
		const turn = await session.turn("go");
		expect(assistantMessages(turn)).toHaveLength(1);
		expect(cards(turn)).toEqual([]);
		expect(story(turn).join("")).toContain("[agy ran view_file]\n[agy ran run_command: no]\n");
		expect(textOf(answer(turn))).toBe("Done.\n");
	});

	it("misspelt is named, and cards are shown", async () => {
		const session = await openWith(FILES, { scenario: script(VIEW), env: { AGY_STEPS: "line" } });
		expect(session.notices.join()).toContain('AGY_STEPS is "line", which is not understood. Allowed: cards, lines.');
		expect(cards(await session.turn("go"))).toHaveLength(1);
	});
});
