/** What agy is told when pi's history is not what agy knows, and what the user is told about it. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fauxAssistantMessage, fauxProvider } from "@earendil-works/pi-ai";
import { type ExtensionAPI, SessionManager } from "@earendil-works/pi-coding-agent";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { killQuietly } from "../support/process-table.ts";
import type { AgyRun } from "../support/sandbox.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage } from "../support/sdk-stage.ts";
import { answer, textOf } from "../support/transcript.ts";

const ECHO = { steps: [{ kind: "text", text: "heard: {{prompt}}", deltaChars: 0 }] };
const SUMMARY = { match: "<conversation>|summar", steps: [{ kind: "text", text: "They counted.", deltaChars: 0 }] };
const KEEP_NOTHING = { compaction: { keepRecentTokens: 1 } };

const stage = new SdkStage();

async function counted(session: SdkSession): Promise<void> {
	for (const word of ["one", "two", "three"]) expect(await session.ask(word)).toBe(`heard: ${word}`);
}

/** The entry of the user's message. */
function entryOf(session: SdkSession, text: string): string {
	const entry = session.session.getUserMessagesForForking().find((message) => message.text === text);
	if (!entry) throw new Error(`no message ${text}`);
	return entry.entryId;
}

/** A process that ends with the turn: a tool of it is still open. */
const LEAVES = {
	match: "^one$",
	steps: [{ kind: "tool", name: "run_command", permission: "allowed", end: "open" }, ...ECHO.steps],
};

/** An agy that no pi started takes the conversation. */
async function foreignAgyOn(conversationId: string): Promise<{ readonly pid: number; end(): Promise<void> }> {
	const { sandbox } = stage;
	const streams = ["--input-format", "stream-json", "--output-format", "stream-json"];
	const args = [...streams, "--add-dir", sandbox.path, "--conversation", conversationId];
	const agy = spawn(sandbox.env.AGY_BIN as string, args, { env: sandbox.env, stdio: ["pipe", "ignore", "ignore"] });
	const pid = agy.pid as number;
	await until(
		"the foreign agy is on the conversation",
		() => sandbox.read(`sim/antigravity-cli/presence/${conversationId}.lock`) === `${pid}\n`,
	);
	return {
		pid,
		end: async () => {
			killQuietly(pid);
			await until("the foreign agy is gone", () => agy.exitCode !== null || agy.signalCode !== null);
		},
	};
}

/** The file of the agent that a run was started with. */
function agentFileOf(run: AgyRun | undefined): string {
	const name = run?.argv[run.argv.indexOf("--agent") + 1];
	return readFileSync(join(stage.sandbox.simHome, "config", "agents", `${name}.md`), "utf8");
}

/** The last prompt stands in a fresh conversation: what the user said last, and the history that was told before it. */
function rebuilt(session: SdkSession, said: string): string {
	const run = session.runs().at(-1);
	expect(run?.argv).not.toContain("--conversation");
	expect(run?.prompts).toHaveLength(1);
	expect(run?.prompts[0]).toMatch(new RegExp(`^The conversation so far is in the file \\S+\\. [^\n]*\n\n${said}$`));
	const files = stage.sandbox.filesOf(run?.prompts[0]);
	expect(files).toHaveLength(1);
	return files[0] as string;
}

describe("a fresh conversation gets the session's history", () => {
	describe("of one that is counted up to three, and then goes one way after the other,", () => {
		let session: SdkSession;
		let three: string;
		let noticed = 0;
		beforeAll(async () => {
			session = await stage.open({ scenario: { turns: [ECHO] }, isKept: true });
			await counted(session);
			three = session.session.sessionManager.getLeafId() as string;
		});
		// Each case starts at the third count, whatever the one before did, and sees its own notices.
		beforeEach(async () => {
			if (session.session.sessionManager.getLeafId() !== three) await session.session.navigateTree(three);
			noticed = session.notices.length;
		});
		afterAll(() => session.close());

		const notices = () => session.notices.slice(noticed);

		it("after a branch", async () => {
			const parent = session.session.sessionManager.getEntry(entryOf(session, "three"))?.parentId as string;
			await session.session.navigateTree(parent);
			await session.ask("four");
			const history = rebuilt(session, "four");
			for (const said of ["one", "heard: one", "two", "heard: two"]) expect(history).toContain(said);
			expect(history).not.toContain("three");
			expect(notices()).toEqual([expect.stringMatching(/fresh conversation.*changed by a branch, a fork or an edit/)]);

			await session.ask("five");
			expect(session.runs().at(-1)?.prompts.at(-1)).toBe("five");
			expect(notices()).toHaveLength(1);
		});

		it("after an edit of what the user said", async () => {
			expect((await session.session.navigateTree(entryOf(session, "two"))).editorText).toBe("two");
			await session.ask("second");
			const history = rebuilt(session, "second");
			expect(history).toContain("heard: one");
			expect(history).not.toMatch(/two|three/);
			expect(notices()).toEqual([expect.stringMatching(/changed by a branch, a fork or an edit/)]);
		});

		it("after the return to a branch that was left, though that one is longer", async () => {
			await session.session.navigateTree(entryOf(session, "two"));
			await session.ask("aside");
			await session.session.navigateTree(three);
			await session.ask("four again");
			const history = rebuilt(session, "four again");
			expect(history).toContain("heard: three");
			expect(history).not.toContain("aside");
		});

		it("but none after an edit of the first message, where there is none", async () => {
			await session.session.navigateTree(entryOf(session, "one"));
			expect(await session.ask("first")).toBe("heard: first");
			expect(session.runs().at(-1)).toMatchObject({ prompts: ["first"] });
			expect(session.runs().at(-1)?.argv).not.toContain("--conversation");
			expect(notices()).toEqual([]);
		});
	});

	it("after pi compacted", async () => {
		const session = await stage.open({ scenario: { turns: [SUMMARY, ECHO] }, settings: KEEP_NOTHING });
		await counted(session);
		await session.session.compact();
		await session.ask("four");
		const history = rebuilt(session, "four");
		expect(history).toContain("They counted.");
		expect(history).not.toContain("heard: one");
		expect(session.notices).toEqual([expect.stringMatching(/because pi compacted the conversation/)]);
	});

	it("when agy does not know the conversation any more", async () => {
		const session = await stage.open({ scenario: { turns: [LEAVES, ECHO] } });
		const first = answer(await session.turn("one"));
		await until("the process is gone", () => stage.sandbox.agyProcesses().length === 0);
		// Unreadable instead of gone, or the simulator would give its number away again.
		stage.sandbox.write(`sim/antigravity-cli/conversations/${first.responseId}.json`, "");
		await session.ask("two");
		expect(rebuilt(session, "two")).toContain("heard: one");
		expect(session.runs()).toMatchObject([{ prompts: ["one"] }, { prompts: [] }, {}]);
		expect(session.runs()[1]?.argv.join(" ")).toContain(`--conversation ${first.responseId}`);
		expect(session.notices).toEqual([expect.stringMatching(/does not know the conversation \S+ any more/)]);
		await session.ask("three");
		expect(session.runs().at(-1)?.prompts.at(-1)).toBe("three");
		expect(session.notices).toHaveLength(1);
	});

	it("when an agy that no pi started is on the conversation", async () => {
		const session = await stage.open({
			scenario: { behaviour: { conversationInUse: "error" }, turns: [LEAVES, ECHO] },
		});
		const first = answer(await session.turn("one"));
		await until("the process is gone", () => stage.sandbox.agyProcesses().length === 0);
		const foreign = await foreignAgyOn(first.responseId as string);
		const said = await session.ask("two").finally(() => foreign.end());
		expect(said).toMatch(/^heard: [\s\S]*\n\ntwo$/);
		expect(rebuilt(session, "two")).toContain("heard: one");
		expect(session.runs()).toMatchObject([{ prompts: ["one"] }, { prompts: [] }, {}]);
		expect(session.runs()[1]?.argv.join(" ")).toContain(`--conversation ${first.responseId}`);
		expect(stage.sandbox.runs().find((run) => run.pid === foreign.pid)?.prompts).toEqual([]);
	});

	it("in the workspace to which it was taken, because agy's conversation stays where it was born", async () => {
		const there = { steps: [{ kind: "text", text: "{{workspace}} heard: {{prompt}}", deltaChars: 0 }] };
		const sessionManager = SessionManager.create(stage.sandbox.workspace, stage.sandbox.sessionDir);
		const old = await stage.open({ scenario: { turns: [there] }, sessionManager });
		expect(await old.ask("one")).toBe(`${old.cwd} heard: one`);
		await old.close();
		const moved = await stage.open({
			scenario: { turns: [there] },
			sessionManager: SessionManager.open(sessionManager.getSessionFile() as string, stage.sandbox.sessionDir),
		});
		expect(moved.cwd).not.toBe(old.cwd);
		expect(moved.session.sessionId).toBe(old.session.sessionId);
		expect(await moved.ask("two")).toMatch(new RegExp(`^${moved.cwd} heard: [\\s\\S]*\n\ntwo$`));
		expect(rebuilt(moved, "two")).toContain("heard: one");
	});

	it("when agy resumes another conversation than the one asked for", async () => {
		const session = await stage.open({ scenario: { start: { resume: "other" }, turns: [ECHO] } });
		await session.ask("one");
		session.session.setThinkingLevel("high");
		await session.ask("two");
		expect(rebuilt(session, "two")).toContain("heard: one");
		expect(session.runs().map((run) => run.prompts.length)).toEqual([1, 0, 1]);
		expect(session.notices).toEqual([expect.stringMatching(/does not know the conversation/)]);
	});

	it("with the next prompt, when an old agy names the other conversation only afterwards", async () => {
		const session = await stage.open({
			scenario: { start: { resume: "other" }, turns: [ECHO] },
			version: "1.1.30",
		});
		await session.ask("one");
		session.session.setThinkingLevel("high");
		await session.ask("two");
		expect(session.runs().at(-1)?.prompts).toEqual(["two"]);
		expect(session.notices).toEqual([expect.stringMatching(/gets the session's history with the next prompt/)]);
		await session.ask("three");
		const history = rebuilt(session, "three");
		for (const said of ["heard: one", "heard: two"]) expect(history).toContain(said);
	});
});

describe("the conversation goes on", () => {
	it("after a turn by another provider, and is told of it", async () => {
		const faux = fauxProvider({ provider: "faux" });
		for (const digest of ["off", "on"]) {
			faux.setResponses([fauxAssistantMessage("I am another model.")]);
			const session = await stage.open({
				scenario: { turns: [ECHO] },
				env: { AGY_DIGEST: digest },
				extensions: [(pi: ExtensionAPI) => pi.registerProvider(faux.provider)],
			});
			await session.ask("one");
			const { model } = session.session;
			await session.session.setModel(faux.getModel());
			expect(await session.ask("who are you?")).toBe("I am another model.");
			await session.session.setModel(model as NonNullable<typeof model>);
			session.session.setThinkingLevel("medium"); // the other model has no levels
			await session.ask("and you?");
			const [run] = session.runs();
			expect(session.runs()).toHaveLength(1);
			expect(run?.prompts[1]).toMatch(/and you\?$/);
			const told = digest === "on" ? (run?.prompts[1] ?? "") : stage.sandbox.filesOf(run?.prompts[1]).join("");
			expect(told).toMatch(/who are you\?[\s\S]*I am another model\./);
			expect(told).not.toContain("heard: one");
			expect(session.notices).toEqual([]);
		}
	});

	it("in another process when the model's level changes", async () => {
		const session = await stage.open({ scenario: { turns: [ECHO] } });
		const first = answer(await session.turn("one"));
		const agentBefore = agentFileOf(session.runs()[0]);
		session.session.setThinkingLevel("high");
		expect(await session.ask("two")).toBe("heard: two");
		const [before, after] = session.runs();
		expect(agentFileOf(after)).toBe(agentBefore);
		expect(after?.argv[after.argv.indexOf("--agent") + 1]).toBe(before?.argv[before.argv.indexOf("--agent") + 1]);
		expect(after?.argv.join(" ")).toContain(`--conversation ${first.responseId}`);
		expect(after?.argv.join(" ")).toContain("--model gemini-3.8-flash-high");
		expect(after?.pid).not.toBe(before?.pid);
		expect(session.notices).toEqual([]);
	});
});

describe("a context that is nearly full", () => {
	it("is compacted once, and the rebuilt conversation is small again", async () => {
		const full = {
			kind: "text",
			text: "Long.",
			deltaChars: 0,
			usage: { inputTokens: 190_000, cacheReadTokens: 800_000 },
		};
		const small = { kind: "text", text: "Short.", deltaChars: 0, usage: { inputTokens: 3_000 } };
		const session = await stage.open({
			scenario: {
				turns: [SUMMARY, { match: "is in the file|again", steps: [small] }, { steps: [small] }, { steps: [full] }],
			},
			settings: KEEP_NOTHING,
		});
		const compactions = () => session.records.filter((record) => record.type === "compaction_start").length;
		await session.ask("one");
		expect(compactions()).toBe(0);
		expect(answer(await session.turn("two")).usage.totalTokens).toBe(990_000);
		expect(compactions()).toBe(1);
		const after = await session.turn("three");
		expect(textOf(answer(after))).toBe("Short.");
		expect(answer(after).usage.totalTokens).toBe(3_000);
		expect(rebuilt(session, "three")).toContain("They counted.");
		await session.turn("once again");
		expect(compactions()).toBe(1);
		expect(session.runs().at(-1)?.prompts.at(-1)).toBe("once again");
	});
});

describe("agy running another model than the one asked for", () => {
	it("is told once", async () => {
		const session = await stage.open({ scenario: { start: { initModel: "gemini-3.1-pro-low" }, turns: [ECHO] } });
		await session.ask("one");
		await session.ask("two");
		expect(session.notices).toEqual(["agy runs the model gemini-3.1-pro-low, not gemini-3.8-flash-medium as asked."]);
	});
});
