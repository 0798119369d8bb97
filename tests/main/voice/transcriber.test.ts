import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { type Recorded, type Transcriber, withRules } from "../../../src/main/voice/transcriber.ts";
import { AgyError } from "../../../src/shared/errors.ts";
import { within } from "../../support/condition.ts";

const RECORDED: Recorded = { mimeType: "audio/wav", durationMs: 0, path: "/nowhere.wav", base64: null };
const LIMITS = { timeLimitMs: 30_000, retryWaitMs: 1, maxRetryWaitMs: 50 };

/** One after the other; how often it was asked is counted. */
function playing(...outcomes: readonly (string | Error | "never")[]) {
	const play = {
		calls: 0,
		name: "agy" as const,
		async transcribe(): Promise<string> {
			const outcome = outcomes[play.calls++] ?? "";
			if (outcome === "never") return await new Promise<string>(() => {});
			if (outcome instanceof Error) throw outcome;
			return outcome;
		},
	} satisfies Transcriber & { calls: number };
	return play;
}

function run(
	transcriber: Transcriber,
	more: { signal?: AbortSignal; limits?: Partial<typeof LIMITS>; durationMs?: number } = {},
) {
	const { signal = new AbortController().signal, limits = {}, durationMs = 0 } = more;
	return within(
		"the transcription",
		withRules(transcriber, { ...LIMITS, ...limits }).transcribe({ ...RECORDED, durationMs }, signal),
	);
}

const transient = (retryAfterMs?: number) =>
	new AgyError("transcription-failed", "Later.", {
		details: { isTransient: true, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
	});

test.each([
	["as it is", "Hello,\n world", "Hello,\n world"],
	["without white space around it", " \n Hello\t\n", "Hello"],
	["without control sequences", "\u001b[32mHello\u001b[0m", "Hello"],
])("gives the text %s", async (_name, answer, text) => {
	expect(await run(playing(answer))).toBe(text);
});

test.each(["", " \n\t", "\u001b[0m"])("an answer without text is a failure that says so: %j", async (answer) => {
	await expect(run(playing(answer))).rejects.toMatchObject({
		code: "transcription-failed",
		message: expect.stringMatching(/^Nothing was understood.*microphone/),
	});
});

describe("a failure", () => {
	test("that may be gone in a moment is tried once more", async () => {
		const transcriber = playing(transient(), "Hello");
		expect(await run(transcriber)).toBe("Hello");
		expect(transcriber.calls).toBe(2);
	});

	test("is tried no third time", async () => {
		const transcriber = playing(transient(), transient(), "Hello");
		await expect(run(transcriber)).rejects.toMatchObject({ code: "transcription-failed", message: "Later." });
		expect(transcriber.calls).toBe(2);
	});

	test.each([
		["of another kind", new AgyError("transcription-failed", "No.")],
		["that asks for a long wait", transient(51)],
		["of no kind of ours", new Error("odd")],
	])("%s is not tried again", async (_name, error) => {
		const transcriber = playing(error, "Hello");
		await expect(run(transcriber)).rejects.toBeInstanceOf(AgyError);
		expect(transcriber.calls).toBe(1);
	});

	test("is waited for as long as it asks", async () => {
		const startMs = performance.now();
		expect(await run(playing(transient(50), "Hello"))).toBe("Hello");
		expect(performance.now() - startMs).toBeGreaterThanOrEqual(45);
	});

	test("of no kind of ours is put in words, without credentials, on one short line", async () => {
		const error = new Error(`bad\nBearer abc.def ${"long ".repeat(100)}`);
		const failure = await run(playing(error)).catch((thrown: unknown) => thrown);
		expect(failure).toMatchObject({
			code: "transcription-failed",
			message: expect.stringMatching(/could not be transcribed: bad Bearer \[secret\].*….*another voiceTranscriber\.$/),
		});
		expect((failure as Error).message.length).toBeLessThan(400);
	});

	test("of ours keeps its code and loses credentials", async () => {
		const error = new AgyError("agy-failed", "It said: Bearer abc.def", { details: { a: 1 } });
		await expect(run(playing(error))).rejects.toMatchObject({
			code: "agy-failed",
			message: "It said: Bearer [secret]",
			details: { a: 1 },
		});
	});
});

describe("the time limit", () => {
	test("ends one that does not even heed the signal", async () => {
		await expect(run(playing("never"), { limits: { timeLimitMs: 50 } })).rejects.toMatchObject({
			code: "transcription-failed",
			message: expect.stringContaining("took longer than"),
		});
	});

	test("holds for both tries together", async () => {
		const transcriber = playing(transient(), "never");
		await expect(run(transcriber, { limits: { timeLimitMs: 500 } })).rejects.toMatchObject({
			code: "transcription-failed",
		});
		expect(transcriber.calls).toBe(2);
	});

	test("is longer by the length of the recording", async () => {
		const slow: Transcriber = {
			name: "agy",
			transcribe: () => new Promise((resolve) => setTimeout(() => resolve("Hello"), 60)),
		};
		await expect(run(slow, { limits: { timeLimitMs: 5 } })).rejects.toMatchObject({ code: "transcription-failed" });
		expect(await run(slow, { limits: { timeLimitMs: 5 }, durationMs: 30_000 })).toBe("Hello");
	});

	test("tells the transcriber to stop", async () => {
		let given: AbortSignal | undefined;
		const heeding: Transcriber = {
			name: "agy",
			transcribe: (_recorded, signal) => {
				given = signal;
				return new Promise(() => {});
			},
		};
		await expect(run(heeding, { limits: { timeLimitMs: 20 } })).rejects.toBeInstanceOf(AgyError);
		expect(given?.aborted).toBe(true);
	});
});

describe("an abort", () => {
	test("before the start starts nothing", async () => {
		const transcriber = playing("Hello");
		await expect(run(transcriber, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
		expect(transcriber.calls).toBe(0);
	});

	test.each([
		["in the first try", playing("never")],
		["in the wait before the second", playing(transient(40_000), "Hello")],
	])("%s ends it as cancelled", async (_name, transcriber) => {
		const controller = new AbortController();
		const ended = run(transcriber, { signal: controller.signal, limits: { maxRetryWaitMs: 60_000 } });
		setImmediate(() => controller.abort());
		await expect(ended).rejects.toMatchObject({ code: "cancelled" });
		expect(transcriber.calls).toBe(1);
	});

	test("leaves no listener with a signal that lives on", async () => {
		const { signal } = new AbortController();
		await run(playing("Hello"), { signal });
		expect(getEventListeners(signal, "abort")).toStrictEqual([]);
	});
});
