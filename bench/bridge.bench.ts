/**
 * A call of one of pi's tools by agy, from the request to its answer, over real HTTP with the official client. The tool
 * itself takes no time, so what is measured is what the bridge adds. The control is a POST of the same size to a bare
 * node:http server that parses it and answers, by the same kind of client connection.
 */

import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { BridgeServer, type BridgeTool, type CallResult } from "../src/main/bridge/mcp-server.ts";
import { ParkedCalls } from "../src/main/bridge/parked-calls.ts";
import { toSessionEndpoint } from "../src/main/bridge/session-endpoint.ts";
import { spreadOf } from "./support/spread.ts";
import type { CaseResult, Row, Suite } from "./support/suite.ts";

const CALLS = { short: 400, full: 2_000 };
const WARM_UP_CALLS = 100;
const SUSTAINED_CALLS = { short: 2_000, full: 5_000 };
const AT_ONCE = 20;
const ARGS = { query: "all work and no play makes jack a dull boy", limit: 20 };
const ANSWER = "x".repeat(2_000);
const TOOL: BridgeTool = {
	name: "search",
	description: "Searches",
	inputSchema: {
		type: "object",
		properties: { query: { type: "string" }, limit: { type: "number" } },
		additionalProperties: false,
	},
};

export const bridgeSuite: Suite = {
	name: "bridge",
	cases: [
		{ name: "round-trip", run: measureRoundTrip },
		{ name: "sustained", run: measureSustained },
	],
};

type Caller = { readonly call: () => Promise<unknown>; readonly close: () => Promise<void> };

async function measureRoundTrip(isShort: boolean): Promise<CaseResult> {
	const bridge = await openBridge();
	const control = await openControl();
	const count = isShort ? CALLS.short : CALLS.full;
	const ours = await timesOf(bridge.call, count);
	const theirs = await timesOf(control.call, count);
	await bridge.close();
	await control.close();
	const rows: readonly Row[] = [
		{ measure: "call", side: "bridge", unit: "ms", spread: spreadOf(ours) },
		{ measure: "call", side: "control", unit: "ms", spread: spreadOf(theirs) },
	];
	const [own, bare] = rows.map(({ spread }) => spread.p50) as [number, number];
	return {
		rows,
		ratios: { "overhead-p50": own / bare },
		notes: [`the bridge takes ${own.toFixed(2)} ms of a call (target: below 5 ms)`],
	};
}

/** Many more calls than a minute of work makes: what is kept of each. */
async function measureSustained(isShort: boolean): Promise<CaseResult> {
	const bridge = await openBridge();
	const count = isShort ? SUSTAINED_CALLS.short : SUSTAINED_CALLS.full;
	await callMany(bridge, WARM_UP_CALLS);
	const startMs = performance.now();
	const before = heapBytes();
	await callMany(bridge, count / 2);
	const half = heapBytes();
	await callMany(bridge, count / 2);
	const whole = heapBytes();
	const perMinute = (count / (performance.now() - startMs)) * 60_000;
	await bridge.close();
	const kib = (bytes: number) => bytes / 1024;
	const single = (side: string, value: number): Row => ({
		measure: "heap",
		side,
		unit: "KiB",
		spread: { p50: value, p75: value, p99: value, samples: 1 },
	});
	return {
		rows: [single("before", kib(before)), single("half", kib(half)), single("whole", kib(whole))],
		ratios: { "heap-growth": whole / half, "rate-to-1000-a-minute": perMinute / 1_000 },
		notes: [`${count} calls, ${AT_ONCE} at a time, ${Math.round(perMinute)} a minute`],
	};
}

async function callMany({ call }: Caller, count: number): Promise<void> {
	for (let done = 0; done < count; done += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, call));
}

async function timesOf(call: () => Promise<unknown>, count: number): Promise<readonly number[]> {
	for (let index = 0; index < WARM_UP_CALLS; index++) await call();
	const timesMs: number[] = [];
	for (let index = 0; index < count; index++) {
		const startMs = performance.now();
		await call();
		timesMs.push(performance.now() - startMs);
	}
	return timesMs;
}

async function openBridge(): Promise<Caller> {
	const server = new BridgeServer({ log: (_level, text) => process.stderr.write(`${text}\n`) });
	const result: CallResult = { content: [{ type: "text", text: ANSWER }], isError: false };
	const parked: ParkedCalls = new ParkedCalls({
		deliver: ({ id }) => {
			queueMicrotask(() => parked.settle(id, result)); // pi's tool, as fast as one can be
			return true;
		},
	});
	const endpoint = await server.open(
		toSessionEndpoint({ name: "bench", catalog: () => [TOOL], skills: () => [], parked }),
	);
	const client = new Client({ name: "bench", version: "1.0.0" });
	const requestInit = { headers: endpoint.headers };
	await client.connect(new StreamableHTTPClientTransport(new URL(endpoint.url), { requestInit }));
	return {
		call: async () => {
			const { isError } = await client.callTool({ name: TOOL.name, arguments: ARGS });
			if (isError) throw new Error("a call failed");
		},
		close: async () => {
			await client.close();
			endpoint.close();
			await server.close();
		},
	};
}

async function openControl(): Promise<Caller> {
	const reply = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: ANSWER }] } });
	const server = createServer(async (incoming, response) => {
		const chunks: Buffer[] = [];
		for await (const chunk of incoming) chunks.push(chunk);
		JSON.parse(Buffer.concat(chunks).toString("utf8"));
		response.setHeader("content-type", "application/json").end(reply);
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const agent = new Agent({ keepAlive: true });
	const body = JSON.stringify({
		jsonrpc: "2.0",
		id: 1,
		method: "tools/call",
		params: { name: "search", arguments: ARGS },
	});
	return {
		call: async () => {
			const sent = request({ host: "127.0.0.1", port, method: "POST", agent }).end(body);
			const [response] = await once(sent, "response");
			const chunks: Buffer[] = [];
			for await (const chunk of response) chunks.push(chunk);
			JSON.parse(Buffer.concat(chunks).toString("utf8"));
		},
		close: async () => {
			agent.destroy();
			server.close();
			await once(server, "close");
		},
	};
}

function heapBytes(): number {
	setFlagsFromString("--expose-gc");
	runInNewContext("gc")();
	return process.memoryUsage().heapUsed;
}
