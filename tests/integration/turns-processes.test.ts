/** Sessions and their conversations over several pi processes and session commands: new, fork, resume, and two at once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RpcClient } from "../support/rpc-client.ts";
import { Sandbox } from "../support/sandbox.ts";
import { answer, textOf } from "../support/transcript.ts";

const SCENARIO = { turns: [{ steps: [{ kind: "text", text: "heard: {{prompt}}", deltaChars: 0 }] }] };

let sandbox: Sandbox;
let pi: RpcClient;

beforeAll(() => {
	sandbox = new Sandbox({ scenario: SCENARIO });
	sandbox.seedModels();
	pi = startPi();
});
afterAll(() => sandbox.close());

function startPi(sessionFile?: string): RpcClient {
	const session = sessionFile === undefined ? [] : ["--session", sessionFile];
	return new RpcClient(sandbox, { session: ["--session-dir", sandbox.sessionDir, ...session] });
}

async function say(client: RpcClient, text: string): Promise<string> {
	return textOf(answer(await client.prompt(text)));
}

async function sessionFile(client: RpcClient): Promise<string> {
	return (await client.request<{ sessionFile: string }>("get_state")).sessionFile;
}

/** The conversation that the last agy was started with; null for a fresh one. */
function resumed(): string | null {
	const argv = sandbox.runs().at(-1)?.argv ?? [];
	const at = argv.indexOf("--conversation");
	return at === -1 ? null : (argv[at + 1] ?? null);
}

/** The agent that the last agy was started with, and its file. */
function agent(): { readonly name: string; readonly file: string } {
	const argv = sandbox.runs().at(-1)?.argv ?? [];
	const name = argv[argv.indexOf("--agent") + 1] ?? "";
	return { name, file: readFileSync(join(sandbox.simHome, "config", "agents", `${name}.md`), "utf8") };
}

describe("a session of pi", () => {
	it("that was forked goes on in a fresh conversation with its history", async () => {
		await say(pi, "one");
		await say(pi, "two");
		const { messages } = await pi.request<{ messages: { entryId: string; text: string }[] }>("get_fork_messages");
		await pi.request("fork", { entryId: messages.find(({ text }) => text === "two")?.entryId });
		const said = await say(pi, "three");
		expect(resumed()).toBeNull();
		expect(said).toMatch(/three$/);
		const [history] = sandbox.filesOf(said);
		expect(history).toContain("heard: one");
		expect(history).not.toContain("two");
		expect(pi.notices()).toEqual([expect.stringMatching(/fresh conversation with this session's history, because/)]);
		await say(pi, "four");
		expect(sandbox.prompts().at(-1)).toBe("four");
		expect(pi.notices()).toHaveLength(1);
	});

	it("that is new tells agy nothing but the prompt", async () => {
		await pi.request("new_session");
		expect(await say(pi, "fresh start")).toBe("heard: fresh start");
		expect(resumed()).toBeNull();
		expect(pi.notices()).toHaveLength(1);
	});

	it("that another pi process takes up as well gets a fresh conversation there, and says so", async () => {
		const file = await sessionFile(pi);
		const conversation = answer(await pi.prompt("mine")).responseId;
		const other = startPi(file);
		const said = await say(other, "yours");
		expect(resumed()).toBeNull();
		expect(said).toMatch(/yours$/);
		expect(sandbox.filesOf(said).join("")).toMatch(/fresh start[\s\S]*heard: mine/);
		expect(other.notices()).toEqual([
			expect.stringMatching(/Another pi process is working on this conversation\..*goes on with a fresh one/),
		]);
		await other.close();
		expect(answer(await pi.prompt("still mine"))).toMatchObject({ responseId: conversation, stopReason: "stop" });
		expect(sandbox.prompts().at(-1)).toBe("still mine");
	});

	it("that is taken up by a later pi goes on in its conversation", async () => {
		await pi.request("new_session");
		const conversation = answer(await pi.prompt("before")).responseId;
		const agentBefore = agent();
		const file = await sessionFile(pi);
		await pi.close();
		const later = startPi(file);
		expect(await say(later, "after")).toBe("heard: after");
		expect(resumed()).toBe(conversation);
		expect(agent()).toEqual(agentBefore);
		expect(sandbox.prompts().at(-1)).toBe("after");
		expect(later.notices()).toEqual([]);
		await later.close();
		expect(later.pi.stderr).toBe("");
	});
});
