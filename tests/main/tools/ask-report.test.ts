import { initTheme, type Theme } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { renderAskCall, renderAskResult } from "../../../src/main/tools/ask-card.ts";
import {
	type AskDetails,
	type AskOutcome,
	progressLine,
	toSeconds,
	toTexts,
} from "../../../src/main/tools/ask-report.ts";
import type { Verdict } from "../../../src/main/verdict.ts";

const DETAILS: AskDetails = {
	state: "done",
	model: "gemini-3.8-flash",
	slug: "gemini-3.8-flash-low",
	thinking: "low",
	mode: "default",
	cwd: "/repo",
	conversationId: "c1",
	durationMs: 61_400,
	verdict: "complete",
	usage: null,
	stepCount: 0,
	steps: [],
	commands: [],
	filesChanged: null,
	timedOut: false,
	aborted: false,
	lastLine: "",
};
const COMPLETE: Verdict = {
	kind: "complete",
	stop: "stop",
	summary: "",
	detail: "",
	process: "keep",
	keepsConversation: true,
	retry: null,
};

function texts(more: Partial<AskOutcome>, details: Partial<AskDetails> = {}): readonly string[] {
	return toTexts({
		...{ verdict: COMPLETE, answer: "A", jsonProblem: "", askedConversationId: null, timeoutMin: 1 },
		...more,
		details: { ...DETAILS, ...details },
	});
}

describe("the texts of a result", () => {
	test("are the answer and, apart, the conversation", () => {
		expect(texts({})).toEqual(["A", "conversationId: c1"]);
		expect(texts({}, { conversationId: null })).toEqual(["A"]);
	});

	test("name files below the working directory shortly", () => {
		const filesChanged = { source: "git", files: ["/repo/a.txt", "/other/b.txt"], isCut: true } as const;
		expect(texts({}, { filesChanged })[1]).toBe(
			"Files changed on disk meanwhile: a.txt, ../other/b.txt, …\nconversationId: c1",
		);
	});

	test("say that a very long answer is cut, unless it is JSON", () => {
		const answer = "x".repeat(50_010);
		expect(texts({ answer })[0]).toMatch(/x\n\[10 more characters are not shown; ask for them/);
		expect(texts({ answer }, { json: {} })[0]).toBe(answer);
	});

	test("say that the conversation is another one", () => {
		expect(texts({ askedConversationId: "c0" })[1]).toMatch(/did not know the conversation c0; this is a fresh one/);
		expect(texts({ askedConversationId: "c1" })[1]).toBe("conversationId: c1");
	});

	test.each<readonly [string, Partial<Verdict>, Partial<AskDetails>, RegExp]>([
		["its own time limit", { kind: "timed-out" }, { durationMs: 60_000 }, /^agy took longer than timeoutMinutes \(1\)/],
		[
			"agy's silence",
			{ kind: "timed-out", summary: "agy said nothing." },
			{ durationMs: 59_000 },
			/^agy said nothing\./,
		],
		["the user", { kind: "cancelled", stop: "aborted" }, {}, /^The delegated run was stopped\. The answer above is/],
		["agy", { kind: "cancelled", summary: "agy cancelled." }, {}, /^agy cancelled\./],
		["an error", { kind: "quota", summary: "Used up.", detail: "code 7" }, {}, /^Used up\.\nagy: code 7\n/],
	])("say what it was stopped by: %s", (_name, verdict, details, message) => {
		expect(texts({ verdict: { ...COMPLETE, stop: "error", ...verdict } }, details)[1]).toMatch(message);
	});
});

describe("progress", () => {
	test.each([
		[{ state: "waiting" }, "waiting for a free place (1 min 1 s)"],
		[{ state: "running" }, "1 min 1 s"],
		[
			{ stepCount: 2, steps: [{ tool: "view_file", what: "/a", state: "active" }], lastLine: "so far" },
			"1 min 1 s · 2 steps · view_file /a\nso far",
		],
	] as const)("%#", (details, line) => {
		expect(progressLine({ ...DETAILS, ...details })).toBe(line);
	});

	test("seconds", () => {
		expect([400, 1_600, 59_600].map(toSeconds)).toEqual(["0 s", "2 s", "1 min 0 s"]);
	});
});

describe("the card", () => {
	initTheme("dark");
	const plain = { fg: (_color: string, text: string) => text, bold: (text: string) => text } as unknown as Theme;
	const lines = (text: { render(width: number): readonly string[] }) => text.render(200).map((line) => line.trimEnd());
	const show = (text: string, view: { expanded: boolean; isPartial: boolean }, details: Partial<AskDetails> = {}) =>
		lines(
			renderAskResult({ content: [{ type: "text", text }], details: { ...DETAILS, ...details } }, view, plain, {
				isError: false,
				expandKey: "key",
			}),
		);

	test("names model and prompt on one line", () => {
		expect(lines(renderAskCall({ prompt: "a\nb", model: "pro" }, plain))).toEqual(["ask agy pro a b"]);
		expect(lines(renderAskCall({}, plain))).toEqual(["ask agy"]);
	});

	test("shows some lines, and all of them with what was done", () => {
		const text = Array.from({ length: 10 }, (_, index) => `${index}`).join("\n");
		const filesChanged = { source: "git", files: ["/repo/a"], isCut: false } as const;
		expect(show(text, { expanded: false, isPartial: false }, { filesChanged, stepCount: 1 }).slice(8)).toEqual([
			"… 2 more lines (key)",
			"gemini-3.8-flash-low · 1 min 1 s · 1 step · 1 file changed",
		]);
		const whole = show(text, { expanded: true, isPartial: false }, { filesChanged, commands: ["ls"] });
		expect(whole.slice(10)).toEqual([
			"commands:",
			"  ls",
			"files:",
			"  /repo/a",
			"gemini-3.8-flash-low · 1 min 1 s · 1 file changed",
		]);
	});

	test("shows progress while it runs", () => {
		expect(show("", { expanded: false, isPartial: true })).toEqual(["1 min 1 s"]);
	});

	test("takes a refusal, which has no details", () => {
		const result = { content: [{ type: "text" as const, text: "no" }], details: undefined as unknown as AskDetails };
		const view = { expanded: false, isPartial: false };
		expect(lines(renderAskResult(result, view, plain, { isError: true, expandKey: "" }))).toEqual(["no"]);
	});
});
