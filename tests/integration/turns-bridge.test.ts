/** agy at work with pi's tools, through the bridge: the simulated agy calls them with the official MCP client. */
import { rmSync } from "node:fs";
import type { ExtensionAPI, ExtensionFactory } from "@earendil-works/pi-coding-agent";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Type } from "typebox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownIdentity } from "../../src/main/processes/proof.ts";
import { until } from "../support/condition.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage, type StageOptions } from "../support/sdk-stage.ts";
import { answer, assistantMessages, cards, story, textOf } from "../support/transcript.ts";

const CALL = { kind: "mcp", fromPrompt: true, tellsOutput: true };
const ECHO = { steps: [{ kind: "text", text: "{{prompt}}", deltaChars: 0 }] };
const stage = new SdkStage();

/** Text and cards of a turn, without the rows about thinking. */
const told = (turn: Parameters<typeof story>[0]) => story(turn).filter((line) => !line.startsWith("(Thought"));

type Run = (args: { readonly text?: string }, signal: AbortSignal | undefined) => Promise<unknown> | unknown;

/** A client with what agy reads in its mcp_config.json. */
async function connectAsAgy(text: string): Promise<Client> {
	const [server] = Object.values(
		(JSON.parse(text) as { mcpServers: Record<string, { serverUrl: string; headers: Record<string, string> }> })
			.mcpServers,
	);
	if (!server) throw new Error("no server is registered");
	const client = new Client({ name: "antigravity-client", version: "1.0.0" });
	const { serverUrl, headers } = server;
	await client.connect(new StreamableHTTPClientTransport(new URL(serverUrl), { requestInit: { headers } }));
	return client;
}

/** An extension with one tool. */
function tool(name: string, run: Run): ExtensionFactory {
	return (pi: ExtensionAPI) =>
		pi.registerTool({
			name,
			label: name,
			description: `The tool ${name}`,
			parameters: Type.Object({ text: Type.Optional(Type.String()) }),
			async execute(_callId, args, signal) {
				const made = await run(args, signal);
				return typeof made === "string" ? { content: [{ type: "text", text: made }], details: {} } : (made as never);
			},
		});
}

const shout = tool("shout", ({ text }) => `${text?.toUpperCase()}!`);

const open = (options: StageOptions) => stage.open({ scenario: { turns: [{ steps: [CALL] }] }, ...options });

const configPath = "sim/config/mcp_config.json";
const config = () => stage.sandbox.read(configPath);

describe("a tool of pi's that agy calls", () => {
	it("is run by pi, shows as pi's own card and nothing else, and its result is agy's", async () => {
		// agy's look at what the tool takes is no card of its own either.
		const steps = [
			{ kind: "text", text: "Let me see.\n", deltaChars: 0 },
			{ ...CALL, readsSchema: true },
		];
		const session = await open({ scenario: { turns: [{ steps }] }, extensions: [shout] });
		const turn = await session.turn('shout {"text":"hello"}');
		expect(told(turn)).toEqual(["Let me see.\n", "[shout]", "HELLO!"]);
		expect(cards(turn)).toMatchObject([{ call: { name: "shout", arguments: { text: "hello" } }, output: "HELLO!" }]);
		expect(answer(turn).stopReason).toBe("stop");
		expect(session.runs()).toHaveLength(1);
		const [entry] = Object.keys(JSON.parse(config()).mcpServers);
		expect(entry).toMatch(/^pi_/);
	});

	it("is the same one in every turn of the process, and gone with the session", async () => {
		const session = await open({ extensions: [shout] });
		for (const word of ["one", "two"])
			expect(textOf(answer(await session.turn(`shout {"text":"${word}"}`)))).toBe(`${word.toUpperCase()}!`);
		expect(session.runs()).toHaveLength(1);
		await session.close();
		await until("the entry is gone", () => !config().includes("pi_"));
	});

	it("waits for its turn when agy, started with its prompt, is faster than pi-agy", async () => {
		const session = await open({
			extensions: [shout],
			scenario: { turns: [{ steps: [{ ...CALL, fromPrompt: false, tool: "shout", arguments: { text: "hello" } }] }] },
			env: { AGY_ENGINE: "legacy-sqlite", AGY_SIM_DATABASE: "on" },
		});
		// The process is recorded before its turn is there, and the record is locked.
		const lock = stage.sandbox.write("agent/pi-agy/processes.json.lock", JSON.stringify(await ownIdentity()));
		const turn = session.turn("hello");
		const calls = () => stage.sandbox.journal("mcp").filter(({ event, tool }) => event === "call" && tool === "shout");
		const before = calls().length;
		await until("agy calls", () => calls().length > before);
		rmSync(lock);
		expect(textOf(answer(await turn))).toBe("HELLO!");
	});

	it("is called a hundred and fifty times at once: one message, each answered once, in whatever order", async () => {
		let count = 0;
		const slow = tool("count", async ({ text }) => {
			count++;
			await new Promise((resolve) => setTimeout(resolve, (Number(text?.length ?? 0) * 7 + count * 13) % 40));
			return `counted ${count}`;
		});
		const session = await open({
			scenario: {
				turns: [
					{
						steps: [
							{ kind: "mcp", fromPrompt: true, copies: 150 },
							{ kind: "text", text: "All.", deltaChars: 0 },
						],
					},
				],
			},
			extensions: [slow],
		});
		const turn = await session.turn('count {"text":"abc"}');
		expect(count).toBe(150);
		expect(cards(turn)).toHaveLength(150);
		expect(assistantMessages(turn)[0]?.content.filter((block) => block.type === "toolCall").length).toBeGreaterThan(1);
		const answers = stage.sandbox.journal("mcp").filter((line) => line.event === "answer" && line.tool === "count");
		expect(answers.map((line) => line.ok)).toEqual(Array.from({ length: 150 }, () => true));
		expect(textOf(answer(turn))).toBe("All.");
	});

	it("tells a client that asks for it how far it is", async () => {
		const steps = [{ kind: "touch", marker: "held" }, { kind: "wait", gate: "go" }, ECHO.steps[0] as object];
		const chatty = (pi: ExtensionAPI) =>
			pi.registerTool({
				name: "chatty",
				label: "chatty",
				description: "The tool chatty",
				parameters: Type.Object({}),
				async execute(_callId, _args, _signal, onUpdate) {
					onUpdate?.({ content: [{ type: "text", text: "half way" }], details: {} });
					return { content: [{ type: "text", text: "all of it" }], details: {} };
				},
			});
		const session = await open({ scenario: { turns: [{ steps }] }, extensions: [chatty] });
		const turn = session.turn("hi");
		await stage.sandbox.reached("held");
		const client = await connectAsAgy(config());
		const progress: string[] = [];
		const result = await client.callTool({ name: "chatty", arguments: {} }, undefined, {
			onprogress: ({ message }) => void progress.push(message ?? ""),
		});
		expect(result.content).toEqual([{ type: "text", text: "all of it" }]);
		expect(progress).toEqual(["half way"]);
		await client.close();
		stage.sandbox.openGate("go");
		expect(told(await turn)).toEqual(["[chatty]", "hi"]);
	});

	it("that was switched off is not offered any more", async () => {
		const off = (pi: ExtensionAPI) =>
			void pi.on("turn_start", () => pi.setActiveTools(pi.getActiveTools().filter((name) => name !== "shout")));
		const other = tool("whisper", () => "psst");
		const session = await open({ extensions: [shout, other, off] });
		const turn = await session.turn('shout {"text":"hello"}');
		expect(cards(turn)).toEqual([]);
		expect(textOf(answer(turn))).not.toContain("HELLO");
	});

	it("may take its time while the user types: both reach agy", async () => {
		let finish: () => void = () => {};
		const slow = tool("slow", () => new Promise<string>((resolve) => (finish = () => resolve("done at last"))));
		const session = await open({
			scenario: {
				turns: [
					{ match: "^slow", steps: [CALL] },
					{ steps: [{ kind: "text", text: "Heard: {{prompt}}", deltaChars: 0 }] },
				],
			},
			extensions: [slow],
			env: { AGY_INACTIVITY_TIMEOUT_MIN: "0.02" },
		});
		const turn = session.turn("slow");
		await until("pi runs it", () => session.records.some((record) => record.type === "tool_execution_start"));
		await session.session.prompt("and hurry", { streamingBehavior: "steer" });
		const askedMs = performance.now();
		await until("a silence is over that would end the turn", () => performance.now() > askedMs + 2_000);
		finish();
		expect(told(await turn)).toEqual(["[slow]", "done at last", "Heard: and hurry"]);
		expect(session.prompts()).toEqual(["slow", "and hurry"]);
	});

	it("is given up with the turn that the user stops", { timeout: 20_000 }, async () => {
		const never = tool(
			"never",
			(_args, signal) => new Promise((_resolve, reject) => signal?.addEventListener("abort", reject)),
		);
		const session = await open({
			scenario: { turns: [{ match: "^never", steps: [CALL] }, ECHO] },
			extensions: [never],
		});
		const turn = session.turn("never");
		await until("pi runs it", () => session.records.some((record) => record.type === "tool_execution_start"));
		await session.session.abort();
		await turn;
		await until("agy is gone", () => stage.sandbox.agyProcesses().length === 0);
		expect(await session.ask("next")).toBe("next");
	});
});

describe("one turn after the other of the same process, a tool of pi's that agy calls", () => {
	let session: SdkSession;
	beforeAll(async () => {
		const gate = (pi: ExtensionAPI) =>
			void pi.on("tool_call", ({ toolName }) =>
				toolName === "shout" ? { block: true, reason: "Not today." } : undefined,
			);
		const broken = tool("broken", () => {
			throw new Error("The disk is on fire.");
		});
		const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
		const seen = tool("seen", () => ({
			content: [{ type: "text", text: "There." }, image],
			structuredContent: { at: 7 },
		}));
		const ask = tool("ask", async ({ text }) => {
			const inner = await stage.open({ scenario: { turns: [ECHO] } });
			return `inner: ${await inner.ask(text ?? "")}`;
		});
		session = await open({ extensions: [shout, gate, broken, seen, ask], isKept: true });
	});
	afterAll(() => session.close());

	it("that another extension blocks fails for agy, with the reason", async () => {
		const turn = await session.turn('shout {"text":"hello"}');
		expect(cards(turn)).toMatchObject([{ isError: true, output: expect.stringContaining("Not today.") }]);
		expect(textOf(answer(turn))).toContain("Not today.");
		expect(answer(turn).stopReason).toBe("stop");
	});

	it("that fails is a failed call, and the turn goes on", async () => {
		const turn = await session.turn("broken");
		expect(textOf(answer(turn))).toContain("The disk is on fire.");
		expect(answer(turn).stopReason).toBe("stop");
	});

	it("brings its image and its structured content along", async () => {
		await session.turn("seen");
		const [reply] = stage.sandbox.journal("mcp").filter((line) => line.event === "answer" && line.tool === "seen");
		expect(JSON.stringify(reply)).toContain("There.");
	});

	it("may itself ask an agy, in a session of its own, without waiting for the turn that waits for it", async () => {
		expect(told(await session.turn('ask {"text":"psst"}'))).toEqual(["[ask]", "inner: psst"]);
	});
});

describe("without the bridge", () => {
	it.each([
		["AGY_BRIDGE_TOOLS=none", { env: { AGY_BRIDGE_TOOLS: "none" }, extensions: [shout] }],
		["a tool to offer", {}],
	])("agy is told of nothing: %s", async (_what, options) => {
		const session = await open({ ...options, scenario: "echo" });
		expect(await session.ask("hi")).toBe("hi");
		expect(config()).not.toContain("pi_");
		expect(session.runs()[0]?.argv.filter((argument) => argument === "--add-dir")).toHaveLength(2);
	});
});

describe("an mcp_config.json that is not understood", () => {
	it("stays as it is; the user is told, and the turn runs without pi's tools", async () => {
		const broken = '{ "mcpServers": { "mine": ';
		stage.sandbox.write(configPath, broken);
		const session = await open({ extensions: [shout], scenario: "echo" });
		expect(await session.ask("hi")).toBe("hi");
		expect(session.notices.join()).toMatch(/cannot use pi's tools.*mcp_config\.json/);
		expect(config()).toBe(broken);
		stage.sandbox.write(configPath, "{}");
		await session.close();
		expect(config()).toBe("{}");
	});
});
