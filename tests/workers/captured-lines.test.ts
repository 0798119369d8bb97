import { describe, expect, test } from "vitest";
import type { CaptureEntry } from "../../src/shared/capture.ts";
import { redactEntries } from "../../src/workers/captured-lines.ts";
import { deltaLine, toolLine } from "../support/agy-lines.ts";

const out = (line: unknown): CaptureEntry => ({
	t: 1,
	dir: "out",
	line: typeof line === "string" ? line : JSON.stringify(line),
});
const linesOf = (...entries: readonly CaptureEntry[]) => redactEntries(entries).map(({ line }) => line);

describe("captured lines", () => {
	test("stay as they are without a secret", () => {
		const lines = [
			deltaLine(1, "a token of thanks"),
			toolLine(2, "DONE", "run_command", { CommandLine: "ls" }),
			"noise",
		];
		expect(linesOf(...lines.map(out))).toStrictEqual(lines.map((line) => out(line).line));
	});

	test("stay JSON when a secret is taken out", () => {
		const output = "Authorization: Bearer abc\nsk-abcdefghijklmnop and more";
		const [line = ""] = linesOf(out(toolLine(2, "DONE", "run_command", { accessToken: "hunter2", n: 1 }, { output })));
		const { tool_info } = JSON.parse(line).step_update;
		expect(tool_info.parameters).toStrictEqual({ accessToken: "[secret]", n: 1 });
		expect(tool_info.output).toBe("Authorization: [secret]\n[secret] and more");
	});

	test("that are no JSON are redacted as text", () => {
		expect(linesOf({ t: 0, dir: "err", line: "token ya29.abcdef" })).toStrictEqual(["token [oauth token]"]);
	});

	test("hold no secret that came in pieces", () => {
		const pieces = ["the key is AIzaSyA1234", "567890abcdefgh", "ijklmnop, use it"];
		const lines = linesOf(...pieces.map((piece) => out(deltaLine(1, piece))), out(deltaLine(2, "next")));
		const texts = lines.map((line) => JSON.parse(line).step_update.text_delta);
		expect(texts).toStrictEqual(["the key is [api key], use it", "", "", "next"]);
	});

	test("deeper than anyone looks are cut", () => {
		const deep = `${'{"a":'.repeat(200)}1${"}".repeat(200)}`;
		expect(linesOf(out(deep))[0]).toContain("…");
	});
});
