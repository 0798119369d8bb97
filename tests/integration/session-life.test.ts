/** The life of pi sessions in one pi: reload, new, fork, resume, tree, and calls that are no part of the conversation. */
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { childrenOf, threadCount, zombiesOf } from "../support/process-table.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { Sandbox } from "../support/sandbox.ts";
import { answer, textOf } from "../support/transcript.ts";

const SESSION_COMMANDS = join(import.meta.dirname, "..", "support", "session-commands.ts");
const CYCLES = 4;

type State = { readonly sessionId: string; readonly sessionFile: string };

let sandbox: Sandbox;
afterEach(() => sandbox.close());

function startPi(): RpcClient {
	sandbox.seedModels();
	return new RpcClient(sandbox, { session: ["--session-dir", sandbox.sessionDir], extensions: [SESSION_COMMANDS] });
}

/** The simulator answers with what it was told: the words, behind the session's history where that was rebuilt. */
async function say(pi: RpcClient, text: string): Promise<void> {
	expect(textOf(answer(await pi.prompt(text)))).toMatch(
		new RegExp(`^(The conversation so far is in the file .+\n\n)?${text}$`),
	);
}

/** The entries of the user's messages, oldest first. */
async function userEntries(pi: RpcClient): Promise<readonly string[]> {
	const { messages } = await pi.request<{ messages: { entryId: string }[] }>("get_fork_messages");
	return messages.map((message) => message.entryId);
}

describe("six times reload, new, fork, resume and tree", () => {
	it("leave no thread, process, zombie or file behind", async () => {
		sandbox = new Sandbox();
		const pi = startPi();
		await say(pi, "first");
		const { pid } = pi.pi;
		let threads = 0;
		for (let cycle = 0; cycle < CYCLES; cycle++) {
			// A session that says nothing starts nothing, so the kinds take turns in saying something.
			const isEven = cycle % 2 === 0;
			const home = await pi.request<State>("get_state");
			await pi.command("/test-reload");
			if (isEven) await say(pi, `reloaded ${cycle}`);
			await pi.request("fork", { entryId: (await userEntries(pi))[0] });
			if (!isEven) await say(pi, `forked ${cycle}`);
			await pi.request("new_session");
			if (isEven) await say(pi, `new ${cycle}`);
			await pi.request("switch_session", { sessionPath: home.sessionFile });
			expect((await pi.request<State>("get_state")).sessionId).toBe(home.sessionId);
			if (!isEven) await say(pi, `resumed ${cycle}`);
			await pi.command(`/test-tree ${(await userEntries(pi)).at(-1)}`);
			await say(pi, `branched ${cycle}`);

			await until(
				() => `one agy and one guardian; children: ${JSON.stringify(childrenOf(pid))}`,
				() => childrenOf(pid).length === 2 && zombiesOf(pid).length === 0,
			);
			expect(sandbox.leftInTemp().map((name) => name.slice(0, 7))).toEqual(["pi-agy-"]);
			// The first cycles start what every process has only once, the threads of libuv for example.
			if (cycle < 2) threads = threadCount(pid);
			await until(
				() => `no more than ${threads} threads in cycle ${cycle}: ${threadCount(pid)}`,
				() => threadCount(pid) <= threads,
			);
		}
		expect(sandbox.agyProcesses()).toHaveLength(1);
		await pi.close();
		expect(pi.pi.stderr).toBe("");
		expect(sandbox.leftInTemp()).toEqual([]);
	}, 300_000);
});

describe("a call that is no part of the conversation", () => {
	it("gets a process and a conversation of its own, and leaves the user's alone", async () => {
		sandbox = new Sandbox({
			scenario: {
				turns: [
					{ match: "conversation|summar", steps: [{ kind: "text", text: "They talked." }] },
					{ steps: [{ kind: "text", text: "{{prompt}}" }] },
				],
			},
		});
		sandbox.write("agent/settings.json", JSON.stringify({ compaction: { keepRecentTokens: 1 } }));
		const pi = startPi();
		for (const text of ["one", "two", "three"]) await say(pi, text);
		const { summary } = await pi.request<{ summary: string }>("compact");
		expect(summary).toContain("They talked.");

		const [user, ...summaries] = sandbox.runs();
		expect(user?.prompts).toEqual(["one", "two", "three"]);
		expect(summaries.length).toBeGreaterThan(0); // pi asks for as many as it likes
		for (const { prompts, argv } of summaries) {
			expect(prompts).toEqual([expect.stringContaining("summar")]);
			expect(argv).not.toContain("--conversation");
			expect(argv).not.toContain("--dangerously-skip-permissions");
		}
		await until("only the user's process is left", () => sandbox.agyProcesses().length === 1);
		expect(sandbox.agyProcesses()[0]?.pid).toBe(user?.pid);
		const told = JSON.parse(
			sandbox.read("sim/antigravity-cli/conversations/c0ffee00-0000-4000-8000-000000000001.json"),
		);
		expect(told.turns.map((turn: { prompt: string }) => turn.prompt)).toEqual(["one", "two", "three"]);
		await pi.close();
		expect(pi.pi.stderr).toBe("");
	});
});
