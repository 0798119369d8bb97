/** Processes that end wrongly, do not end, do not listen, or share what they should not. */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Scenario } from "../scenario/scenario.ts";
import type { Step } from "../scenario/step.ts";

const ANSWER: Step = { kind: "text", text: "Back again.\n", deltaChars: 0 };
const HALF: Step = { kind: "text", text: "This answer will not", finish: "none" };
const TOOL: Step = {
	kind: "tool",
	name: "run_command",
	permission: "allowed",
	parameters: { CommandLine: "make install" },
	output: "installed\r\n",
};

/** The first turn of a conversation goes wrong; a resumed one answers. */
function firstTurn(about: string, ...steps: readonly Step[]): Scenario {
	return { about, turns: [{ steps }, { steps: [ANSWER] }] };
}

export const LIFECYCLE: ScenarioFamily = {
	crash: firstTurn("half an answer and half a line, then exit 1; the resumed conversation answers", HALF, {
		kind: "crash",
		exitCode: 1,
		cutLine: '{"event":"step_upd',
		stderr: "panic: simulated",
	}),
	"crash-signal": firstTurn("half an answer, then killed by SIGSEGV", HALF, { kind: "crash", signal: "SIGSEGV" }),
	"crash-after-tool": firstTurn("a command ran, then exit 1 without a result", TOOL, { kind: "crash", exitCode: 1 }),
	"crash-silent": firstTurn("exit 1 without a word", { kind: "crash", exitCode: 1 }),
	"no-result": firstTurn("exit 0 without a result", HALF, { kind: "crash", exitCode: 0 }),
	"cut-line": firstTurn("exit 0 within a line of otherwise good output", HALF, {
		kind: "crash",
		exitCode: 0,
		cutLine: '{"event":"result","result":{"status":"SUC',
	}),
	hang: firstTurn("half an answer (marker `hanging`), then nothing; SIGINT still works", HALF, {
		kind: "hang",
		marker: "hanging",
	}),
	"ignores-term": firstTurn("the same, deaf to SIGINT, SIGTERM and SIGHUP", HALF, {
		kind: "hang",
		ignoreSignals: ["SIGINT", "SIGTERM", "SIGHUP"],
		marker: "hanging",
	}),
	"silent-term": {
		about: "SIGTERM during a turn ends the process without a result",
		behaviour: { terminateMidTurn: "silent" },
		turns: [{ steps: [HALF, { kind: "hang", marker: "hanging" }] }],
	},
	"eof-hang": {
		about: "answers, and does not leave when stdin ends (< 1.1.24)",
		atEof: "hang",
		turns: [{ steps: [ANSWER] }],
	},
	"stdin-ignored": {
		about: "never reads its stdin",
		start: { stdin: "ignored" },
		turns: [],
	},
	"stdin-closed": {
		about: "closes its stdin at the start: writing to it fails with EPIPE",
		start: { stdin: "closed" },
		turns: [],
	},
	grandchild: {
		about: "a daemon of another process group holds stdout after the exit, until gate `release`",
		turns: [{ steps: [{ kind: "grandchild", gate: "release" }, ANSWER] }],
	},
	"grandchild-crash": {
		about: "the same, and the process crashes within the turn",
		turns: [
			{
				steps: [
					{ kind: "grandchild", gate: "release", ignoreSignals: ["SIGTERM", "SIGINT", "SIGHUP"] },
					HALF,
					{ kind: "crash", exitCode: 1 },
				],
			},
		],
	},
	"shared-conversation": {
		about: "a second process on the same conversation is not refused",
		behaviour: { conversationInUse: "share" },
		turns: [{ steps: [ANSWER] }],
	},
	"resume-other": {
		about: "a known conversation is not found on resume: another id",
		start: { resume: "other" },
		turns: [{ steps: [ANSWER] }],
	},
};
