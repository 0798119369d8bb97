/**
 * One MCP server over Streamable HTTP, through the official client. Before the usual handshake the client asks for a
 * protocol the server is unlikely to know; a strict one takes anything but a proper JSON-RPC answer to that as a failure.
 * Loaded lazily: this is the only file that imports the client library.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode, McpError, type Tool } from "@modelcontextprotocol/sdk/types.js";
import type { Behaviour } from "../scenario/behaviour.ts";
import type { McpServerEntry } from "./mcp-config.ts";
import type { McpAnswer } from "./mcp-servers.ts";

export type McpTool = {
	readonly name: string;
	readonly description: unknown;
	declares(argument: string): boolean;
};

export type McpConnection = {
	readonly name: string;
	readonly tools: readonly McpTool[];
	/** Never throws; a call that is not answered in time is cancelled and given up. */
	call(
		tool: string,
		args: Readonly<Record<string, unknown>>,
		abandonMs: number,
		signal: AbortSignal,
	): Promise<McpAnswer>;
	close(): Promise<void>;
};

export type ConnectOptions = {
	readonly connectMs: number;
	readonly discovery: Behaviour["mcpDiscovery"];
	readonly onDiscovered: (httpStatus: number) => void;
};

const NEWER_PROTOCOL = "2026-07-28";

/** Throws when the server cannot be reached or answers wrongly. */
export async function connectMcp(entry: McpServerEntry, options: ConnectOptions): Promise<McpConnection> {
	const url = new URL(entry.serverUrl ?? "");
	const headers = entry.headers ?? {};
	if (options.discovery !== "none") await discover(url, headers, options);

	const client = new Client({ name: "antigravity-client", version: "1.0.0" });
	const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
	await client.connect(transport, { timeout: options.connectMs });
	const { tools } = await client.listTools(undefined, { timeout: options.connectMs });
	return {
		name: entry.name,
		tools: tools.filter((tool) => !entry.disabledTools?.includes(tool.name)).map(toMcpTool),
		call: (tool, args, abandonMs, signal) => callTool(client, tool, args, abandonMs, signal),
		close: () => client.close(),
	};
}

async function discover(url: URL, headers: Readonly<Record<string, string>>, options: ConnectOptions): Promise<void> {
	const response = await fetch(url, {
		method: "POST",
		headers: {
			...headers,
			"Content-Type": "application/json",
			Accept: "application/json, text/event-stream",
			"MCP-Protocol-Version": NEWER_PROTOCOL,
		},
		body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "server/discover", params: {} }),
		signal: AbortSignal.timeout(options.connectMs),
	});
	await response.text();
	options.onDiscovered(response.status);
	if (!response.ok && options.discovery === "strict") {
		throw new Error(`the server answered server/discover with HTTP ${response.status} instead of a JSON-RPC error`);
	}
}

async function callTool(
	client: Client,
	name: string,
	args: Readonly<Record<string, unknown>>,
	abandonMs: number,
	signal: AbortSignal,
): Promise<McpAnswer> {
	try {
		const result = await client.callTool({ name, arguments: args }, undefined, {
			timeout: abandonMs,
			maxTotalTimeout: abandonMs,
			signal,
		});
		const blocks = Array.isArray(result.content) ? result.content : [];
		const text = blocks.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
		return result.isError === true ? { ok: false, message: text } : { ok: true, output: text };
	} catch (error) {
		signal.throwIfAborted();
		if (error instanceof McpError && error.code === ErrorCode.RequestTimeout) {
			return { ok: false, message: `MCP tool call abandoned after ${abandonMs / 1000}s` };
		}
		return { ok: false, message: error instanceof Error ? error.message : String(error) };
	}
}

function toMcpTool(tool: Tool): McpTool {
	const { properties = {}, additionalProperties = false } = tool.inputSchema;
	return {
		name: tool.name,
		description: { name: tool.name, description: tool.description, inputSchema: tool.inputSchema },
		declares: (argument) => additionalProperties !== false || Object.hasOwn(properties, argument),
	};
}
