/**
 * What the bridge's HTTP server lets in. Everything on this machine can reach a port of the loopback interface, and so can
 * a web page in the user's browser: a request passes only with this server's own Host, without a foreign Origin, to a
 * known path, as a POST, with the endpoint's secret, with a body of bounded size and depth. Nothing of the body is read
 * before the secret is seen. A refused request gets its answer, and its connection is closed.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import { MAX_NESTING } from "../../shared/limits.ts";

export const TOKEN_HEADER = "x-pi-agy-token";

/** Arguments of a tool call: a file to be written is the largest that is seen. */
const MAX_BODY_BYTES = 1024 * 1024;
/** What a refused client may still send while it reads its answer; without this it would see a reset connection. */
const LINGER_BYTES = 8 * 1024 * 1024;
const LINGER_MS = 1_000;

/** Codes of JSON-RPC, in which HTTP errors are worded too. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const REFUSED = -32000;

export type Refusal = { readonly status: number; readonly code: number; readonly message: string };

type Body = { readonly ok: true; readonly message: JsonObject } | { readonly ok: false; readonly refusal: Refusal };

/** `origin` is this server's own. Null when the request may go on to find its endpoint. */
export function checkSender(request: IncomingMessage, origin: string): Refusal | null {
	// A page whose name resolves to 127.0.0.1 sends its own name as Host, and a page of another site its Origin.
	if (`http://${request.headers.host}` !== origin) return refusal(403, "This server answers to its own address only.");
	if (request.headers.origin !== undefined && request.headers.origin !== origin) {
		return refusal(403, "This server takes no requests of web pages.");
	}
	return null;
}

/** `tokenHash` is null for a path without endpoint. */
export function checkEndpoint(request: IncomingMessage, tokenHash: Buffer | null): Refusal | null {
	if (!tokenHash) return refusal(404, "There is nothing at this path.");
	if (request.method !== "POST") return refusal(405, "Only POST is answered here.");
	const token = request.headers[TOKEN_HEADER];
	// Hashes have one length and tell nothing of the token, however long the comparison takes.
	const isOwn = typeof token === "string" && timingSafeEqual(hashToken(token), tokenHash);
	return isOwn ? null : refusal(403, `The header ${TOKEN_HEADER} is missing or wrong.`);
}

export function hashToken(token: string): Buffer {
	return createHash("sha256").update(token).digest();
}

/** The request's JSON-RPC message; null when the client left before it was complete. */
export async function readMessage(request: IncomingMessage): Promise<Body | null> {
	if (Number(request.headers["content-length"]) > MAX_BODY_BYTES) return { ok: false, refusal: tooLarge() };
	const chunks: Buffer[] = [];
	let byteLength = 0;
	try {
		// Not destroyed on an early return: the connection still carries the answer.
		for await (const chunk of request.iterator({ destroyOnReturn: false })) {
			chunks.push(chunk);
			byteLength += chunk.length;
			if (byteLength > MAX_BODY_BYTES) return { ok: false, refusal: tooLarge() };
		}
	} catch {
		return null; // The client has left: there is nobody to tell.
	}
	return parseMessage(Buffer.concat(chunks));
}

/** Answers and closes the connection, after what the client is still sending was thrown away. */
export function refuse(
	request: IncomingMessage,
	response: ServerResponse,
	{ status, code, message }: Refusal,
	id: JsonValue = null,
): void {
	const body = JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
	response.writeHead(status, {
		"Content-Type": "application/json",
		"Content-Length": Buffer.byteLength(body),
		Connection: "close",
		...(status === 405 ? { Allow: "POST" } : {}),
	});
	response.write(body);
	let remainingBytes = LINGER_BYTES;
	const end = () => {
		clearTimeout(timer);
		response.end();
	};
	const timer = setTimeout(end, LINGER_MS);
	timer.unref();
	request.on("data", (chunk: Buffer) => {
		remainingBytes -= chunk.length;
		if (remainingBytes < 0) end();
	});
	request.once("end", end);
	request.once("close", end);
	if (request.complete) end();
	else request.resume();
}

function parseMessage(body: Buffer): Body {
	if (isTooDeep(body)) return { ok: false, refusal: refusal(400, "The JSON is nested too deeply.", INVALID_REQUEST) };
	let message: unknown;
	try {
		message = JSON.parse(body.toString("utf8"));
	} catch {
		return { ok: false, refusal: refusal(400, "The body is not JSON.", PARSE_ERROR) };
	}
	// The protocol has no batches any more.
	if (typeof message === "object" && message !== null && !Array.isArray(message)) {
		return { ok: true, message: message as JsonObject };
	}
	return { ok: false, refusal: refusal(400, "The body is not one JSON-RPC message.", INVALID_REQUEST) };
}

/** Before it is parsed: a body of nothing but brackets takes a second to parse, and more of whoever walks through it. */
function isTooDeep(body: Buffer): boolean {
	let depth = 0;
	let isInString = false;
	for (let index = 0; index < body.length; index += 1) {
		const byte = body[index];
		if (byte === 0x22) isInString = !isInString;
		else if (isInString) {
			if (byte === 0x5c) index += 1; // A backslash and what it escapes.
		} else if (byte === 0x5b || byte === 0x7b) {
			depth += 1;
			if (depth > MAX_NESTING) return true;
		} else if (byte === 0x5d || byte === 0x7d) depth -= 1;
	}
	return false;
}

function refusal(status: number, message: string, code: number = REFUSED): Refusal {
	return { status, code, message };
}

function tooLarge(): Refusal {
	return refusal(413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);
}
