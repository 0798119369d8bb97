/** Every form in which agy's output may come, from a real process to the message in pi's session. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { isRunning } from "../support/process-table.ts";
import type { ScenarioData } from "../support/sandbox.ts";
import { medleyOf } from "../support/scenario-medley.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage, type StageOptions } from "../support/sdk-stage.ts";
import { answer, cards, story, streamedText, textOf } from "../support/transcript.ts";

const SENTENCE = "The quick brown fox jumps over the lazy dog";

const stage = new SdkStage();

function resending(...deltas: readonly string[]): ScenarioData {
	return { turns: [{ steps: [{ kind: "text", text: "", deltas }] }] };
}

type Form = {
	readonly name: string;
	readonly scenario: string | ScenarioData;
	readonly text: string;
};

/** Each is one turn of the same process. */
const FORMS: readonly Form[] = [
	{ name: "noise glued to a frame", scenario: "glued-noise", text: "Done.\n" },
	{ name: "lines that are no frames", scenario: "noise", text: "Done.\n" },
	{ name: "an event, a step and a state nobody knows", scenario: "future", text: "Done.\n" },
	{
		name: "text under response_text",
		scenario: {
			turns: [
				{
					steps: [{ kind: "text", text: "Found in another field.", field: "response_text" }],
					result: { response: "" },
				},
			],
		},
		text: "Found in another field.",
	},
	{
		name: "the whole text in each frame",
		scenario: resending(SENTENCE, `${SENTENCE}, twice`, `${SENTENCE}, twice, thrice.`),
		text: `${SENTENCE}, twice, thrice.`,
	},
	{
		name: "the whole text once between pieces",
		scenario: resending(SENTENCE.slice(0, 9), SENTENCE.slice(9), `${SENTENCE}, then`, " goes on."),
		text: `${SENTENCE}, then goes on.`,
	},
	{
		name: "a text that repeats itself",
		scenario: resending("ha", "haha", "hahaha ", `${SENTENCE} `, `${SENTENCE} `),
		text: `hahahahahaha ${SENTENCE} ${SENTENCE} `,
	},
	{
		name: "another final text: what was streamed stays",
		scenario: "final-differs",
		text: "What was streamed.\n",
	},
	{
		name: "a longer final text: its rest follows",
		scenario: "final-longer",
		text: "The beginning and the end.\n",
	},
	{ name: "the final text alone", scenario: "final-only", text: "Only here.\n" },
	{
		name: "a question that nobody can answer",
		scenario: "ask-question",
		text: "Nobody answered, so I chose the first option.\n",
	},
	{ name: "the status OK of old versions", scenario: "status-ok", text: "Done.\n" },
	{ name: "the status SUCCESS", scenario: "done-only", text: "Done.\n" },
];

/** Each needs a process of its own. */
const PROCESS_FORMS: readonly { readonly name: string; readonly options: StageOptions; readonly text: string }[] = [
	{
		name: "frames split anywhere, also within a character",
		options: { scenario: "graphemes", env: { AGY_SIM_CHUNK_BYTES: "3" } },
		text: "e\u0301 \u{1f469}\u200d\u{1f469}\u200d\u{1f467} \u{1f1ee}\u{1f1f9} \u65e5\u672c\u8a9e\n",
	},
	{
		name: "no introduction before the first prompt",
		options: { scenario: "late-init", version: "1.1.18" },
		text: "Ready.\n",
	},
];

async function expectWhole(session: SdkSession, prompt: string, text: string): Promise<void> {
	const turn = await session.turn(prompt);
	expect(answer(turn).errorMessage).toBeUndefined();
	expect(answer(turn).stopReason).toBe("stop");
	expect(streamedText(turn)).toBe(text);
	expect(textOf(answer(turn))).toBe(text);
	expect(session.runs()).toHaveLength(1);
	expect(session.prompts().at(-1)).toBe(prompt);
}

describe("a whole answer comes of", () => {
	describe("a turn with", () => {
		let session: SdkSession;
		beforeAll(async () => {
			const scenario = await medleyOf(Object.fromEntries(FORMS.map((form, index) => [`form ${index}`, form.scenario])));
			session = await stage.open({ scenario, isKept: true });
		});
		afterAll(() => session.close());

		it.each(FORMS.map((form, index) => ({ ...form, index })))("$name", async ({ index, text }) => {
			await expectWhole(session, `form ${index}`, text);
			expect(session.prompts()).toHaveLength(new Set(session.prompts()).size);
		});
	});

	it.each(PROCESS_FORMS)("a process with $name", async ({ options, text }) => {
		const session = await stage.open(options);
		await expectWhole(session, "go", text);
		expect(session.prompts()).toEqual(["go"]);
	});
});

/** What is told of the edit of the scenario `tools`, which writes nothing. */
const NO_FILE = "src/sum.ts: there is no such file.";

describe("a tool step", () => {
	it.each([
		{ name: "in tool_info", scenario: "tools", outputs: ["12 lines, 240 bytes", NO_FILE, "4 passed\r\n"] },
		{ name: "beside tool_info", scenario: "output-beside", outputs: ["4 passed\r\n"] },
	])("shows its output when it stands $name", async ({ scenario, outputs }) => {
		const session = await stage.open({ scenario });
		session.session.setActiveToolsByName(["antigravity"]);
		const turn = await session.turn("go");
		expect(cards(turn).map((card) => card.output)).toEqual(outputs);
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
	});

	it("may make an image, which lies where the answer says", async () => {
		const session = await stage.open({ scenario: "image" });
		const turn = await session.turn("draw a pixel");
		expect(story(turn).filter((part) => part.startsWith("["))).toEqual(["[generate_image]"]);
		expect(cards(turn)).toMatchObject([{ isError: false, details: { state: "done" } }]);
		const [, path = ""] = /(\/\S+\/pixel\.png)/.exec(textOf(answer(turn))) ?? [];
		expect(readFileSync(path).subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
	});

	it("may launch a sub-agent, which is a card of its own", async () => {
		const session = await stage.open({ scenario: "subagent" });
		const turn = await session.turn("go");
		expect(story(turn)).toContain("[invoke_subagent]");
		expect(cards(turn)).toHaveLength(1);
		expect(textOf(answer(turn))).toBe("The researcher found it.\n");
	});

	it("of more than 32 MiB is given up as a line, and the turn goes on", async () => {
		const session = await stage.open({ scenario: "giant-line" });
		const turn = await session.turn("go");
		expect(cards(turn)).toMatchObject([{ details: { state: "background" } }]);
		expect(textOf(answer(turn))).toBe("Done.\n");
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
	});

	it("that is still active at the result leaves the process unused: the next prompt resumes in another", async () => {
		const session = await stage.open({ scenario: "tool-open" });
		const turn = await session.turn("first");
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(cards(turn)).toMatchObject([{ details: { state: "background" } }]);
		await session.turn("second");
		const [first, second] = session.runs();
		expect(first?.prompts).toEqual(["first"]);
		expect(second?.prompts).toEqual(["second"]);
		expect(second?.argv.join(" ")).toContain(`--conversation ${answer(turn).responseId}`);
		await until("the first process is gone", () => !isRunning(first?.pid as number));
	});
});

describe("an extension that watches over tool calls", () => {
	/** Blocks what it does not allow, and notes every call it is asked about. */
	function guard(asked: string[], allows: (name: string) => boolean) {
		return (pi: ExtensionAPI) => {
			pi.on("tool_call", ({ toolName }) => {
				asked.push(toolName);
				return allows(toolName) ? undefined : { block: true, reason: "not here" };
			});
		};
	}

	it("sees the display tool, and what pi runs again; what agy did stays as it is", async () => {
		const asked: string[] = [];
		const session = await stage.open({
			scenario: "tools",
			extensions: [guard(asked, () => true)],
		});
		stage.sandbox.write(`${relative(stage.sandbox.path, session.cwd)}/src/sum.ts`, "a - b\n");
		const turn = await session.turn("go");
		expect(asked).toEqual(["read", "antigravity", "antigravity"]);
		expect(cards(turn).map((card) => card.output)).toEqual(["a - b\n", "src/sum.ts: unchanged.", "4 passed\r\n"]);
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
	});

	it("and blocks that one too does not keep the turn from its end", async () => {
		const asked: string[] = [];
		const session = await stage.open({ scenario: "tools", extensions: [guard(asked, () => false)] });
		const turn = await session.turn("go");
		expect(new Set(asked)).toEqual(new Set(["read", "antigravity"]));
		expect(cards(turn).map((card) => card.isError)).toEqual(asked.map(() => true));
		expect(answer(turn)).toMatchObject({ stopReason: "stop" });
		expect(textOf(answer(turn))).toBe("All four tests pass now.\n");
		expect(session.prompts()).toEqual(["go"]);
	});
});
