/** Answers in every form they take on the wire, and the steps around them. */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Scenario } from "../scenario/scenario.ts";
import type { Step } from "../scenario/step.ts";

const FAMILY_EMOJI = "\u{1f469}\u200d\u{1f469}\u200d\u{1f467}";
const ANSWER: Step = { kind: "text", text: "Done.\n", deltaChars: 0 };

function script(about: string, ...steps: readonly Step[]): Scenario {
	return { about, turns: [{ steps }] };
}

export const STEPS: ScenarioFamily = {
	"done-only": script("a short answer that comes on the DONE frame alone", ANSWER),
	"newline-done": script("the DONE frame carries only a line feed", {
		kind: "text",
		text: "All of it came before.",
		finish: "newline",
	}),
	"bare-done": script("the DONE frame carries no text", {
		kind: "text",
		text: "All of it came before.\n",
		finish: "bare",
	}),
	"thinking-only": script(
		"model calls that show nothing but usage, then an answer",
		{ kind: "think" },
		{ kind: "think" },
		ANSWER,
	),
	graphemes: script("one code point a delta, so characters made of several are cut apart", {
		kind: "text",
		text: `e\u0301 ${FAMILY_EMOJI} \u{1f1ee}\u{1f1f9} \u65e5\u672c\u8a9e\n`,
		deltaChars: 1,
	}),
	subagent: script(
		"a sub-agent is launched, reports, and an answer follows",
		{ kind: "think" },
		{ kind: "subagent", prompt: "Find the licence file" },
		{ kind: "text", text: "The researcher found it.\n" },
	),
	"subagent-flat": script(
		"old form: id and log of the sub-agent beside the list",
		{ kind: "subagent", prompt: "Find the licence file", flat: true },
		ANSWER,
	),
	"legacy-steps": script(
		"steps of old versions: unknown, checkpoint with usage, title, thinking_delta",
		{ kind: "step", stepType: "unknown", durationSeconds: 0 },
		{ kind: "step", stepType: "checkpoint", durationSeconds: 0.5, usage: { inputTokens: 400, outputTokens: 8 } },
		{ kind: "step", stepType: "title" },
		{ kind: "text", text: "Let me think.", field: "thinking_delta", finish: "none" },
		ANSWER,
	),
	future: script(
		"a step type, a state and an event nobody knows yet",
		{ kind: "step", stepType: "hologram", state: "SHIMMERING", usage: { inputTokens: 7, outputTokens: 3 } },
		{ kind: "event", event: "weather", payload: { sky: "clear" } },
		{ kind: "event", event: "no_payload" },
		ANSWER,
	),
	"ask-question": script(
		"a question to the user that nobody can answer: an unknown step, and the agent decides by itself",
		{ kind: "step", stepType: "unknown", durationSeconds: 0 },
		{ kind: "text", text: "Nobody answered, so I chose the first option.\n" },
	),
	"response-text": script("text under response_text instead of text_delta", {
		kind: "text",
		text: "Found in another field.\n",
		field: "response_text",
	}),
	"cumulative-text": script("every frame repeats the whole text so far", {
		kind: "text",
		text: "Again and again from the start.\n",
		cumulative: true,
	}),
	"final-only": {
		about: "no delta at all; the text stands only in the result",
		turns: [{ steps: [{ kind: "think" }], result: { response: "Only here.\n" } }],
	},
	"final-differs": {
		about: "the result's text differs from the deltas",
		turns: [{ steps: [{ kind: "text", text: "What was streamed.\n" }], result: { response: "What was meant.\n" } }],
	},
	"final-longer": {
		about: "the deltas are only the beginning of the result's text",
		turns: [{ steps: [{ kind: "text", text: "The beginning" }], result: { response: "The beginning and the end.\n" } }],
	},
	"last-step-response": {
		about: "text before and after a tool; the result repeats only the last",
		behaviour: { response: "last-step" },
		turns: [
			{
				steps: [
					{ kind: "text", text: "Before the tool.\n" },
					{ kind: "tool", name: "view_file", parameters: { AbsolutePath: "{{workspace}}/a.txt" } },
					{ kind: "text", text: "After the tool.\n" },
				],
			},
		],
	},
	"system-messages": {
		about: "a blank system_message in every turn",
		behaviour: { systemMessage: "every-turn" },
		turns: [{ steps: [ANSWER] }],
	},
	"index-resets": {
		about: "step_index starts at 0 in every turn",
		behaviour: { stepIndex: "resets" },
		turns: [{ steps: [ANSWER] }],
	},
	"transcript-only": {
		about: "the answer reaches the transcript, stdout gets an empty result",
		turns: [
			{
				steps: [{ kind: "think" }, { kind: "transcript", text: "Written down, never said.\n" }],
				result: { response: "" },
			},
		],
	},
};
