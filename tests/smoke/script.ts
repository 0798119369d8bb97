/** The short set of turns that a real agy is asked for, and what the simulator says to the same prompts. */
import type { Scenario } from "../agy-sim/scenario/scenario.ts";

export type ScriptedTurn = {
	/** Without content: it names the turn in the report. */
	readonly name: string;
	readonly prompt: string;
	/** Begins another process, which resumes the conversation. */
	readonly resumes?: true;
};

/** A file of the workspace that a turn reads. */
export const FILE = { name: "smoke.txt", content: "The word of the day is lighthouse.\n" };

export const SCRIPT: readonly ScriptedTurn[] = [
	{ name: "answer", prompt: "Do not use any tool. Count from one to ten in English words, separated by commas." },
	{
		name: "view-file",
		prompt: `Read the file ${FILE.name} in the workspace with your tool for viewing files, and repeat it.`,
	},
	{ name: "command", prompt: "Run exactly this shell command once: echo smoke. Then say what it printed." },
	{ name: "resume", prompt: "Do not use any tool. Which word of the day did you read before?", resumes: true },
];

/** What the simulator sends for it. */
export const EXPECTED: Scenario = {
	about: "the turns of npm run smoke",
	turns: [
		{
			match: "^Do not use any tool\\. Count",
			steps: [{ kind: "text", text: "One, two, three, four, five, six, seven, eight, nine, ten.\n" }],
		},
		{
			match: "^Read the file",
			steps: [
				{ kind: "think" },
				{
					kind: "tool",
					name: "view_file",
					permission: "allowed",
					parameters: { AbsolutePath: `{{workspace}}/${FILE.name}` },
					output: "1 lines, 35 bytes",
				},
				{ kind: "text", text: "The word of the day is lighthouse, says the file.\n" },
			],
		},
		{
			match: "^Run exactly",
			steps: [
				{ kind: "think" },
				{
					kind: "tool",
					name: "run_command",
					permission: "allowed",
					parameters: { CommandLine: "echo smoke" },
					output: "smoke\r\n",
				},
				{ kind: "text", text: "It printed the one word smoke, and nothing else.\n" },
			],
		},
		{
			match: "^Do not use any tool\\. Which",
			steps: [{ kind: "text", text: "The word of the day was lighthouse, as I read before.\n" }],
		},
	],
};
