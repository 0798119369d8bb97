/** Rows of a conversation database, broken in every way a writer, a version or a disk can break them. The same for a seed. */
import type { StepRow } from "../../src/workers/decode/step-payload.ts";
import type { Dice } from "./mutant-lines.ts";
import { double, type Field, fixed32, group, message, tag, timestamp, varint } from "./protobuf-writer.ts";
import { call, metadata, planner, row, toolRow, usage } from "./step-rows.ts";

const CALL = call("call_1", "run_command", { CommandLine: "make", Nested: { list: [1, "ä", null] } });
const AGENT = call("call_2", "invoke_subagent", { Subagents: [{ TypeName: "r", Role: "", Prompt: "Find" }] });

const ORIGINALS: readonly StepRow[] = [
	row(0, 14, 3, [metadata(0), [19, message([2, "hi"], [3, message([1, "hi"])])]]),
	row(1, 98, 3, [metadata(1), [111, message()]]),
	row(2, 90, 3, [metadata(2), [103, message([1, "reminder ".repeat(20)], [3, "tag"])]]),
	planner(3, 8, [[3, "The user greets."]]),
	planner(3, 8, [
		[3, "The user greets."],
		[1, "Good mor"],
	]),
	planner(3, 8, [[1, "wélcome 😀 修改 \u0000\ufffd"]]),
	planner(
		3,
		3,
		[
			[3, "The user greets."],
			[1, "Good morning."],
			[8, "Good morning."],
			[7, CALL],
			[12, 2],
			[14, Buffer.alloc(90, 0xff)],
		],
		[
			[8, timestamp(1_782_650_004_000)],
			[9, usage("r1")],
			[10, fixed32(7)],
			[26, message([1, message([1, 8])])],
		],
	),
	planner(3, 3, [[1, "<SYSTEM_MESSAGE>x"]]),
	row(4, 21, 1),
	toolRow(4, 21, 2, CALL, [[28, message([23, "make"], [21, message([1, "4 pas"])])]]),
	toolRow(4, 21, 3, CALL, [[28, message([6, -9], [21, message([1, "4 passed"])], [19, message([1, "o"])], [4, "l"])]]),
	toolRow(4, 132, 3, CALL, [[140, message([1, message([1, "url"], [2, "x"])], [2, message([1, "result"])])]]),
	toolRow(5, 7, 3, CALL, [[13, message([1, "q"], [4, message([1, "a.ts"], [2, 7], [3, "x"], [4, "/a.ts"])])]]),
	toolRow(5, 9, 3, CALL, [[15, message([2, "a"], [3, message([1, "src"], [2, 1])], [4, 1])]]),
	toolRow(5, 31, 3, CALL, [[40, message([2, message([4, "t"], [6, message([3, message([2, "b"])])], [7, "d"])])]]),
	toolRow(5, 103, 3, CALL, [[116, message([4, message([1, "u"], [2, message([1, "t"], [2, "{}"])])])]]),
	toolRow(5, 21, 7, CALL, [[31, message([1, "user denied permission"], [5, '{"error":{"code":429}}'])]], {
		permissions: message([2, message([1, message([1, "command"])], [2, 0])]),
		errorDetails: message([1, "no"], [9, "gave up"]),
	}),
	toolRow(6, 127, 3, AGENT, [[127, message([1, "n"], [2, "p"], [5, "0a0b0c0d-0000-4000-8000-00000000000c"])]]),
	row(7, 17, 3, [[24, message([3, message([1, "Quota exhausted"], [2, "429"], [5, "{"])])]]),
	row(7, 23, 3, [metadata(7, [9, usage("h")]), [30, message([4, "intent"], [10, "Title"])]]),
	row(8, 999, 10, [[500, group(500, [1, double(1)], [2, group(2)])]]),
];

const PIECES: readonly Uint8Array[] = [
	...[[0x00], [0x07], [0x80], [0xff, 0xff, 0xff, 0xff, 0x0f], [0xa2, 0x01, 0xff, 0x7f]].map((bytes) =>
		Buffer.from(bytes),
	),
	varint(-1),
	Buffer.alloc(12, 0xff),
	tag(20, 3),
	tag(20, 4),
	tag(20, 0),
	Buffer.alloc(60, tag(1, 3)),
	message([20, 7], [5, "x"], [28, 1], [4, "3"]),
	message([20, message([1, Buffer.from([0xff, 0xc3, 0xed, 0xa0, 0x80])])]),
	message([5, message([9, message([2, 2n ** 64n - 1n], [3, -5], [9, 2 ** 53])], [1, message([1, -(2n ** 63n)])])]),
];

type Mutation = (bytes: Buffer, dice: Dice) => Buffer;

const MUTATIONS: readonly Mutation[] = [
	function flipBits(bytes, dice) {
		const mutant = Buffer.from(bytes);
		for (let count = dice.roll(4); count >= 0 && mutant.length > 0; count--) {
			const at = dice.roll(mutant.length);
			mutant[at] = (mutant[at] ?? 0) ^ (1 << dice.roll(8));
		}
		return mutant;
	},
	(bytes, dice) => bytes.subarray(0, dice.roll(bytes.length + 1)),
	(bytes, dice) => bytes.subarray(dice.roll(bytes.length + 1)),
	function repeatPart(bytes, dice) {
		const from = dice.roll(bytes.length + 1);
		const to = from + dice.roll(bytes.length - from + 1);
		return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, to), bytes.subarray(to)]);
	},
	function spliceTwo(bytes, dice) {
		const other = dice.pick(ORIGINALS).payload as Buffer;
		return Buffer.concat([bytes.subarray(0, dice.roll(bytes.length + 1)), other.subarray(dice.roll(other.length + 1))]);
	},
	(bytes, dice) => insert(bytes, dice.roll(bytes.length + 1), dice.pick(PIECES)),
	(bytes, dice) => Buffer.concat([bytes, dice.pick(PIECES)]),
	(bytes, dice) => Buffer.concat([dice.pick(PIECES), bytes]),
	function nestSoundly(bytes, dice) {
		let nested = bytes;
		for (let depth = dice.roll(45); depth > 0; depth--) nested = message([dice.pick([1, 5, 20, 28]), nested]);
		return nested;
	},
	function swell(bytes, dice) {
		if (dice.roll(200) > 0) return bytes;
		const field: Field = [dice.pick([1, 3, 8]), "é".repeat(dice.roll(40_000))];
		return Buffer.concat([bytes, message([20, message(field)])]);
	},
];

/** A row: sound, or broken up to three times over, with columns that may contradict it. */
export function mutantRow(dice: Dice): StepRow {
	const original = dice.pick(ORIGINALS);
	let payload = original.payload as Buffer;
	for (let count = dice.roll(4); count > 0; count--) payload = dice.pick(MUTATIONS)(payload, dice);
	return {
		...original,
		type: dice.roll(10) === 0 ? dice.roll(150) : original.type,
		status: dice.roll(4) === 0 ? dice.roll(14) : original.status,
		payload: columnOf(payload, dice),
	};
}

function columnOf(payload: Buffer, dice: Dice): StepRow["payload"] {
	const kind = dice.roll(40);
	if (kind === 0) return null;
	return kind === 1 ? payload.toString() : payload;
}

function insert(bytes: Buffer, at: number, piece: Uint8Array): Buffer {
	return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
}
