import { describe, expect, test } from "vitest";
import type { CaptureEnd } from "../../../src/main/voice/capture.ts";
import { judgeRecording } from "../../../src/main/voice/recording-verdict.ts";
import { AgyError } from "../../../src/shared/errors.ts";

type Result = NonNullable<CaptureEnd["result"]>;

const ENCODED = {
	ok: true,
	mimeType: "audio/ogg",
	durationMs: 1_900,
	byteLength: 4,
	base64: Buffer.from("T2dnUw=="),
} as const;
const HEARD: Result = { capturedMs: 2_000, loudestDb: -20, encoded: ENCODED };
const END: CaptureEnd = { result: HEARD, stderr: "", failure: null, exit: { code: 0, signal: null } };

const endOf = (result: Partial<Result>, rest: Partial<CaptureEnd> = {}): CaptureEnd => ({
	...END,
	...rest,
	result: { ...HEARD, ...result },
});

test("a recording in which something was said is its sound", () => {
	expect(judgeRecording(END, "microphone")).toBe(ENCODED);
	expect(judgeRecording(endOf({ capturedMs: 300, loudestDb: -50 }), "file")).toBe(ENCODED);
});

describe("nothing is made of", () => {
	test.each<[string, CaptureEnd, "microphone" | "file", RegExp]>([
		[
			"one that was given up",
			{ ...END, failure: new AgyError("recording-failed", "No sound came.") },
			"file",
			/^No sound came\.$/,
		],
		["one whose ffmpeg never was ready", { ...END, result: null }, "microphone", /^The recording was lost/],
		[
			"a file without sound",
			endOf({ capturedMs: 0 }, { stderr: "x.txt: Invalid data found" }),
			"file",
			/can read: x\.txt: Invalid data found\.$/,
		],
		[
			"a key pressed twice",
			endOf({ capturedMs: 299 }),
			"microphone",
			/^The recording is too short \(299 ms\)\. Nothing was sent\.$/,
		],
		[
			"a muted microphone",
			endOf({ loudestDb: -50.1 }),
			"microphone",
			/^Nothing was heard \(the loudest was -50 dB\)\. Check .*voiceInput.* Nothing was sent\.$/,
		],
		[
			"a silent file",
			endOf({ loudestDb: -91 }),
			"file",
			/^Nothing was heard \(the loudest was -91 dB\)\. Nothing was sent\.$/,
		],
		[
			"a damaged file of a killed ffmpeg",
			endOf({ encoded: { ok: false, problem: "no end" } }, { exit: { code: null, signal: "SIGKILL" } }),
			"microphone",
			/^The recording is damaged: ffmpeg was ended by SIGKILL\. Record again\.$/,
		],
		[
			"a damaged file",
			endOf({ encoded: { ok: false, problem: "it has no end" } }),
			"microphone",
			/^The recording is damaged: it has no end\. Record again\.$/,
		],
		[
			"silence alone",
			endOf({ encoded: { ...ENCODED, durationMs: 99 } }),
			"microphone",
			/^Nothing but silence was recorded/,
		],
	])("%s", (_name, end, source, message) => {
		expect(() => judgeRecording(end, source)).toThrow(AgyError);
		expect(() => judgeRecording(end, source)).toThrow(message);
	});
});
