/**
 * What the simulated agy does in a soak: one scenario for all sessions, whose turns are chosen by the last line of the
 * prompt. That line, `<kind> soak/<session>/<turn>`, comes back in every answer, so that each line of it says where it
 * belongs.
 */
import type { Step } from "../agy-sim/scenario/step.ts";
import type { ScenarioData } from "../support/sandbox.ts";

/** Said where no turn fits the prompt; nobody may ever see it. */
export const UNMATCHED = "soak-unmatched";
/** The tool of pi's that agy calls. */
export const TOOL_NAME = "soak_echo";

const DEAF = ["SIGINT", "SIGTERM", "SIGHUP"];
const HALF: Step = { kind: "text", text: numbered(2), deltaChars: 16, finish: "none" };

function lines(count: number, deltaChars: number): readonly Step[] {
	return [{ kind: "text", text: numbered(count), deltaChars }];
}

/** No two lines are the same, so that a piece that is lost, doubled or out of its order is seen in any part of a text. */
function numbered(count: number): string {
	return Array.from({ length: count }, (_, index) => `${index} {{lastLine}}\n`).join("");
}

const COMMAND: Step = {
	kind: "tool",
	name: "run_command",
	permission: "allowed",
	parameters: { CommandLine: "make check" },
	progress: ["1 of 2\r\n", "1 of 2\r\n2 of 2\r\n"],
	output: "1 of 2\r\n2 of 2\r\n4 passed\r\n",
};
const LOOK: Step = {
	kind: "tool",
	name: "list_dir",
	permission: "allowed",
	parameters: { DirectoryPath: "{{workspace}}" },
};

/** To a result that comes after agy has lost its call. */
const LATE: Step = { kind: "text", text: "late: {{lastLine}}\n", deltaChars: 0 };

const STEPS = {
	short: lines(1, 0),
	medium: lines(40, 30),
	long: lines(300, 64),
	big: lines(1_200, 1_000),
	cards: [{ kind: "think" }, COMMAND, LOOK, COMMAND, ...lines(3, 12)],
	tool: [
		{ kind: "think" },
		{
			kind: "mcp",
			tool: TOOL_NAME,
			ownServer: true, // The name of the tool is the same in all sessions.
			arguments: { text: "{{lastLine}}" },
			permission: "allowed",
			tellsOutput: true,
		},
	],
	crash: [HALF, { kind: "crash", exitCode: 1, cutLine: '{"event":"step_upd', stderr: "panic: simulated" }],
	killed: [HALF, { kind: "crash", signal: "SIGSEGV" }],
	silent: [{ kind: "crash", exitCode: 1 }],
	hang: [HALF, { kind: "hang", marker: "hanging" }],
	deaf: [HALF, { kind: "hang", ignoreSignals: DEAF, marker: "hanging" }],
} as const satisfies Readonly<Record<string, readonly Step[]>>;

export type TurnKind = keyof typeof STEPS;
export const TURN_KINDS = Object.keys(STEPS) as readonly TurnKind[];

/** agy leaves in these by itself, and this is how pi-agy says so. */
export const CRASH_WORDS: Readonly<Partial<Record<TurnKind, RegExp>>> = {
	crash: /^agy exited with code 1 in the middle of the turn\./,
	killed: /^agy was ended by SIGSEGV in the middle of the turn\./,
	silent: /^agy exited with code 1 without an answer\./,
};
/** How many calls pi runs in a turn that is done. */
export const CARDS: Readonly<Partial<Record<TurnKind, number>>> = { cards: 3, tool: 1 };
/** What agy says to a call of a tool that it was not told of. */
export const WITHOUT_TOOL = 'MCP server "" is not connected';
/** These end only when they are aborted. */
export const ENDLESS: ReadonlySet<TurnKind> = new Set(["hang", "deaf"]);

export const SCENARIO: ScenarioData = {
	behaviour: { loadsWorkspaceConfig: true },
	turns: [
		...TURN_KINDS.map((kind) => ({ match: `(^|\n)${kind} soak/\\S+\\s*$`, steps: STEPS[kind] })),
		// It served before, left without a word at the prompt that it had noted, and is asked once more.
		{ match: "(^|\n)Go on with what was asked before; the last attempt did not finish\\.\\s*$", steps: STEPS.silent },
		{ match: `(^|\n)The tool ${TOOL_NAME} that you called earlier has finished\\.`, steps: [LATE] },
		{ steps: [{ kind: "text", text: `${UNMATCHED}: {{prompt}}` }] },
	],
};

/** What agy says to the prompt; what comes of a turn that does not finish is the beginning of it. */
export function answerOf(kind: TurnKind, prompt: string, session: string): string {
	if (kind === "tool") return toolAnswer(session, prompt);
	return STEPS[kind].map((step) => ("text" in step ? step.text.replaceAll("{{lastLine}}", prompt) : "")).join("");
}

/** What agy says when it is told of a result later than it had asked for it. */
export function lateAnswerOf(session: string, prompt: string): string {
	return `late: ${toolAnswer(session, prompt)}\n`;
}

/** What the tool of a session says. */
export function toolAnswer(session: string, text: string): string {
	return `tool of soak/${session}/: ${text}`;
}

export function promptOf(kind: TurnKind, session: string, turn: number): string {
	return `${kind} soak/${session}/${turn}`;
}

/** The sessions that a text is from or about, each once. */
export function sessionsIn(text: string): readonly string[] {
	return [...new Set([...text.matchAll(/soak\/([\d.]+)\//g)].map(([, session]) => session as string))];
}
