/**
 * Lines as agy prints them in stream-json mode, shaped after the captures in docs/protocols/agy-stream-json.md. Pure;
 * used by the load source and by the micro suites, so that both measure the same stream.
 */

const CONVERSATION_ID = "c0ffee00-0000-4000-8000-00000000000a";

/** An answer with what answers hold: prose, lists, code, quotes, line ends, some characters beyond ASCII. No "@". */
const ANSWER = [
	"The failing test points at the sign of the second operand, not at the parser. `sum` adds where the caller expects a ",
	"difference, so every fixture with a negative value is off by twice that value.\n\n## What I changed\n\n",
	"1. `src/sum.ts`: the sign is applied once, in `toOperand`, and no longer in each branch.\n",
	"2. `tests/sum.test.ts`: three cases for negative numbers, one for zero – the old table had none.\n\n",
	"```ts\nexport function sum(values: readonly number[]): number {\n\tlet total = 0;\n",
	'\tfor (const value of values) {\n\t\tif (Number.isNaN(value)) throw new RangeError("not a number");\n\t\ttotal += value;\n\t}\n',
	"\treturn total;\n}\n```\n\nNothing else calls the old signature; I searched the whole workspace to be sure. The public type ",
	"stays as it was, which means that no caller has to be rebuilt. If you would rather keep the branches apart, say so and I ",
	"will move the check into a small function of its own. All four tests pass now, and the type check is clean.\n",
].join("");

/** Lengths in characters of the pieces agy cuts an answer into: borders fall anywhere. */
const PIECE_CHARS = [17, 9, 31, 12, 24, 40, 6, 21, 35, 14, 28, 11, 47, 19];

/** The answer, cut as agy cuts it. */
export const PIECES: readonly string[] = cut(ANSWER);

export function initLine(conversationId = CONVERSATION_ID): string {
	const tools = Array.from({ length: 57 }, (_, index) => `built_in_tool_${index}`);
	return line({
		event: "init",
		conversation_id: conversationId,
		init: { model: "gemini-3.8-flash-low", cwd: "/srv/demo", tools, permission_mode: "always-proceed" },
	});
}

export function userLine(conversationId = CONVERSATION_ID): string {
	return step(0, "DONE", "user_input", {}, conversationId);
}

export function deltaLine(text: string, stepIndex = 1, conversationId = CONVERSATION_ID): string {
	return step(stepIndex, "ACTIVE", "agent_response", { text_delta: text }, conversationId);
}

/** The end of an answer, with what its model call cost. */
export function answerEndLine(stepIndex = 1, conversationId = CONVERSATION_ID): string {
	return step(stepIndex, "DONE", "agent_response", { duration_seconds: 2.2, usage: usage() }, conversationId);
}

export function resultLine(response: string, conversationId = CONVERSATION_ID): string {
	return line({
		event: "result",
		result: {
			conversation_id: conversationId,
			status: "SUCCESS",
			response,
			duration_seconds: 4.634090000000001,
			num_turns: 1,
			usage: usage(),
		},
	});
}

export function toolLine(stepIndex: number, output: string): string {
	const parameters = { CommandLine: "npm test -- --reporter=dot", Cwd: "/srv/demo" };
	return step(stepIndex, "DONE", "tool", {
		tool_name: "run_command",
		duration_seconds: 0.64,
		tool_info: { name: "run_command", parameters, output },
	});
}

/** One whole turn: a user step, two answers around a few tools, usage, the result. */
export function turnLines(): readonly string[] {
	const output = ANSWER.replaceAll("\n", "\r\n");
	return [
		initLine(),
		userLine(),
		...PIECES.map((piece) => deltaLine(piece, 1)),
		step(1, "DONE", "agent_response", { text_delta: "\n", duration_seconds: 2.2, usage: usage() }),
		...[2, 3, 4].flatMap((index) => [
			step(index, "ACTIVE", "tool", {
				tool_name: "run_command",
				tool_info: { name: "run_command", parameters: { CommandLine: "npm test" } },
			}),
			toolLine(index, output),
			step(index + 10, "DONE", "agent_response", { duration_seconds: 1.3, usage: usage() }),
		]),
		...PIECES.map((piece) => deltaLine(piece, 20)),
		step(20, "DONE", "agent_response", { text_delta: "\n", duration_seconds: 1.1, usage: usage() }),
		resultLine(ANSWER),
	];
}

/** Answer pieces until there are `count`. */
export function deltaLines(count: number): readonly string[] {
	return Array.from({ length: count }, (_, index) => deltaLine(PIECES[index % PIECES.length] ?? ""));
}

function step(
	stepIndex: number,
	state: string,
	stepType: string,
	more: object,
	conversationId = CONVERSATION_ID,
): string {
	return line({
		event: "step_update",
		step_update: {
			conversation_id: conversationId,
			step_index: stepIndex,
			state,
			step_type: stepType,
			...more,
		},
	});
}

function usage(): object {
	return {
		input_tokens: 12_100,
		output_tokens: 120,
		thinking_tokens: 80,
		cache_read_tokens: 9_400,
		total_tokens: 12_220,
	};
}

function line(value: object): string {
	return `${JSON.stringify(value)}\n`;
}

function cut(text: string): readonly string[] {
	const pieces: string[] = [];
	for (let start = 0; start < text.length; ) {
		const length = PIECE_CHARS[pieces.length % PIECE_CHARS.length] ?? 1;
		pieces.push(text.slice(start, start + length));
		start += length;
	}
	return pieces;
}
