/**
 * The assistant of the demo: canned answers, chosen by the prompt, that read like an assistant's and say plainly that they
 * are simulated. This is what somebody sees who has no agy.
 */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Turn } from "../scenario/scenario.ts";

const READING_SPEED_TOKENS_PER_SECOND = 60;
const SIGNATURE = "\n\n*(This answer comes from the agy simulator; no model was asked.)*\n";

const GREETING: Turn = {
	match: "^\\W*(say )?(hello|hi|hey|ciao|good (morning|afternoon|evening))\\b",
	steps: [
		{
			kind: "text",
			text: `Hello! I am the stand-in for the Antigravity CLI, ready in \`{{workspace}}\`. What shall we look at?${SIGNATURE}`,
		},
	],
};

const ABILITIES: Turn = {
	match: "what can you do|who are you|\\bhelp\\b",
	steps: [
		{
			kind: "text",
			text: [
				"With a real `agy` behind this window I could:",
				"",
				"- **read** your project and explain how it works,",
				"- **edit** files and run commands, showing each step as a card,",
				"- **search** the web and read pages,",
				"- **delegate** longer work to sub-agents.",
				"",
				"Here every answer is canned, but it travels the same way a real one does: token by token, with tool steps and",
				"usage figures. Try `list files` or `write some code`.",
			].join("\n"),
		},
		{ kind: "text", text: SIGNATURE, deltaChars: 0 },
	],
};

const LISTING: Turn = {
	match: "list .*files|\\bls\\b|(read|show|look at|explore) .*(files?|folder|project|directory|code)",
	steps: [
		{ kind: "text", text: "Let me look at the folder first.\n\n" },
		{ kind: "tool", name: "list_dir", parameters: { DirectoryPath: "{{workspace}}" }, output: "{{files}}" },
		{
			kind: "text",
			text: `This is what lies in \`{{workspace}}\`:\n\n\`\`\`text\n{{files}}\n\`\`\`\n\nTell me which of them to open.${SIGNATURE}`,
		},
	],
};

const CODE: Turn = {
	match: "(write|create|implement|generate|fix|add) .*(code|function|script|program|class|test|file|bug)",
	steps: [
		{ kind: "think" },
		{
			kind: "text",
			text: [
				"Here is a small, complete example:",
				"",
				"```ts",
				"/** The n-th Fibonacci number, without recursion. */",
				"export function fibonacci(n: number): bigint {",
				"\tlet [current, next] = [0n, 1n];",
				"\tfor (let step = 0; step < n; step++) [current, next] = [next, current + next];",
				"\treturn current;",
				"}",
				"```",
				"",
				"It keeps two numbers instead of a call stack, so `fibonacci(10_000)` is no problem, and `bigint` keeps the",
				"result exact. I left your files alone.",
			].join("\n"),
		},
		{ kind: "text", text: SIGNATURE, deltaChars: 0 },
	],
};

const ANYTHING_ELSE: Turn = {
	steps: [
		{ kind: "text", text: "I will check where we are before I answer.\n\n" },
		{
			kind: "tool",
			name: "run_command",
			permission: "allowed",
			parameters: { CommandLine: "echo simulated" },
			output: "simulated\r\n",
			durationSeconds: 0.18,
		},
		{
			kind: "text",
			text: [
				"You asked:",
				"",
				"> {{prompt}}",
				"",
				"A real agent would now work on it. What you can see here is everything around that work:",
				"",
				"1. text that **streams** in as it is written,",
				"2. a tool step with its *output*,",
				"3. usage figures at the end of the turn.",
				"",
				"Ask me to `list files`, to `write code`, or what I can do.",
			].join("\n"),
		},
		{ kind: "text", text: SIGNATURE, deltaChars: 0 },
	],
};

export const DEMO: ScenarioFamily = {
	demo: {
		about: "an assistant with canned answers: greeting, abilities, file list, code, anything else",
		tokensPerSecond: READING_SPEED_TOKENS_PER_SECOND,
		turns: [GREETING, ABILITIES, LISTING, CODE, ANYTHING_ELSE],
	},
};
