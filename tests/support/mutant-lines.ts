/** Lines of agy's stdout, broken in every way a pipe, a crash or another program can break them. The same for a seed. */
import { deltaLine, initLine, resultLine, stepLine, toLine, toolLine, usage } from "./agy-lines.ts";

const ORIGINALS: readonly Buffer[] = [
	initLine({
		model: "gemini-3.8-flash-low",
		cwd: "/srv/demo",
		tools: ["run_command", "view_file"],
		permission_mode: "x",
	}),
	stepLine(0, "DONE", "user_input"),
	deltaLine(1, "Good mor"),
	deltaLine(1, 'ning, wélcome 😀 "quoted"\n\t\\ \u2028 \ud83d'),
	deltaLine(12, "The quick brown fox jumps over the lazy dog, and then it does so again."),
	stepLine(1, "ACTIVE", "agent_response", { thinking_delta: "The user greets." }),
	stepLine(1, "DONE", "agent_response", {
		text_delta: ".",
		duration_seconds: 1.9,
		usage: usage(12_000, 40, 25, 11_500),
	}),
	toolLine(2, "ACTIVE", "run_command", { CommandLine: 'echo "ä"', Nested: { list: [1, "a", null, true] } }),
	toolLine(2, "DONE", "run_command", '{"CommandLine":"make"}', { duration_seconds: 0.6, output: "ä\r\n4 passed" }),
	toolLine(3, "ERROR", "view_file", { path: "/x" }, { error: { type: "TOOL_ERROR", message: "no such file" } }),
	stepLine(4, "DONE", "subagent", {
		subagent_info: { subagents: [{ type_name: "r", role: "", initial_prompt: "Find" }] },
	}),
	stepLine(5, "DONE", "title", { usage: usage(400, 8) }),
	stepLine(6, "PENDING", "hologram", { usage: usage(1, 1) }),
	resultLine({
		response: "Good morning.",
		usage: usage(12_900, 70, 35, 11_500),
		denied_actions: [{ action: "command" }],
	}),
	resultLine({ status: "ERROR", error: { message: "RESOURCE_EXHAUSTED (code 429)" } }),
	{ type: "result", status: "OK", response: "Old.", error: null },
	{ event: "telemetry", telemetry: { any: "thing" } },
].map((line) => Buffer.from(toLine(line).trimEnd()));

const NUMBERS = [
	"1e999",
	"-1e999",
	"1e308",
	"-0",
	"5e-324",
	"9".repeat(400),
	"0x10",
	"00012",
	"NaN",
	"Infinity",
	'"1e400"',
];
const BAD_BYTES = [
	[0xff],
	[0xc3],
	[0xc0, 0x80],
	[0xed, 0xa0, 0x80],
	[0xf4, 0x90, 0x80, 0x80],
	[0x00],
	[0xef, 0xbb, 0xbf],
];
const NOISE = [
	"Opening in existing browser session.",
	"panic: runtime error",
	"{",
	"[",
	"\u001b[2K",
	"null",
	'{"event":"',
];
const KEYS = ["__proto__", "constructor", "toString", ""];

/** A stream of random numbers that a seed fixes (mulberry32). */
export class Dice {
	#state: number;

	constructor(seed: number) {
		this.#state = seed >>> 0;
	}

	/** From 0 to `count` - 1. */
	roll(count: number): number {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let mixed = this.#state;
		mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count);
	}

	pick<T>(list: readonly T[]): T {
		return list[this.roll(list.length)] as T;
	}
}

type Mutation = (line: Buffer, dice: Dice, maxLineBytes: number) => Buffer;

const MUTATIONS: readonly Mutation[] = [
	function flipBits(line, dice) {
		const mutant = Buffer.from(line);
		for (let count = dice.roll(4); count >= 0 && mutant.length > 0; count--) {
			const at = dice.roll(mutant.length);
			mutant[at] = (mutant[at] ?? 0) ^ (1 << dice.roll(8));
		}
		return mutant;
	},
	(line, dice) => line.subarray(0, dice.roll(line.length + 1)),
	(line, dice) => line.subarray(dice.roll(line.length + 1)),
	function repeatPart(line, dice) {
		const from = dice.roll(line.length + 1);
		const to = from + dice.roll(line.length - from + 1);
		return Buffer.concat([line.subarray(0, to), line.subarray(from, to), line.subarray(to)]);
	},
	function spliceTwo(line, dice) {
		const other = dice.pick(ORIGINALS);
		return Buffer.concat([line.subarray(0, dice.roll(line.length + 1)), other.subarray(dice.roll(other.length + 1))]);
	},
	(line, dice) => Buffer.concat([Buffer.from(dice.pick(NOISE)), line]),
	(line, dice) => insert(line, dice.roll(line.length + 1), Buffer.from(dice.pick(BAD_BYTES))),
	(line, dice) => insert(line, dice.roll(line.length + 1), Buffer.from(dice.pick(["\n", "\r", "\r\n", "\n\n"]))),
	(line, dice) => replaceFrom(line, dice, /-?\d+(\.\d+)?/g, () => dice.pick(NUMBERS)),
	(line, dice) => replaceFrom(line, dice, /"[a-z_]+":/g, () => `${JSON.stringify(dice.pick(KEYS))}:`),
	(line, dice) => replaceFrom(line, dice, /:"/g, () => ':"\\ud800\\u0000\\'),
	function nestSoundly(line, dice) {
		const depth = 1 + dice.roll(dice.roll(50) === 0 ? 8_000 : 200);
		return replaceFrom(line, dice, /:("[^"\\]*"|\d+)/g, (value) =>
			dice.roll(2) === 0
				? `:${"[".repeat(depth)}${value.slice(1)}${"]".repeat(depth)}`
				: `:${'{"a":'.repeat(depth)}${value.slice(1)}${"}".repeat(depth)}`,
		);
	},
	(line, dice) => replaceFrom(line, dice, /:/g, () => `:${"[".repeat(1 + dice.roll(300))}`),
	function swell(line, dice, maxLineBytes) {
		if (dice.roll(200) > 0) return line;
		return replaceFrom(line, dice, /:"/g, () => `:"${"é".repeat(dice.roll(maxLineBytes))}`);
	},
];

/** A line without its line end: sound, or broken up to three times over. */
export function mutantLine(dice: Dice, maxLineBytes: number): Buffer {
	let line = dice.pick(ORIGINALS);
	for (let count = dice.roll(4); count > 0; count--) line = dice.pick(MUTATIONS)(line, dice, maxLineBytes);
	return line;
}

function insert(line: Buffer, at: number, bytes: Buffer): Buffer {
	return Buffer.concat([line.subarray(0, at), bytes, line.subarray(at)]);
}

/** Replaces one of the matches; in latin1, so that bytes which are no text stay what they are. */
function replaceFrom(line: Buffer, dice: Dice, pattern: RegExp, replacement: (match: string) => string): Buffer {
	const source = line.toString("latin1");
	const matches = [...source.matchAll(pattern)];
	if (matches.length === 0) return line;
	const match = dice.pick(matches);
	const inserted = Buffer.from(replacement(match[0]), "utf8");
	return Buffer.concat([line.subarray(0, match.index), inserted, line.subarray(match.index + match[0].length)]);
}
