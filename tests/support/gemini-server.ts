/** The Gemini API as far as a transcription sees it: a real HTTP server on this machine that records and answers as told. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type GeminiRequest = {
	readonly method: string;
	readonly url: string;
	readonly headers: IncomingHttpHeaders;
	readonly body: string;
	/** The client has gone before it had an answer. */
	wasDropped: boolean;
};

export type GeminiAnswer = (response: ServerResponse) => void;

export class GeminiServer {
	readonly requests: GeminiRequest[] = [];
	/** One for each request, in order; the last one serves for all that follow. */
	answers: readonly GeminiAnswer[] = [];
	readonly #server: Server;

	private constructor(server: Server) {
		this.#server = server;
	}

	static async start(): Promise<GeminiServer> {
		const server = createServer();
		const gemini = new GeminiServer(server);
		server.on("request", (request, response) => {
			const chunks: Buffer[] = [];
			request.on("data", (chunk: Buffer) => chunks.push(chunk));
			request.on("end", () => {
				const { method = "", url = "", headers } = request;
				const record = { method, url, headers, body: Buffer.concat(chunks).toString("utf8"), wasDropped: false };
				response.on("close", () => {
					record.wasDropped = !response.writableFinished;
				});
				gemini.requests.push(record);
				gemini.answers[Math.min(gemini.requests.length, gemini.answers.length) - 1]?.(response);
			});
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		return gemini;
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	async close(): Promise<void> {
		const closed = new Promise((resolve) => this.#server.close(resolve));
		this.#server.closeAllConnections();
		await closed;
	}
}

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): GeminiAnswer {
	return (response) => {
		response.writeHead(status, { "content-type": "application/json; charset=UTF-8", ...headers });
		response.end(JSON.stringify(body));
	};
}

export function spoken(...texts: readonly string[]): GeminiAnswer {
	return json({
		candidates: [
			{ content: { role: "model", parts: texts.map((text) => ({ text })) }, finishReason: "STOP", index: 0 },
		],
		usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 5, totalTokenCount: 105 },
		modelVersion: "gemini-flash",
	});
}

export function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): GeminiAnswer {
	return json({ error: { code: status, message, status: "SOME_STATUS" } }, status, headers);
}
