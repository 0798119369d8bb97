import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect, promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type GeminiOptions, geminiTranscriber } from "../../../src/main/voice/gemini.ts";
import { type Recorded, type TranscriptionLimits, withRules } from "../../../src/main/voice/transcriber.ts";
import { AgyError } from "../../../src/shared/errors.ts";
import { until, within } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";
import { type GeminiAnswer, GeminiServer, json, refusal, spoken } from "../../support/gemini-server.ts";

/** Of no form that is known as a key's. */
const KEY = "Known.key/of+the=test-0123456789";
const FAST: TranscriptionLimits = { timeLimitMs: 30_000, retryWaitMs: 1, maxRetryWaitMs: 3_000 };

const folder = new Folder();
let server: GeminiServer;
let recorded: Recorded;

beforeEach(async () => {
	server = await GeminiServer.start();
	const path = folder.at("recording.ogg");
	await writeFile(
		path,
		Uint8Array.from({ length: 5_000 }, (_byte, index) => (index * 7) % 256),
	);
	recorded = { mimeType: "audio/ogg", durationMs: 0, path, base64: Buffer.from(await readFile(path, "base64")) };
});

afterEach(() => server.close());

function transcribe(
	answers: readonly GeminiAnswer[],
	options: Partial<GeminiOptions> = {},
	{ signal = new AbortController().signal, limits = FAST } = {},
): Promise<string> {
	server.answers = answers;
	const gemini = geminiTranscriber({ key: async () => KEY, baseUrl: server.url, ...options });
	return within("the transcription", withRules(gemini, limits).transcribe(recorded, signal));
}

/** The failure, proven to be ours and to hold no key in any of its parts. */
async function failureOf(transcription: Promise<string>): Promise<AgyError> {
	const error = await transcription.then(
		(text) => expect.unreachable(`it said ${text}`),
		(error: unknown) => error,
	);
	if (!(error instanceof AgyError)) return expect.unreachable(inspect(error));
	expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(KEY);
	expect(inspect(error, { depth: 10 })).not.toContain(encodeURIComponent(KEY));
	expect(error.message.length).toBeLessThan(600);
	expect(error.message).toMatch(/\.$/);
	expect(error.message).not.toContain("\n");
	return error;
}

describe("the request", () => {
	test("holds the recording, its type and the instruction, for the model, with the key in its header alone", async () => {
		expect(await transcribe([spoken("  Hello ", "world.\n")])).toBe("Hello world.");
		expect(server.requests).toHaveLength(1);
		const [request] = server.requests;
		expect(request).toMatchObject({ method: "POST", url: "/v1beta/models/gemini-flash-latest:generateContent" });
		expect(request?.headers).toMatchObject({ "x-goog-api-key": KEY, "content-type": "application/json" });
		expect(request?.headers.authorization).toBeUndefined();
		expect(request?.body).not.toContain(KEY);
		const body = JSON.parse(request?.body ?? "");
		expect(Object.keys(body).toSorted()).toStrictEqual(["contents", "generationConfig"]);
		const [{ role, parts }, ...others] = body.contents;
		expect(others).toStrictEqual([]);
		expect(role).toBe("user");
		expect(parts[0].inlineData.mimeType).toBe("audio/ogg");
		expect(Buffer.from(parts[0].inlineData.data, "base64").equals(await readFile(recorded.path))).toBe(true);
		expect(parts[1].text).toMatch(/word for word[\s\S]*language it is spoken in[\s\S]*no comment/);
		expect(parts[1].text).not.toContain("probably");
		expect(body.generationConfig).toStrictEqual({ temperature: 0, thinkingConfig: { thinkingLevel: "LOW" } });
	});

	test("names the type of another container", async () => {
		recorded = { ...recorded, mimeType: "audio/wav" };
		await transcribe([spoken("x")]);
		expect(JSON.parse(server.requests[0]?.body ?? "").contents[0].parts[0].inlineData.mimeType).toBe("audio/wav");
	});

	test("names the language that was set", async () => {
		await transcribe([spoken("Ciao")], { language: "Italian" });
		expect(JSON.parse(server.requests[0]?.body ?? "").contents[0].parts[1].text).toMatch(/probably: Italian$/);
	});

	test("goes below a base URL with a path", async () => {
		await transcribe([spoken("x")], { baseUrl: `${server.url}/proxy/` });
		expect(server.requests[0]?.url).toBe("/proxy/v1beta/models/gemini-flash-latest:generateContent");
	});

	test.each([
		["gemini-2.5-flash", { thinkingBudget: 0 }],
		["gemini-2.5-flash-lite", { thinkingBudget: 0 }],
		["gemini-3.8-flash", { thinkingLevel: "LOW" }],
		["gemini-3-pro-preview", { thinkingLevel: "LOW" }],
		["gemini-flash-lite-latest", { thinkingLevel: "LOW" }],
		["gemini-2.5-pro", {}],
		["other-model", {}],
	])("asks the model %s for as little thought as it allows", async (model, thinkingConfig) => {
		await transcribe([spoken("x")], { model });
		expect(server.requests[0]?.url).toBe(`/v1beta/models/${model}:generateContent`);
		expect(JSON.parse(server.requests[0]?.body ?? "").generationConfig.thinkingConfig ?? {}).toStrictEqual(
			thinkingConfig,
		);
	});

	test("asks for the key anew for each recording", async () => {
		const keys = ["first-key", "second-key"];
		const gemini = geminiTranscriber({ key: async () => keys.shift() ?? null, baseUrl: server.url });
		server.answers = [spoken("x")];
		const { signal } = new AbortController();
		await gemini.transcribe(recorded, signal);
		await gemini.transcribe(recorded, signal);
		expect(server.requests.map(({ headers }) => headers["x-goog-api-key"])).toStrictEqual(["first-key", "second-key"]);
	});
});

describe("without a key", () => {
	test.each([null, "", "  "])("%j says what to set, and asks nobody", async (key) => {
		const error = await failureOf(transcribe([spoken("x")], { key: async () => key }));
		expect(error.code).toBe("transcription-failed");
		expect(error.message).toMatch(/GEMINI_API_KEY.*\/login for google.*another voiceTranscriber/);
		expect(server.requests).toHaveLength(0);
	});

	test("says why it could not be read", async () => {
		const error = await failureOf(transcribe([], { key: () => Promise.reject(new Error("store is locked")) }));
		expect(error).toMatchObject({ code: "transcription-failed", message: expect.stringContaining("store is locked") });
	});
});

describe("an answer", () => {
	test("keeps thoughts and parts of other kinds out", async () => {
		const parts = [{ text: "I should write", thought: true }, { text: "Hello" }, { executableCode: { code: "x" } }];
		expect(await transcribe([json({ candidates: [{ content: { parts }, finishReason: "STOP" }] })])).toBe("Hello");
	});

	test("is taken from the first of several", async () => {
		const candidate = (text: string) => ({ content: { parts: [{ text }] }, finishReason: "STOP" });
		expect(await transcribe([json({ candidates: [candidate("one"), candidate("two")] })])).toBe("one");
	});

	test.each<[string, GeminiAnswer, RegExp]>([
		["without candidates", json({}), /^Nothing was understood/],
		["with empty candidates", json({ candidates: [] }), /^Nothing was understood/],
		["with a candidate without content", json({ candidates: [{ finishReason: "STOP" }] }), /^Nothing was understood/],
		["of white space", spoken(" \n"), /^Nothing was understood/],
		["that there was no speech", spoken("[no speech]\n"), /^Nothing was understood/],
		[
			"that the recording is blocked",
			json({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }),
			/would not.*PROHIBITED_CONTENT/,
		],
		[
			"that breaks off for safety",
			json({ candidates: [{ content: { parts: [{ text: "half" }] }, finishReason: "SAFETY" }] }),
			/would not.*SAFETY/,
		],
		[
			"that does not end",
			json({ candidates: [{ content: { parts: [{ text: "a a a a" }] }, finishReason: "MAX_TOKENS" }] }),
			/did not come to an end/,
		],
		["in no JSON", (response) => response.end("<html>Welcome to the hotel</html>"), /no transcription.*voiceGeminiUrl/],
		["of nothing", (response) => response.end(), /no transcription/],
		["of a JSON null", json(null), /no transcription/],
		["of a JSON string", json("hello"), /no transcription/],
		["of a JSON list", json([1, 2]), /^Nothing was understood/],
		["with candidates of a wrong type", json({ candidates: 5 }), /transcription|understood/],
		[
			"with parts of a wrong type",
			json({ candidates: [{ content: { parts: "x" }, finishReason: "STOP" }] }),
			/transcription|understood/,
		],
		["that is far too long", (response) => response.end("x".repeat(5_000_000)), /more than 4194304 bytes/],
	])("%s is a failure", async (_name, answer, message) => {
		const error = await failureOf(transcribe([answer]));
		expect(error.code).toBe("transcription-failed");
		expect(error.message).toMatch(message);
		expect(server.requests).toHaveLength(1);
	});
});

describe("a refusal", () => {
	/** What a server says about a key may hold it. */
	const said = `Request with ${KEY} or ${encodeURIComponent(KEY)} is not good`;

	test.each<[string, GeminiAnswer, number, RegExp]>([
		["of the key, 401", refusal(401, said), 1, /refused the key \(HTTP 401: Request with \[api key\].*GEMINI_API_KEY/],
		["of the key, 403", refusal(403, said), 1, /refused the key \(HTTP 403.*GEMINI_API_KEY/],
		[
			"of the key, as the API words it",
			refusal(400, "API key not valid. Please pass a valid API key."),
			1,
			/refused the key/,
		],
		["of the request", refusal(400, said), 1, /refused the recording \(HTTP 400/],
		["of the model", refusal(404, "models/x is not found"), 1, /has no model gemini-flash-latest.*another voiceModel/],
		["of the size", refusal(413, "too large"), 1, /refused the recording \(HTTP 413/],
		["for the quota, twice", refusal(429, said), 2, /quota.*HTTP 429.*Wait a minute/],
		["for its own trouble, 408", refusal(408, said), 2, /trouble of its own.*HTTP 408/],
		["for its own trouble, 500", refusal(500, said), 2, /trouble of its own.*HTTP 500/],
		["for its own trouble, 502", refusal(502, said), 2, /trouble of its own.*HTTP 502/],
		["for its own trouble, 503", refusal(503, said), 2, /trouble of its own.*HTTP 503/],
		["for its own trouble, 504", refusal(504, said), 2, /trouble of its own.*HTTP 504/],
		[
			"without JSON",
			(response) => response.writeHead(503).end(`<html>${said}\n${"long ".repeat(1_000)}</html>`),
			2,
			/HTTP 503.*…/,
		],
		[
			"in broken JSON",
			(response) => response.writeHead(500, { "content-type": "application/json" }).end("{"),
			2,
			/HTTP 500/,
		],
		[
			"to answer here",
			(response) => response.writeHead(302, { location: "/elsewhere" }).end(),
			1,
			/refused the recording \(HTTP 302/,
		],
	])("%s", async (_name, answer, requestCount, message) => {
		const error = await failureOf(transcribe([answer]));
		expect(error.code).toBe("transcription-failed");
		expect(error.message).toMatch(message);
		expect(server.requests).toHaveLength(requestCount);
	});

	test.each([408, 429, 500, 502, 503, 504])("%i and then an answer is an answer", async (status) => {
		expect(await transcribe([refusal(status, "later"), spoken("Hello")])).toBe("Hello");
		expect(server.requests).toHaveLength(2);
	});

	test("is waited for as long as it says", async () => {
		const startMs = performance.now();
		expect(await transcribe([refusal(429, "later", { "retry-after": "1" }), spoken("Hello")])).toBe("Hello");
		expect(performance.now() - startMs).toBeGreaterThanOrEqual(990);
	});

	test("that says a date in the past is not waited for", async () => {
		const date = new Date(Date.now() - 60_000).toUTCString();
		const limits = { ...FAST, retryWaitMs: 60_000 };
		expect(await transcribe([refusal(503, "later", { "retry-after": date }), spoken("Hello")], {}, { limits })).toBe(
			"Hello",
		);
	});

	test("that says too long is taken at once", async () => {
		const error = await failureOf(transcribe([refusal(429, "later", { "retry-after": "4" }), spoken("Hello")]));
		expect(error.message).toMatch(/quota/);
		expect(server.requests).toHaveLength(1);
	});
});

describe("the network", () => {
	test("that refuses the connection", async () => {
		const gone = await GeminiServer.start();
		const { url } = gone;
		await gone.close();
		const error = await failureOf(transcribe([], { baseUrl: url }));
		expect(error.message).toMatch(/could not be reached.*ECONNREFUSED.*Check the network/);
	});

	test("that breaks off once is no failure", async () => {
		expect(await transcribe([(response) => response.destroy(), spoken("Hello")])).toBe("Hello");
	});

	test("that breaks off within the answer, twice", async () => {
		const half: GeminiAnswer = (response) => {
			response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
			response.write('{"candidates":', () => response.destroy());
		};
		expect((await failureOf(transcribe([half]))).message).toMatch(/could not be reached/);
		expect(server.requests).toHaveLength(2);
	});

	test.each(["no address", "ftp://127.0.0.1/x"])("that there is not: %s", async (baseUrl) => {
		const error = await failureOf(transcribe([], { baseUrl }));
		expect(error.message).toMatch(/voiceGeminiUrl/);
	});

	test("a key that no header can hold is named as such, and not shown", async () => {
		const error = await failureOf(transcribe([], { key: async () => `${KEY}\n${KEY}` }));
		expect(error.message).toMatch(/could not be made.*Check the key/);
		expect(server.requests).toHaveLength(0);
	});
});

describe("the end", () => {
	const never: GeminiAnswer = () => {};

	test("by the time limit, which drops the request", async () => {
		await transcribe([spoken("Hello")]); // The SDK is loaded.
		const limits = { ...FAST, timeLimitMs: 1_000 };
		const error = await failureOf(transcribe([spoken("Hello"), never], {}, { limits }));
		expect(error.code).toBe("transcription-failed");
		expect(error.message).toMatch(/took longer than 1 s/);
		await until("the request is dropped", () => server.requests[1]?.wasDropped);
	});

	test("by its caller, which drops the request", async () => {
		const controller = new AbortController();
		const transcription = transcribe([never], {}, { signal: controller.signal });
		transcription.catch(() => {});
		await until("the request", () => server.requests.length === 1);
		controller.abort(new Error("a reason of the caller's"));
		expect(await failureOf(transcription)).toMatchObject({ code: "cancelled" });
		await until("the request is dropped", () => server.requests[0]?.wasDropped);
		expect(server.requests).toHaveLength(1);
	});
});

/** All that the SDK for Node looks for, and the switch for what it logs. */
const ENVIRONMENT = {
	GOOGLE_API_KEY: "key-of-the-environment-1",
	GEMINI_API_KEY: "key-of-the-environment-2",
	GOOGLE_GENAI_USE_VERTEXAI: "true",
	GOOGLE_GENAI_USE_ENTERPRISE: "false",
	GOOGLE_CLOUD_PROJECT: "project",
	GOOGLE_CLOUD_LOCATION: "location",
	GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:9/gemini",
	GOOGLE_VERTEX_BASE_URL: "http://127.0.0.1:9/vertex",
	GOOGLE_GENAI_API_VERSION: "v9",
	NODE_NO_WARNINGS: "1",
};

test("takes nothing from the environment, and says nothing on stdout and stderr", async () => {
	server.answers = [
		refusal(500, "later"),
		json({ candidates: [{ content: { parts: [{ functionCall: { name: "x" } }, { text: "Hello" }] } }, {}] }),
	];
	const root = join(import.meta.dirname, "../../..");
	const script = `
		import { geminiTranscriber } from ${JSON.stringify(join(root, "src/main/voice/gemini.ts"))};
		import { withRules } from ${JSON.stringify(join(root, "src/main/voice/transcriber.ts"))};
		const gemini = geminiTranscriber({ key: async () => ${JSON.stringify(KEY)}, baseUrl: ${JSON.stringify(server.url)} });
		const recorded = { mimeType: "audio/ogg", durationMs: 0, path: "/x", base64: Buffer.from("AAAA") };
		const limits = { timeLimitMs: 30000, retryWaitMs: 1, maxRetryWaitMs: 1 };
		const text = await withRules(gemini, limits).transcribe(recorded, new AbortController().signal);
		process.exit(text === "Hello" ? 0 : 9);`;
	const file = folder.at("transcribe.mts");
	await writeFile(file, script);
	const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { env: ENVIRONMENT });
	expect({ stdout, stderr }).toStrictEqual({ stdout: "", stderr: "" });
	expect(server.requests).toHaveLength(2);
	for (const { url, headers } of server.requests) {
		expect(url).toBe("/v1beta/models/gemini-flash-latest:generateContent");
		expect(headers["x-goog-api-key"]).toBe(KEY);
	}
});
