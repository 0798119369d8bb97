import { mkdirSync, writeFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type PiTool, toCatalog } from "../../../src/main/bridge/catalog.ts";
import type { OpenEndpoint } from "../../../src/main/bridge/mcp-server.ts";
import { ESCALATE_AFTER_MS, type ParkedCall, ParkedCalls } from "../../../src/main/bridge/parked-calls.ts";
import { toSessionEndpoint } from "../../../src/main/bridge/session-endpoint.ts";
import type { BridgeSkill } from "../../../src/main/bridge/skills.ts";
import { BridgeRig, post, textOf, toResult } from "../../support/bridge-rig.ts";
import { until } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";

/** One session as it is wired: pi's tools, its skills, and a turn that is given the calls. */
const folder = new Folder();
const rig = new BridgeRig();
let delivered: ParkedCall[];
let active: readonly string[];
let skills: readonly BridgeSkill[];
let parked: ParkedCalls;
let opened: OpenEndpoint;
let client: Client;

const DEPLOY: PiTool = {
	name: "deploy",
	description: "Deploys",
	parameters: { type: "object", properties: {} },
	sourceInfo: { path: "/x.ts", source: "local", scope: "user", origin: "top-level" },
};

beforeEach(async () => {
	delivered = [];
	active = ["deploy"];
	skills = [];
	parked = new ParkedCalls({ deliver: (call) => delivered.push(call) > 0 });
	const catalog = () => toCatalog({ tools: [DEPLOY], active, mode: "all", hidden: new Set(), own: new Set(), skills });
	opened = await rig.server.open(toSessionEndpoint({ name: "pi-1", catalog, skills: () => skills, parked }));
	client = await rig.connect(opened);
});

afterEach(() => {
	parked.abort("the test is over");
	vi.useRealTimers();
});

async function call(name: string, args: Record<string, unknown> = {}): Promise<readonly [unknown, string]> {
	const answer = await client.callTool({ name, arguments: args });
	return [answer.isError, textOf(answer)];
}

async function deliveredCall(index = 0): Promise<ParkedCall> {
	return until(`call ${index} in pi`, () => delivered[index]);
}

describe("a call of a pi tool", () => {
	test("is answered by pi's result", async () => {
		const answered = call("deploy", { to: "staging" });
		const { id, tool, args } = await deliveredCall();
		expect([tool, args]).toStrictEqual(["deploy", { to: "staging" }]);
		expect(parked.settle(id, toResult("deployed"))).toBe("answered");
		expect(await answered).toStrictEqual([false, "deployed"]);
	});

	test("that takes long is answered early, and its result is polled", async () => {
		vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
		const answered = call("deploy");
		const { id } = await deliveredCall();
		parked.progress(id, "uploading");
		vi.advanceTimersByTime(ESCALATE_AFTER_MS);
		expect(await answered).toStrictEqual([false, expect.stringContaining(`{"callId": "${id}"}`)]);
		parked.progress(id, "uploading 2 of 3");
		expect(await call("bridge_poll_result", { callId: id })).toStrictEqual([
			false,
			expect.stringMatching(/STILL RUNNING.*uploading 2 of 3/s),
		]);
		parked.endTurn("the turn has ended");
		expect(parked.settle(id, toResult("deployed"))).toBe("kept");
		expect(await call("bridge_poll_result", { callId: id })).toStrictEqual([false, "deployed"]);
		expect(delivered).toHaveLength(1);
	});

	test("whose client has gone has a late result", async () => {
		const { port, pathname, host } = new URL(opened.url);
		const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "deploy" } });
		const headers = Object.entries({
			...opened.headers,
			Host: host,
			Accept: "application/json, text/event-stream",
			"Content-Type": "application/json",
			"Content-Length": body.length,
		}).map(([name, value]) => `${name}: ${value}\r\n`);
		const socket = connectSocket(Number(port), "127.0.0.1");
		socket.write(`POST ${pathname} HTTP/1.1\r\n${headers.join("")}\r\n${body}`);
		const { id } = await deliveredCall();
		socket.destroy();
		await until("the call has failed", () => parked.failureOf(id));
		expect(parked.settle(id, toResult("deployed"))).toBe("late");
	});

	test.each([
		["the turn ends", () => parked.endTurn("the turn has ended"), "the turn has ended"],
		["the user aborts", () => parked.abort("the user aborted"), "the user aborted"],
	])("is answered when %s, and so are all others", async (_name, end, reason) => {
		const answered = Array.from({ length: 40 }, () => call("deploy"));
		await deliveredCall(39);
		end();
		for (const answer of await Promise.all(answered)) {
			expect(answer).toStrictEqual([true, expect.stringContaining(reason)]);
		}
	});

	test("does not reach pi when the tool is not active any more", async () => {
		expect((await client.listTools()).tools.map(({ name }) => name)).toStrictEqual(["deploy", "bridge_poll_result"]);
		active = [];
		expect(await call("deploy")).toStrictEqual([true, expect.stringContaining("does not offer a tool deploy")]);
		expect(delivered).toHaveLength(0);
	});

	test("does not reach pi when its arguments are no object", async () => {
		const params = { name: "deploy", arguments: ["a"] };
		const answer = await post(opened, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
		expect(answer.text).toContain("error");
		expect(delivered).toHaveLength(0);
	});
});

describe("a skill", () => {
	test("is offered as soon as pi has it, and answered without pi", async () => {
		expect((await client.listTools()).tools).toHaveLength(2);
		expect(await call("activate_skill", { name: "review" })).toStrictEqual([
			true,
			expect.stringContaining("not offer"),
		]);
		const baseDir = folder.at("review");
		mkdirSync(baseDir);
		writeFileSync(folder.at("review", "SKILL.md"), "How to review");
		skills = [{ name: "review", description: "Reviews", filePath: folder.at("review", "SKILL.md"), baseDir }];
		const [, , tool] = (await client.listTools()).tools;
		expect(tool?.inputSchema.properties).toStrictEqual({ name: { type: "string", enum: ["review"] } });
		const [isError, text] = await call("activate_skill", { name: "review" });
		expect([isError, text]).toStrictEqual([false, expect.stringContaining("How to review")]);
		expect(await call("activate_skill", { name: "other" })).toStrictEqual([true, expect.stringContaining("review")]);
		expect(delivered).toHaveLength(0);
	});
});
