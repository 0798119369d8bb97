/** A bridge for tests: the real server with endpoints whose tools and answers the test plays, and clients to call them. */
import { type IncomingHttpHeaders, request } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, beforeEach } from "vitest";
import {
	type BridgeEndpoint,
	type BridgeLimits,
	BridgeServer,
	type BridgeTool,
	type CallResult,
	type IncomingCall,
	type OpenEndpoint,
} from "../../src/main/bridge/mcp-server.ts";
import { until } from "./condition.ts";

export type PlayedCall = IncomingCall & { answer(result: CallResult): void; fail(error: Error): void };

export type RawAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

export class PlayedEndpoint implements BridgeEndpoint {
	readonly name = "pi-test";
	tools: readonly BridgeTool[] = [toTool("echo")];
	readonly calls: PlayedCall[] = [];

	list(): readonly BridgeTool[] {
		return this.tools;
	}

	call(call: IncomingCall): Promise<CallResult> {
		return new Promise((resolve, reject) => {
			this.calls.push({ ...call, answer: resolve, fail: reject });
		});
	}

	/** The call of this position, as soon as it is there. */
	async next(index = 0): Promise<PlayedCall> {
		return until(`call ${index} of the endpoint`, () => this.calls[index]);
	}
}

export class BridgeRig {
	readonly log: string[] = [];
	server = new BridgeServer({ log: () => {} });
	readonly #clients: Client[] = [];

	constructor(limits: Partial<BridgeLimits> = {}) {
		beforeEach(() => {
			this.log.length = 0;
			this.server = new BridgeServer({ log: (level, text) => this.log.push(`${level} ${text}`), limits });
		});
		afterEach(async () => {
			await this.server.close();
			for (const client of this.#clients.splice(0)) await client.close();
		});
	}

	/** The official client, after its handshake. */
	async connect({ url, headers }: OpenEndpoint): Promise<Client> {
		const client = new Client({ name: "antigravity-client", version: "1.0.0" });
		this.#clients.push(client);
		const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } });
		await client.connect(transport as Parameters<Client["connect"]>[0]);
		return client;
	}
}

export function toTool(name: string): BridgeTool {
	return { name, description: `The tool ${name}`, inputSchema: { type: "object", additionalProperties: true } };
}

export function toResult(text: string): CallResult {
	return { content: [{ type: "text", text }], isError: false };
}

/** The text of a result's first block. */
export function textOf(result: object): string {
	const { content } = result as Partial<CallResult>;
	const [block] = content ?? [];
	return block?.type === "text" ? block.text : "";
}

/** One request without the SDK. `headers` come on top of those a client of MCP sends. */
export function post(
	{ url, headers }: Omit<OpenEndpoint, "close">,
	body: unknown,
	options: {
		readonly method?: string;
		readonly path?: string;
		readonly headers?: Record<string, string | string[]>;
	} = {},
): Promise<RawAnswer> {
	const { hostname, port, pathname } = new URL(url);
	const text = typeof body === "string" ? body : JSON.stringify(body);
	return new Promise((resolve, reject) => {
		const sent = request(
			{
				...{ hostname, port, path: options.path ?? pathname, method: options.method ?? "POST", agent: false },
				headers: {
					"Content-Type": "application/json",
					Accept: "application/json, text/event-stream",
					...headers,
					...options.headers,
				},
			},
			(answer) => {
				let received = "";
				answer.setEncoding("utf8");
				answer.on("data", (piece: string) => {
					received += piece;
				});
				answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: received }));
				answer.on("error", reject);
			},
		);
		sent.on("error", reject);
		// Node frames no body of these.
		sent.end(options.method === "GET" || options.method === "DELETE" ? undefined : text);
	});
}

/** The one JSON-RPC message of an event stream. */
export function messageOf({ text }: RawAnswer): unknown {
	const [line] = text.split("\n").filter((candidate) => candidate.startsWith("data: "));
	return JSON.parse(line?.slice("data: ".length) ?? "null");
}
