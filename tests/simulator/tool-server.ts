/**
 * A small MCP server for tests: `add` answers at once, `never` does not answer. Stateless, one transport a request. How it
 * meets server/discover is up to the test.
 */
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

export type SeenRequest = { readonly method: string; readonly authorization: string | undefined };

const ADD = {
	name: "add",
	description: "Adds two numbers",
	inputSchema: { type: "object" as const, properties: { a: { type: "number" }, b: { type: "number" } } },
};
const NEVER = { name: "never", description: "Does not answer", inputSchema: { type: "object" as const } };

export class ToolServer {
	readonly seen: SeenRequest[] = [];
	/** Added to every sum, to tell servers apart. */
	readonly offset: number;
	readonly #discoverStatus: number;
	readonly #http: HttpServer;

	constructor(options: { readonly offset?: number; readonly discoverStatus?: number } = {}) {
		this.offset = options.offset ?? 0;
		this.#discoverStatus = options.discoverStatus ?? 200;
		this.#http = createServer((request, response) => {
			this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
		});
	}

	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#http.listen(0, "127.0.0.1", resolve));
		return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/mcp`;
	}

	async close(): Promise<void> {
		this.#http.closeAllConnections();
		await new Promise((resolve) => this.#http.close(resolve));
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		if (request.method !== "POST") {
			response.writeHead(405).end();
			return;
		}
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk);
		const message = JSON.parse(Buffer.concat(chunks).toString("utf8"));
		this.seen.push({ method: message.method, authorization: request.headers.authorization });
		if (message.method === "server/discover") {
			const error = { code: -32601, message: "Method not found" };
			response.writeHead(this.#discoverStatus, { "Content-Type": "application/json" });
			response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
			return;
		}
		const server = this.#makeServer();
		const transport = new StreamableHTTPServerTransport({});
		response.on("close", () => void server.close());
		await server.connect(transport as Parameters<Server["connect"]>[0]);
		await transport.handleRequest(request, response, message);
	}

	#makeServer(): Server {
		const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
		server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [ADD, NEVER] }));
		server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
			if (params.name === "never") return new Promise(() => {});
			const { a = 0, b = 0 } = (params.arguments ?? {}) as { readonly a?: number; readonly b?: number };
			return { content: [{ type: "text", text: String(a + b + this.offset) }] };
		});
		return server;
	}
}
