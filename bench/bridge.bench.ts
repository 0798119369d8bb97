/**
 * A call of one of pi's tools by agy, from the request to its answer, over real HTTP with the official client. The tool
 * itself takes no time, so what is measured is what the bridge adds. The control is a POST of the same size to a bare
 * node:http server that parses it and answers, by the same kind of client connection.
 */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
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

const SMALL_RESULT: CallResult = { content: [{ type: "text", text: ANSWER }], isError: false };
const LARGE_RESULT: CallResult = {
	content: [
		{ type: "text", text: "y".repeat(300_000) },
		{ type: "image", data: "iVBORw0KGgoA".repeat(700_000), mimeType: "image/png" },
	],
	isError: false,
};
const CLIENT = fileURLToPath(new URL("./support/bridge-client.ts", import.meta.url));

export const bridgeSuite: Suite = {
	name: "bridge",
	cases: [
		{ name: "round-trip", run: measureRoundTrip },
		{ name: "sustained", run: measureSustained },
		{ name: "large-result", run: measureLargeResult },
	],
};

type Target = { readonly url: string; readonly headers: Readonly<Record<string, string>> };
type Caller = Target & { readonly call: () => Promise<unknown>; readonly close: () => Promise<void> };

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

/** How long main stands still for results with an image of 8 MB, against a server made of the SDK alone. */
async function measureLargeResult(isShort: boolean): Promise<CaseResult> {
	const calls = isShort ? 4 : 12;
	const bridge = await openBridge(LARGE_RESULT);
	const ours = await longestBlockMs(bridge, calls);
	await bridge.close();
	const plain = await openPlainServer(LARGE_RESULT);
	const theirs = await longestBlockMs(plain, calls);
	await plain.close();
	const row = (side: string, value: number): Row => ({
		measure: "longest block of main",
		side,
		unit: "ms",
		spread: { p50: value, p75: value, p99: value, samples: calls },
	});
	return {
		rows: [row("bridge", ours), row("control", theirs)],
		ratios: { "block-control-to-ours": theirs / ours },
		notes: [`${calls} results of an 8 MB image and 300,000 characters; the client is another process`],
	};
}

async function longestBlockMs({ url, headers }: Target, calls: number): Promise<number> {
	const histogram = monitorEventLoopDelay({ resolution: 1 });
	const args = ["--disable-warning=ExperimentalWarning", CLIENT, url, JSON.stringify(headers), TOOL.name, `${calls}`];
	const ended = promisify(execFile)(process.execPath, args); // The fork is no part of what is measured.
	histogram.enable();
	await ended;
	histogram.disable();
	return histogram.max / 1e6;
}

/** The SDK's own server and transport, a fresh pair for each request, as its documentation shows. */
async function openPlainServer(result: CallResult): Promise<Target & { close(): Promise<void> }> {
	const http = createServer(async (incoming, response) => {
		const server = new Server({ name: "plain", version: "1.0.0" }, { capabilities: { tools: {} } });
		server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [TOOL as never] }));
		server.setRequestHandler(CallToolRequestSchema, () => result as never);
		const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
		response.once("close", () => void server.close());
		await server.connect(transport as Parameters<typeof server.connect>[0]);
		await transport.handleRequest(incoming, response);
	});
	http.listen(0, "127.0.0.1");
	await once(http, "listening");
	const { port } = http.address() as AddressInfo;
	const close = async () => {
		http.closeAllConnections();
		http.close();
		await once(http, "close");
	};
	return { url: `http://127.0.0.1:${port}/mcp`, headers: {}, close };
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

async function openBridge(result: CallResult = SMALL_RESULT): Promise<Caller> {
	const server = new BridgeServer({ log: (level, text) => level === "error" && process.stderr.write(`${text}\n`) });
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
		url: endpoint.url,
		headers: endpoint.headers,
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

async function openControl(): Promise<Omit<Caller, keyof Target>> {
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
