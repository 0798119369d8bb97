import { execFile } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect as connectSocket, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import type { OpenEndpoint } from "../../../src/main/bridge/mcp-server.ts";
import { TOKEN_HEADER } from "../../../src/main/bridge/request-gate.ts";
import { BridgeRig, messageOf, PlayedEndpoint, post, textOf, toResult, toTool } from "../../support/bridge-rig.ts";
import { until, within } from "../../support/condition.ts";

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
const CALL = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "echo", arguments: { a: 1 } } };
const NEWER = "2026-07-28";

const rig = new BridgeRig();
const sockets: Socket[] = [];

afterEach(() => {
	for (const socket of sockets.splice(0)) socket.destroy();
});

async function openPlayed(): Promise<{ endpoint: PlayedEndpoint; opened: OpenEndpoint }> {
	const endpoint = new PlayedEndpoint();
	return { endpoint, opened: await rig.server.open(endpoint) };
}

/** A bare connection that collects what it is sent. */
function rawSocket({ url }: OpenEndpoint): { socket: Socket; received: () => string; closed: Promise<void> } {
	const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
	sockets.push(socket);
	let text = "";
	socket.on("data", (piece) => {
		text += piece.toString("latin1");
	});
	socket.on("error", () => {}); // A reset is one of the ways it may end.
	const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
	return { socket, received: () => text, closed };
}

function headOf({ url, headers }: OpenEndpoint, lines: readonly string[]): string {
	const { host, pathname } = new URL(url);
	const secret = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
	const all = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`, ...secret, "Content-Type: application/json", ...lines];
	return all.join("\r\n");
}

describe("a tool call", () => {
	test("comes to the endpoint, and its result to the client", async () => {
		const { endpoint, opened } = await openPlayed();
		endpoint.tools = [toTool("echo"), { ...toTool("read"), inputSchema: { type: "object", properties: { p: {} } } }];
		const client = await rig.connect(opened);
		expect(client.getServerVersion()?.name).toBe("pi-test");
		expect((await client.listTools()).tools).toStrictEqual(endpoint.tools);

		const answered = client.callTool({ name: "read", arguments: { p: ["é", { deep: null }] } });
		const call = await endpoint.next();
		expect(call).toMatchObject({ tool: "read", args: { p: ["é", { deep: null }] }, onProgress: null });
		expect(call.signal.aborted).toBe(false);
		call.answer({
			content: [
				{ type: "text", text: "done 😀" },
				{ type: "image", data: "QUJD", mimeType: "image/png" },
			],
			isError: false,
			structuredContent: { lines: 3 },
		});
		expect(await answered).toStrictEqual({
			content: [
				{ type: "text", text: "done 😀" },
				{ type: "image", data: "QUJD", mimeType: "image/png" },
			],
			isError: false,
			structuredContent: { lines: 3 },
		});
	});

	test("may fail as a tool does", async () => {
		const { endpoint, opened } = await openPlayed();
		const answered = (await rig.connect(opened)).callTool({ name: "echo" });
		(await endpoint.next()).answer({ content: [{ type: "text", text: "no such file" }], isError: true });
		expect(await answered).toStrictEqual({ content: [{ type: "text", text: "no such file" }], isError: true });
	});

	test("gets its own answer, once, among 150 that are answered in another order", async () => {
		const { endpoint, opened } = await openPlayed();
		const client = await rig.connect(opened);
		const problems: Error[] = [];
		client.onerror = (error) => problems.push(error);
		const numbers = Array.from({ length: 150 }, (_, index) => index);
		const answered = numbers.map(async (number) =>
			textOf(await client.callTool({ name: "echo", arguments: { number } })),
		);
		await until("150 open calls", () => endpoint.calls.length === 150);
		// 67 has no factor in common with 150: every call is met, in no order of theirs.
		for (const number of numbers) {
			const call = endpoint.calls[(number * 67) % 150];
			call?.answer(toResult(`answer ${call.args.number}`));
		}
		expect(await Promise.all(answered)).toStrictEqual(numbers.map((number) => `answer ${number}`));
		expect(endpoint.calls).toHaveLength(150);
		expect(problems).toStrictEqual([]);
	});

	test("is refused when the tool was taken out of the list after the client had read it", async () => {
		const { endpoint, opened } = await openPlayed();
		const client = await rig.connect(opened);
		expect((await client.listTools()).tools.map(({ name }) => name)).toStrictEqual(["echo"]);
		endpoint.tools = [toTool("other")];
		const answer = await client.callTool({ name: "echo" });
		expect(answer.isError).toBe(true);
		expect(textOf(answer)).toContain("does not offer a tool echo");
		expect(endpoint.calls).toHaveLength(0);
		expect((await client.listTools()).tools.map(({ name }) => name)).toStrictEqual(["other"]);
	});

	test("fails when the list cannot be made: nothing is offered", async () => {
		const { endpoint, opened } = await openPlayed();
		const client = await rig.connect(opened);
		endpoint.list = () => {
			throw new Error("ctx is stale");
		};
		expect((await client.listTools()).tools).toStrictEqual([]);
		expect((await client.callTool({ name: "echo" })).isError).toBe(true);
		expect(endpoint.calls).toHaveLength(0);
		expect(rig.log.join()).toContain("ctx is stale");
	});

	test("that the endpoint throws at fails alone, with the reason in the log only", async () => {
		const { endpoint, opened } = await openPlayed();
		const client = await rig.connect(opened);
		const [first, second] = [client.callTool({ name: "echo" }), client.callTool({ name: "echo" })];
		(await endpoint.next(1)).answer(toResult("fine"));
		(await endpoint.next(0)).fail(new Error("a bug with /a/path"));
		const answers = (await Promise.all([first, second])).map((answer) => [answer.isError, textOf(answer)]);
		expect(answers.sort()).toStrictEqual([
			[false, "fine"],
			[true, "pi could not run echo. Its log says why."],
		]);
		expect(rig.log.filter((line) => line.startsWith("error"))).toHaveLength(1);
		expect(rig.log.join()).toContain("a bug with /a/path");
	});

	test("carries images of several megabytes unchanged, and no damaged one", async () => {
		const { endpoint, opened } = await openPlayed();
		const client = await rig.connect(opened);
		const [one, two] = [1, 2].map((byte) => Buffer.alloc(3_000_000, byte).toString("base64"));
		const damaged = { type: "image" as const, data: '"}', mimeType: "image/png" };
		const answered = client.callTool({ name: "echo" });
		const content = [one, two].map((data = "") => ({ type: "image" as const, data, mimeType: "image/png" }));
		(await endpoint.next()).answer({ content: [...content, damaged], isError: false });
		const note = { type: "text", text: "[An image (image/png) was left out: it is damaged.]" };
		expect((await answered).content).toStrictEqual([...content, note]);
	});
});

describe("progress", () => {
	test("goes to a client that asked for it", async () => {
		const { endpoint, opened } = await openPlayed();
		const client = await rig.connect(opened);
		const seen: unknown[] = [];
		const answered = client.callTool({ name: "echo" }, undefined, { onprogress: (progress) => seen.push(progress) });
		const call = await endpoint.next();
		call.onProgress?.("line 1");
		call.onProgress?.(`${"x".repeat(5_000)}end`);
		await until("two notifications", () => seen.length === 2);
		expect(seen[0]).toStrictEqual({ progress: 1, message: "line 1" });
		expect(seen[1]).toStrictEqual({ progress: 2, message: `${"x".repeat(1_997)}end` });
		call.answer(toResult("done"));
		expect(textOf(await answered)).toBe("done");
		call.onProgress?.("too late");
	});
});

describe("a call that nobody waits for any more", () => {
	test("is aborted when the client disconnects", async () => {
		const { endpoint, opened } = await openPlayed();
		const { socket } = rawSocket(opened);
		const body = JSON.stringify(CALL);
		const accept = "Accept: application/json, text/event-stream";
		socket.write(`${headOf(opened, [accept, `Content-Length: ${body.length}`])}\r\n\r\n${body}`);
		const call = await endpoint.next();
		expect(call.signal.aborted).toBe(false);
		socket.destroy();
		await until("the call is aborted", () => call.signal.aborted);
		call.answer(toResult("nobody reads this"));
		expect((await post(opened, LIST)).status).toBe(200);
	});

	test("is aborted when the client cancels it", async () => {
		const { endpoint, opened } = await openPlayed();
		const client = await rig.connect(opened);
		const cancel = new AbortController();
		const answered = client.callTool({ name: "echo" }, undefined, { signal: cancel.signal });
		const kept = client.callTool({ name: "echo" });
		const [first, second] = [await endpoint.next(0), await endpoint.next(1)];
		cancel.abort("not needed");
		await expect(answered).rejects.toThrow();
		await until("one call is aborted", () => first.signal.aborted || second.signal.aborted);
		const [other] = [first, second].filter(({ signal }) => !signal.aborted);
		other?.answer(toResult("kept"));
		expect(textOf(await kept)).toBe("kept");
	});

	test("is not aborted when it may be another client's", async () => {
		const { endpoint, opened } = await openPlayed();
		const answers = [post(opened, CALL), post(opened, CALL)];
		const calls = [await endpoint.next(0), await endpoint.next(1)];
		const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: CALL.id } };
		expect((await post(opened, cancelled)).status).toBe(202);
		expect(calls.map(({ signal }) => signal.aborted)).toStrictEqual([false, false]);
		calls[0]?.answer(toResult("one"));
		await until("one is answered", async () => (await Promise.race([...answers, null]))?.status === 200);
		expect((await post(opened, cancelled)).status).toBe(202);
		await until("the one that is left is aborted", () => calls[1]?.signal.aborted);
		calls[1]?.answer(toResult("two"));
		await Promise.all(answers);
	});
});

describe("the protocol", () => {
	test.each([
		["a newer version", NEWER],
		["a version of no form", "tomorrow"],
		["two newer versions", [NEWER, NEWER]],
		["a version that is known", "2025-06-18"],
	])("is spoken with a client that announces %s", async (_name, version) => {
		const { opened } = await openPlayed();
		const answer = await post(opened, LIST, { headers: { "MCP-Protocol-Version": version } });
		expect(answer.status).toBe(200);
		expect(messageOf(answer)).toMatchObject({ id: 1, result: { tools: [{ name: "echo" }] } });
	});

	test("is agreed on at a version that both know", async () => {
		const { opened } = await openPlayed();
		const params = { protocolVersion: NEWER, capabilities: {}, clientInfo: { name: "a", version: "1" } };
		const answer = await post(opened, { jsonrpc: "2.0", id: 0, method: "initialize", params });
		expect(messageOf(answer)).toMatchObject({ id: 0, result: { protocolVersion: "2025-11-25" } });
	});

	test.each(["server/discover", "resources/list", "no/such/method"])(
		"does not know %s, and says so in JSON-RPC",
		async (method) => {
			const { opened } = await openPlayed();
			const answer = await post(
				opened,
				{ jsonrpc: "2.0", id: "x", method, params: {} },
				{ headers: { "MCP-Protocol-Version": NEWER } },
			);
			expect(answer.status).toBe(200);
			expect(messageOf(answer)).toMatchObject({ id: "x", error: { code: -32601 } });
		},
	);
});

describe("a request is refused", () => {
	const body = JSON.stringify(LIST);
	test.each([
		["without the secret", 403, { headers: { [TOKEN_HEADER]: "" } }],
		["with another secret", 403, { headers: { [TOKEN_HEADER]: "A".repeat(43) } }],
		["with two secrets", 403, { headers: { [TOKEN_HEADER]: ["A", "B"] } }],
		["with a very long secret", 403, { headers: { [TOKEN_HEADER]: "A".repeat(8_000) } }],
		["for another host", 403, { headers: { Host: "evil.example" } }],
		["for this host by another name", 403, { headers: { Host: "localhost" } }],
		["of a web page", 403, { headers: { Origin: "https://evil.example" } }],
		["of a page without origin", 403, { headers: { Origin: "null" } }],
		["as a GET", 405, { method: "GET" }],
		["as a DELETE", 405, { method: "DELETE" }],
		["as a PUT", 405, { method: "PUT" }],
		["at the root", 404, { path: "/" }],
		["at another path", 404, { path: "/mcp/000000000000000000000000" }],
		["at a well-known path", 404, { path: "/.well-known/oauth-protected-resource" }],
		["at another server's address", 404, { path: "http://evil.example/mcp" }],
		["without the media types of MCP", 406, { headers: { Accept: "text/html" } }],
		["as a form", 415, { headers: { "Content-Type": "text/plain" } }],
	])("%s: %s", async (_name, status, options) => {
		const { endpoint, opened } = await openPlayed();
		const answer = await post(opened, body, options);
		expect(answer.status).toBe(status);
		expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) } });
		expect(answer.text + rig.log.join()).not.toContain(opened.headers[TOKEN_HEADER]);
		expect(endpoint.calls).toHaveLength(0);
	});

	test.each([
		["no JSON", '{"jsonrpc": "2.0", ', -32700],
		["nothing", "", -32700],
		["a text", '"tools/list"', -32600],
		["null", "null", -32600],
		["a batch", `[${body},${body}]`, -32600],
		["no JSON-RPC", '{"a": 1}', -32700],
		["nested without end", `{"a": ${"[".repeat(101)}${"]".repeat(101)}}`, -32600],
	])("with 400, when its body is %s", async (_name, text, code) => {
		const { opened } = await openPlayed();
		const answer = await post(opened, text);
		expect(answer.status).toBe(400);
		expect(JSON.parse(answer.text)).toMatchObject({ error: { code } });
	});

	test("not when its brackets stand in a text", async () => {
		const { endpoint, opened } = await openPlayed();
		const text = `\\" ${"[{".repeat(1_000)} \\`;
		const answered = post(opened, { ...CALL, params: { name: "echo", arguments: { text } } });
		const call = await endpoint.next();
		expect(call.args).toStrictEqual({ text });
		call.answer(toResult("fine"));
		expect((await answered).status).toBe(200);
	});

	test("with another session's secret", async () => {
		const [one, two] = [await openPlayed(), await openPlayed()];
		expect(one.opened.url).not.toBe(two.opened.url);
		expect((await post({ url: one.opened.url, headers: two.opened.headers }, LIST)).status).toBe(403);
		expect((await post(two.opened, LIST)).status).toBe(200);
	});
});

describe("a body that is too large", () => {
	test("is refused by its announced length, before any of it is sent", async () => {
		const { opened } = await openPlayed();
		const { socket, received, closed } = rawSocket(opened);
		socket.write(`${headOf(opened, ["Content-Length: 1048577"])}\r\n\r\n`);
		await until("an answer", () => received().includes("\r\n\r\n"));
		expect(received()).toMatch(/^HTTP\/1.1 413 .*connection: close/is);
		socket.end();
		await within("the connection's end", closed);
	});

	test("is refused as soon as it is too long, though nothing announced it", async () => {
		const { endpoint, opened } = await openPlayed();
		const { port, pathname } = new URL(opened.url);
		const status = await new Promise<number | undefined>((resolve, reject) => {
			const headers = { ...opened.headers, "Content-Type": "application/json" };
			const sent = httpRequest({ host: "127.0.0.1", port, path: pathname, method: "POST", headers, agent: false });
			sent.on("response", (answer) => {
				resolve(answer.statusCode);
				sent.destroy();
			});
			sent.on("error", reject);
			// 1 MB and one byte; the request is never ended.
			for (let piece = 0; piece < 16; piece += 1) sent.write(Buffer.alloc(65_536, " "));
			sent.write(" ");
		});
		expect(status).toBe(413);
		expect(endpoint.calls).toHaveLength(0);
	});

	test("is told so to a client that sends all of it before it reads", async () => {
		const { opened } = await openPlayed();
		const { socket, received } = rawSocket(opened);
		socket.pause();
		const body = Buffer.alloc(4 * 1024 * 1024, " ");
		socket.write(`${headOf(opened, [`Content-Length: ${body.length}`])}\r\n\r\n`);
		await new Promise<void>((resolve, reject) => {
			socket.write(body, (error) => (error ? reject(error) : resolve()));
		});
		socket.resume();
		await until("an answer", () => received().startsWith("HTTP/1.1 413"));
		expect((await post(opened, LIST)).status).toBe(200);
	});

	test("is one byte larger than the largest that is taken", async () => {
		const { opened } = await openPlayed();
		const text = JSON.stringify(LIST);
		expect((await post(opened, text + " ".repeat(1_048_576 - text.length))).status).toBe(200);
		expect((await post(opened, text + " ".repeat(1_048_577 - text.length))).status).toBe(413);
	});
});

describe("a client that misbehaves", () => {
	test.each([
		["bytes that are no HTTP", "\0\xff\xfe nonsense\r\n\r\n", /^HTTP\/1.1 400/],
		["a request without host", "POST / HTTP/1.1\r\n\r\n", /^HTTP\/1.1 400/],
		["old HTTP without host", "POST / HTTP/1.0\r\n\r\n", /^HTTP\/1.1 403/],
		["a broken length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n", /^HTTP\/1.1 400/],
		["headers without end", `GET / HTTP/1.1\r\nX: ${"x".repeat(64 * 1024)}`, /^HTTP\/1.1 431/],
		["a tunnel", "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", /^$/],
	])("is sent away after %s, and the others do not notice", async (_name, text, expected) => {
		const { opened } = await openPlayed();
		const { socket, received, closed } = rawSocket(opened);
		socket.write(Buffer.from(text, "latin1"));
		await within("the connection's end", closed);
		expect(received()).toMatch(expected);
		expect((await post(opened, LIST)).status).toBe(200);
	});

	test("by resetting its connection at any point harms nobody", async () => {
		const { opened } = await openPlayed();
		const body = JSON.stringify(LIST);
		const accept = "Accept: application/json, text/event-stream";
		const whole = `${headOf(opened, [accept, `Content-Length: ${body.length}`])}\r\n\r\n${body}`;
		for (let length = 1; length <= whole.length; length += 23) {
			const { socket, closed } = rawSocket(opened);
			socket.write(whole.slice(0, length), () => socket.resetAndDestroy());
			await closed;
		}
		expect((await post(opened, LIST)).status).toBe(200);
		expect(rig.log.filter((line) => !line.startsWith("debug"))).toStrictEqual([]);
	});
});

describe("a slow client", () => {
	const hasty = new BridgeRig({ headersMs: 100, requestMs: 200, checkMs: 20 });

	test.each([
		["headers", (opened: OpenEndpoint) => headOf(opened, ["X-Slow: "])],
		["body", (opened: OpenEndpoint) => `${headOf(opened, ["Content-Length: 100"])}\r\n\r\n{`],
	])("is sent away when its %s do not come to an end", async (_name, toText) => {
		const opened = await hasty.server.open(new PlayedEndpoint());
		const { socket, received, closed } = rawSocket(opened);
		socket.write(toText(opened));
		const drip = setInterval(() => socket.write("x"), 10);
		await within("the connection's end", closed).finally(() => clearInterval(drip));
		expect(received()).toMatch(/^HTTP\/1.1 408/);
	});

	test("that has sent its request may wait for its answer", async () => {
		const endpoint = new PlayedEndpoint();
		const opened = await hasty.server.open(endpoint);
		const answered = post(opened, CALL);
		const call = await endpoint.next();
		// Another request that is timed out meanwhile shows that the limit has passed.
		const { socket, closed } = rawSocket(opened);
		socket.write("POST /");
		await within("the other connection's end", closed);
		call.answer(toResult("patience"));
		expect((await answered).text).toContain("patience");
	});
});

describe("connections", () => {
	const narrow = new BridgeRig({ maxConnections: 2 });

	test("above the cap are closed", async () => {
		const opened = await narrow.server.open(new PlayedEndpoint());
		const two = [rawSocket(opened), rawSocket(opened)];
		await Promise.all(two.map(({ socket }) => once(socket, "connect")));
		await within("the third one's end", rawSocket(opened).closed);
		expect(two.every(({ socket }) => !socket.destroyed)).toBe(true);
	});
});

describe("an endpoint that is closed", () => {
	test("answers its open calls with an error and is gone; the others stay", async () => {
		const [one, two] = [await openPlayed(), await openPlayed()];
		const client = await rig.connect(one.opened);
		const answered = client.callTool({ name: "echo" });
		const call = await one.endpoint.next();
		one.opened.close();
		one.opened.close();
		expect(call.signal.aborted).toBe(true);
		const answer = await answered;
		expect([answer.isError, textOf(answer)]).toStrictEqual([true, expect.stringContaining("was ended")]);
		expect((await post(one.opened, LIST)).status).toBe(404);
		expect((await post(two.opened, LIST)).status).toBe(200);
	});

	test("does not serve a request that was on its way", async () => {
		const { endpoint, opened } = await openPlayed();
		const { socket, received } = rawSocket(opened);
		const body = JSON.stringify(CALL);
		const accept = "Accept: application/json, text/event-stream";
		// The server says "continue" when it has let the request in.
		const lines = [accept, "Expect: 100-continue", `Content-Length: ${body.length}`];
		socket.write(`${headOf(opened, lines)}\r\n\r\n`);
		await until("the request is let in", () => received().includes("100 Continue"));
		opened.close();
		socket.write(body);
		await until("an answer", () => received().includes("data: "));
		expect(received()).toContain("was ended");
		expect(endpoint.calls).toHaveLength(0);
	});
});

describe("a bridge that is closed", () => {
	test("answers its open calls with an error, and takes no connection", async () => {
		const { endpoint, opened } = await openPlayed();
		const answered = (await rig.connect(opened)).callTool({ name: "echo" });
		await endpoint.next();
		const half = rawSocket(opened);
		half.socket.write("POST /");
		await rig.server.close();
		await rig.server.close();
		expect((await answered).isError).toBe(true);
		await within("the end of a connection in the middle of its request", half.closed);
		await expect(post(opened, LIST)).rejects.toThrow("ECONNREFUSED");
		await expect(rig.server.open(endpoint)).rejects.toMatchObject({ code: "cancelled" });
	});

	test("while it starts does not go on", async () => {
		const opening = rig.server.open(new PlayedEndpoint());
		const closing = rig.server.close();
		await expect(opening).rejects.toMatchObject({ code: "cancelled" });
		await closing;
	});

	test("before it has started has nothing to do", async () => {
		await rig.server.close();
	});
});

test("sessions share one server, which starts with the first of them", async () => {
	const [one, two] = await Promise.all([openPlayed(), openPlayed()]);
	expect(new URL(one.opened.url).host).toBe(new URL(two.opened.url).host);
	expect(new URL(one.opened.url).hostname).toBe("127.0.0.1");
});

test("a bridge with a waiting call keeps no process alive", async () => {
	const source = fileURLToPath(new URL("../../../src/main/bridge/mcp-server.ts", import.meta.url));
	const script = `
		import { request } from "node:http";
		import { BridgeServer } from ${JSON.stringify(source)};
		const server = new BridgeServer({ log() {} });
		const tool = { name: "wait", description: "", inputSchema: { type: "object" } };
		const called = Promise.withResolvers();
		const { url, headers } = await server.open({ name: "x", list: () => [tool], call: () => { called.resolve(); return new Promise(() => {}); } });
		const accept = "application/json, text/event-stream";
		const sent = request(url, { method: "POST", headers: { ...headers, accept, "content-type": "application/json" } });
		sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait" } }));
		await called.promise;
		sent.socket.unref();
		process.stdout.write("called");
	`;
	const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
		timeout: 25_000,
	});
	expect([stdout, stderr]).toStrictEqual(["called", ""]);
});
