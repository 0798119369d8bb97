/**
 * The MCP server through which agy uses pi's tools: one HTTP server on the loopback interface for all sessions of the
 * process, with an endpoint of its own path and secret for each. Started with the first endpoint; the SDK is loaded then,
 * and only by this file. It keeps no process alive, and nothing a client does ends one.
 *
 * 1. request-gate.ts refuses what is not agy's.
 * 2. Each request gets a fresh server and transport of the SDK, and nothing is kept between requests.
 * 3. A call looks its tool up in the endpoint's list of that moment; a list that agy remembers is no permission.
 * 4. The call waits. Its signal is aborted when the client leaves or cancels it, or when the endpoint is closed; then it
 *    is answered with an error, whatever the endpoint does.
 * 5. large-result.ts writes the answer. With the response's end the SDK's server is closed.
 *
 * The SDK's transport for web requests is used, not its wrapper for Node: the wrapper writes errors to the terminal.
 */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AgyError, toError } from "../../shared/errors.ts";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import type { LogLevel } from "../../shared/lane-control.ts";
import { settlesWithin } from "../deadline.ts";
import { LargeResult } from "./large-result.ts";
import { checkEndpoint, checkSender, hashToken, readMessage, refuse, TOKEN_HEADER } from "./request-gate.ts";

export type BridgeTool = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };

export type ContentBlock =
	| { readonly type: "text"; readonly text: string }
	/** `data` is base64. */
	| { readonly type: "image"; readonly data: string; readonly mimeType: string };

export type CallResult = {
	readonly content: readonly ContentBlock[];
	readonly isError: boolean;
	readonly structuredContent?: JsonObject;
};

export type IncomingCall = {
	readonly tool: string;
	readonly args: JsonObject;
	/** Aborted when nobody waits for the result any more. */
	readonly signal: AbortSignal;
	/** Null when the client asked for no progress. Never throws. */
	readonly onProgress: ((text: string) => void) | null;
};

/** One session's side of the bridge. */
export type BridgeEndpoint = {
	/** What the server calls itself to agy. */
	readonly name: string;
	/** Asked for every list and every call. */
	list(): readonly BridgeTool[];
	/** Is called with a tool of the list only. What it throws is logged, and the call fails. */
	call(call: IncomingCall): Promise<CallResult>;
};

export type OpenEndpoint = {
	readonly url: string;
	/** Without these a request is refused. The value is a secret. */
	readonly headers: Readonly<Record<string, string>>;
	/** Fails the endpoint's open calls; its path is gone. */
	close(): void;
};

export type BridgeLimits = {
	/** For a request's headers. */
	readonly headersMs: number;
	/** For a whole request, its body included. */
	readonly requestMs: number;
	/** How often these two are looked at. */
	readonly checkMs: number;
	/** Above it, connections are closed as they come. */
	readonly maxConnections: number;
};

/** The client is on the same machine: its requests arrive in milliseconds. */
const BRIDGE_LIMITS: BridgeLimits = {
	headersMs: 5_000,
	requestMs: 15_000,
	checkMs: 2_500,
	// Every waiting call has a connection of its own, and a fan-out makes more than a hundred at a time.
	maxConnections: 1_024,
};
/** Longer than a client of Go keeps an idle connection (90 s), so that none is closed under a request. */
const KEEP_ALIVE_MS = 120_000;
/** For the last answers to leave when the bridge closes. */
const CLOSE_GRACE_MS = 500;
/** The end of a tool's output that a progress notification carries. */
const PROGRESS_CHARS = 2_000;

type BridgeOptions = {
	readonly log: (level: LogLevel, text: string) => void;
	readonly limits?: Partial<BridgeLimits>;
};

type Sdk = Awaited<ReturnType<typeof loadSdk>>;
type Listening = { readonly http: HttpServer; readonly origin: string; readonly sdk: Sdk };
type OpenCall = { readonly requestId: string | number; readonly controller: AbortController };
type Session = {
	readonly endpoint: BridgeEndpoint;
	readonly tokenHash: Buffer;
	readonly calls: Set<OpenCall>;
	/** A request that was let in before may still make a call. */
	isClosed: boolean;
};

export class BridgeServer {
	readonly #log: BridgeOptions["log"];
	readonly #limits: BridgeLimits;
	/** By path. */
	readonly #sessions = new Map<string, Session>();
	readonly #exchanges = new Set<Promise<void>>();
	#listening: Promise<Listening> | null = null;
	#isClosed = false;

	constructor({ log, limits }: BridgeOptions) {
		this.#log = log;
		this.#limits = { ...BRIDGE_LIMITS, ...limits };
	}

	/** Throws `bridge-failed` when no port can be had, `cancelled` after close. */
	async open(endpoint: BridgeEndpoint): Promise<OpenEndpoint> {
		this.#listening ??= this.#listen().catch((error: unknown) => {
			this.#listening = null; // The next session tries again.
			throw error;
		});
		const { origin } = await this.#listening;
		if (this.#isClosed) throw closedError();
		const path = `/mcp/${randomBytes(12).toString("hex")}`;
		const token = randomBytes(32).toString("base64url");
		const session: Session = { endpoint, tokenHash: hashToken(token), calls: new Set(), isClosed: false };
		this.#sessions.set(path, session);
		return {
			url: `${origin}${path}`,
			headers: { [TOKEN_HEADER]: token },
			close: () => {
				this.#sessions.delete(path);
				closeSession(session);
			},
		};
	}

	/** Fails all calls, sends what can still be sent, and closes every connection. */
	async close(): Promise<void> {
		this.#isClosed = true;
		for (const session of this.#sessions.values()) closeSession(session);
		this.#sessions.clear();
		const listening = await this.#listening?.catch(() => null); // It never listened.
		if (!listening?.http.listening) return;
		const closed = once(listening.http, "close");
		listening.http.close();
		await settlesWithin(Promise.all(this.#exchanges), CLOSE_GRACE_MS);
		listening.http.closeAllConnections();
		await closed;
	}

	async #listen(): Promise<Listening> {
		if (this.#isClosed) throw closedError();
		const { headersMs, requestMs, checkMs, maxConnections } = this.#limits;
		const sdk = await loadSdk();
		const http = createServer({
			headersTimeout: headersMs,
			requestTimeout: requestMs,
			connectionsCheckingInterval: checkMs,
			keepAliveTimeout: KEEP_ALIVE_MS,
		});
		http.maxConnections = maxConnections;
		http.on("connection", (socket) => socket.unref());
		http.on("request", (request, response) => this.#admit(listening, request, response));
		try {
			http.listen(0, "127.0.0.1");
			await once(http, "listening");
		} catch (error) {
			const { message } = toError(error);
			throw new AgyError(
				"bridge-failed",
				`pi-agy cannot offer pi's tools to agy: no port of 127.0.0.1 can be opened (${message}). Allow pi to listen on the loopback interface, or set AGY_BRIDGE_TOOLS=none.`,
				{ cause: error },
			);
		}
		// A connection that cannot be accepted is reported here, and must not end pi.
		http.on("error", (error) => this.#log("warn", `bridge: ${error.message}`));
		http.unref();
		const listening = { http, sdk, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
		return listening;
	}

	/** Never throws: whatever goes wrong ends with this exchange. */
	#admit(listening: Listening, request: IncomingMessage, response: ServerResponse): void {
		// A peer that resets its connection; without listeners that would be an uncaught error.
		request.on("error", (error) => this.#log("debug", `bridge: ${error.message}`));
		response.on("error", (error) => this.#log("debug", `bridge: ${error.message}`));
		const exchange = this.#exchange(listening, request, response).catch((error: unknown) => {
			this.#log("error", `bridge: a request could not be answered: ${toError(error).message}`);
			response.destroy();
		});
		this.#exchanges.add(exchange);
		void exchange.finally(() => this.#exchanges.delete(exchange));
	}

	async #exchange({ origin, sdk }: Listening, request: IncomingMessage, response: ServerResponse): Promise<void> {
		const session = this.#sessions.get(request.url ?? "") ?? null;
		const refusal = checkSender(request, origin) ?? checkEndpoint(request, session?.tokenHash ?? null);
		if (refusal || !session) {
			this.#log("debug", `bridge: refused with ${refusal?.status}: ${refusal?.message}`);
			if (refusal) refuse(request, response, refusal);
			return;
		}
		const body = await readMessage(request);
		if (!body) return;
		if (!body.ok) {
			this.#log("debug", `bridge: refused with ${body.refusal.status}: ${body.refusal.message}`);
			refuse(request, response, body.refusal);
			return;
		}

		const { message, args } = withoutArguments(body.message);
		const result = new LargeResult();
		const server = this.#makeServer(sdk, session, args, result);
		const left = new AbortController();
		response.once("close", () => {
			left.abort();
			void server.close();
		});
		if (response.destroyed) return;
		const transport = new sdk.Transport({});
		await server.connect(transport as Parameters<typeof server.connect>[0]);
		const headers = toHeaders(request, sdk);
		const answer = await transport.handleRequest(new Request(`${origin}${request.url}`, { method: "POST", headers }), {
			parsedBody: message,
		});
		response.writeHead(answer.status, Object.fromEntries(answer.headers));
		try {
			if (answer.body) {
				response.flushHeaders();
				for await (const piece of answer.body) await result.write(response, piece, left.signal);
			}
			response.end();
		} catch (error) {
			if (!left.signal.aborted) throw error;
		}
	}

	#makeServer(sdk: Sdk, session: Session, args: JsonObject, result: LargeResult) {
		const { endpoint } = session;
		const server = new sdk.Server(
			{ name: endpoint.name, version: "1" },
			{ capabilities: { tools: {} }, jsonSchemaValidator: sdk.validator },
		);
		server.onerror = (error) => this.#log("debug", `bridge: ${error.message}`);
		server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({ tools: this.#list(endpoint).map(toMcpTool) }));
		server.setRequestHandler(sdk.CallToolRequestSchema, async ({ params }, extra) => {
			const { progressToken } = params._meta ?? {};
			let sent = 0;
			const sendProgress = (text: string) => {
				sent += 1;
				const notification = {
					method: "notifications/progress" as const,
					params: { progressToken: progressToken ?? 0, progress: sent, message: text.slice(-PROGRESS_CHARS) },
				};
				extra.sendNotification(notification).catch((error: unknown) => {
					this.#log("debug", `bridge: progress was not sent: ${toError(error).message}`);
				});
			};
			const answer = await this.#call(session, extra, {
				tool: params.name,
				args,
				onProgress: progressToken === undefined ? null : sendProgress,
			});
			return { ...(await result.shrink(answer)) };
		});
		// It comes with a request of its own, and so to another server than that of the call.
		server.setNotificationHandler(sdk.CancelledNotificationSchema, ({ params }) => cancel(session, params.requestId));
		return server;
	}

	#list(endpoint: BridgeEndpoint): readonly BridgeTool[] {
		try {
			return endpoint.list();
		} catch (error) {
			this.#log("error", `bridge: the list of tools cannot be made: ${toError(error).message}`);
			return []; // Fails closed: nothing is offered, and no call goes through.
		}
	}

	async #call(
		session: Session,
		extra: { readonly requestId: string | number; readonly signal: AbortSignal },
		call: Omit<IncomingCall, "signal">,
	): Promise<CallResult> {
		const open: OpenCall = { requestId: extra.requestId, controller: new AbortController() };
		const { signal } = open.controller;
		const abort = () => open.controller.abort();
		session.calls.add(open);
		extra.signal.addEventListener("abort", abort, { once: true });
		const failure = toFailure(`The call of ${call.tool} was ended: its pi session or its client has gone.`);
		try {
			if (extra.signal.aborted || session.isClosed) return failure;
			const isOffered = this.#list(session.endpoint).some(({ name }) => name === call.tool);
			if (!isOffered) return toFailure(`pi does not offer a tool ${call.tool} (any more). List the tools again.`);
			const ended = new Promise<CallResult>((resolve) => {
				signal.addEventListener("abort", () => resolve(failure), { once: true });
			});
			return await Promise.race([session.endpoint.call({ ...call, signal }), ended]);
		} catch (error) {
			this.#log("error", `bridge: a call of ${call.tool} failed: ${toError(error).message}`);
			return toFailure(`pi could not run ${call.tool}. Its log says why.`);
		} finally {
			session.calls.delete(open);
			extra.signal.removeEventListener("abort", abort);
		}
	}
}

/** Late, for it takes pi's start some tenths of a second, and most sessions of pi never need it. */
async function loadSdk() {
	const [{ Server }, { WebStandardStreamableHTTPServerTransport }, types, { AjvJsonSchemaValidator }] =
		await Promise.all([
			import("@modelcontextprotocol/sdk/server/index.js"),
			import("@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"),
			import("@modelcontextprotocol/sdk/types.js"),
			import("@modelcontextprotocol/sdk/validation/ajv"),
		]);
	return {
		Server,
		Transport: WebStandardStreamableHTTPServerTransport,
		...types,
		// One for all requests: each server would make its own, in milliseconds.
		validator: new AjvJsonSchemaValidator(),
	};
}

/**
 * agy announces versions that the SDK does not know, and the SDK refuses those. What the two sides really speak was
 * agreed at `initialize`.
 */
function toHeaders(request: IncomingMessage, sdk: Sdk): Headers {
	const headers = new Headers();
	for (const [name, value] of Object.entries(request.headers)) {
		if (typeof value === "string" && name !== TOKEN_HEADER) headers.set(name, value);
	}
	const version = headers.get("mcp-protocol-version");
	if (version !== null && !sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
		headers.set("mcp-protocol-version", sdk.LATEST_PROTOCOL_VERSION);
	}
	return headers;
}

/** The SDK checks every argument several times, which takes it up to a second, although there is nothing to check. */
function withoutArguments(message: JsonObject): { readonly message: JsonObject; readonly args: JsonObject } {
	const { params } = message;
	if (message.method !== "tools/call" || !isObject(params) || !isObject(params.arguments)) return { message, args: {} };
	return { message: { ...message, params: { ...params, arguments: {} } }, args: params.arguments };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toMcpTool({ name, description, inputSchema }: BridgeTool) {
	return { name, description, inputSchema: { ...inputSchema, type: "object" as const } };
}

/** Clients number their requests alike: a number that several open calls have says nothing about which is meant. */
function cancel(session: Session, requestId: string | number | undefined): void {
	const meant = [...session.calls].filter((call) => call.requestId === requestId);
	if (meant.length === 1) meant[0]?.controller.abort();
}

function closeSession(session: Session): void {
	session.isClosed = true;
	for (const { controller } of session.calls) controller.abort();
}

function toFailure(text: string): CallResult {
	return { content: [{ type: "text", text }], isError: true };
}

function closedError(): AgyError {
	return new AgyError("cancelled", "The bridge to agy is closed with its pi session. Start a new session.");
}
