import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgyEvent } from "../../../src/shared/events.ts";
import { REJECTED_SAMPLE_CHARS } from "../../../src/shared/limits.ts";
import type { RejectReason } from "../../../src/shared/messages.ts";
import { StreamJsonDecoder } from "../../../src/workers/decode/stream-json-decoder.ts";
import { text } from "../../support/agy-events.ts";
import { deltaLine, initLine, resultLine, stepLine, toLine, toolLine, usage } from "../../support/agy-lines.ts";

type Rejected = { readonly reason: RejectReason; readonly byteLength: number; readonly sample: string };
type Decoded = { readonly events: readonly AgyEvent[]; readonly rejected: readonly Rejected[] };

const NO_CAP = 1_000_000;

/** What comes out of `source`, cut at the given byte positions. */
function decode(source: string | Buffer, cuts: readonly number[] = [], maxLineBytes = NO_CAP): Decoded {
	const bytes = Buffer.from(source);
	const events: AgyEvent[] = [];
	const rejected: Rejected[] = [];
	const decoder = new StreamJsonDecoder(
		{
			event: (event) => events.push(event),
			reject: (reason, byteLength, sample) => rejected.push({ reason, byteLength, sample }),
		},
		maxLineBytes,
	);
	const borders = [0, ...cuts, bytes.length];
	for (let index = 1; index < borders.length; index++) {
		decoder.push(Buffer.from(bytes.subarray(borders[index - 1], borders[index])));
	}
	decoder.end();
	return { events, rejected };
}

function notJson(line: string): Rejected {
	return { reason: "not-json", byteLength: Buffer.byteLength(line), sample: line.slice(0, REJECTED_SAMPLE_CHARS) };
}

const TURN = [
	initLine({
		model: "gemini-3.8-flash-low",
		cwd: "/srv/demo",
		tools: ["run_command"],
		permission_mode: "always-proceed",
	}),
	stepLine(0, "DONE", "user_input"),
	deltaLine(1, "Good mor"),
	deltaLine(1, "ning, wélcome 😀"),
	deltaLine(1, " a\u2028b\u0085c"),
	stepLine(1, "DONE", "agent_response", {
		text_delta: " back.\n",
		duration_seconds: 1.9,
		usage: usage(12_000, 40, 25),
	}),
	toolLine(2, "ACTIVE", "run_command", { CommandLine: 'echo "ä"' }),
	toolLine(2, "DONE", "run_command", { CommandLine: 'echo "ä"' }, { duration_seconds: 0.6, output: "ä\r\n" }),
	deltaLine(3, "Done"),
	deltaLine(3, "."),
	stepLine(3, "DONE", "agent_response", { usage: usage(900, 30, 10, 11_500) }),
	resultLine({ response: "Done.", num_turns: 1 }),
]
	.map(toLine)
	.join("");

describe("a whole turn", () => {
	const whole = decode(TURN);

	test("becomes its events in order", () => {
		expect(whole.rejected).toStrictEqual([]);
		expect(whole.events.map((event) => event.kind)).toStrictEqual([
			...["ready", "notice", "text", "text", "text", "text", "model-call", "tool", "tool"],
			...["text", "text", "model-call", "turn-end"],
		]);
		expect(whole.events.flatMap((event) => (event.kind === "text" ? event.text : [])).join("")).toBe(
			"Good morning, wélcome 😀 a\u2028b\u0085c back.\nDone.",
		);
	});

	test("is the same cut at any position", () => {
		const { length } = Buffer.from(TURN);
		for (let cut = 0; cut <= length; cut++) expect(decode(TURN, [cut]), `cut ${cut}`).toStrictEqual(whole);
	});

	test("is the same cut at random positions", () => {
		const { length } = Buffer.from(TURN);
		fc.assert(
			fc.property(fc.array(fc.nat(length), { maxLength: 40 }), (cuts) => {
				expect(
					decode(
						TURN,
						cuts.toSorted((a, b) => a - b),
					),
				).toStrictEqual(whole);
			}),
		);
	});

	test("is the same byte by byte", () => {
		const { length } = Buffer.from(TURN);
		expect(
			decode(
				TURN,
				Array.from({ length }, (_, index) => index),
			),
		).toStrictEqual(whole);
	});

	test("is the same with CRLF and blank lines", () => {
		expect(decode(TURN.replaceAll("\n", "\r\n\r\n"))).toStrictEqual(whole);
	});

	test("is the same without the last line end", () => {
		expect(decode(TURN.slice(0, -1))).toStrictEqual(whole);
	});
});

describe("lines that are none", () => {
	const before = toLine(deltaLine(1, "a"));
	const after = toLine(deltaLine(1, "b"));

	test.each([
		["a notice", "Opening in existing browser session."],
		["a JSON text", '"hello'],
		["a half number", "1.2.3"],
		["spaces", "   "],
		["a stack trace", "panic: runtime error: index out of range [3] with length 3"],
	])("%s is reported and the stream goes on", (_name, noise) => {
		expect(decode(`${before}${noise}\n${after}`)).toStrictEqual({
			events: [text("a", 1), text("b", 1)],
			rejected: [notJson(noise)],
		});
	});

	test.each([
		["null", "null"],
		["a number", "42"],
		["a text", '"hello"'],
		["a list", "[1,2]"],
	])("%s is JSON and no object", (_name, noise) => {
		expect(decode(`${before}${noise}\n${after}`)).toStrictEqual({
			events: [text("a", 1), text("b", 1)],
			rejected: [{ reason: "not-object", byteLength: noise.length, sample: noise }],
		});
	});

	test("many in a row are each reported", () => {
		const noise = ["one", "{two", "{three", "four"];
		expect(decode(`${before}${noise.join("\n")}\n${after}`)).toStrictEqual({
			events: [text("a", 1), text("b", 1)],
			rejected: noise.map(notJson),
		});
	});

	test("only the start of a long one is shown", () => {
		const noise = "é".repeat(1_000);
		expect(decode(`${noise}\n`).rejected).toStrictEqual([
			{ reason: "not-json", byteLength: 2_000, sample: "é".repeat(REJECTED_SAMPLE_CHARS) },
		]);
	});

	test("bytes that are no UTF-8 cost their own characters only", () => {
		const bytes = Buffer.from(toLine(deltaLine(1, "a?b")));
		bytes[bytes.indexOf("?")] = 0xff;
		expect(decode(bytes)).toStrictEqual({ events: [text("a\ufffdb", 1)], rejected: [] });
	});
});

describe("a frame glued behind noise", () => {
	test.each([
		["a notice", "Opening in existing browser session."],
		["half a frame", '{"event":"step_update","step_upd'],
		["a bracket", "{"],
	])("%s: the frame is cut free", (_name, noise) => {
		const source = `${noise}${toLine(deltaLine(1, "a"))}${toLine(deltaLine(1, "b"))}`;
		expect(decode(source)).toStrictEqual({ events: [text("a", 1), text("b", 1)], rejected: [notJson(noise)] });
	});

	test("keyed by type", () => {
		expect(decode('noise{"type":"hologram"}\n')).toStrictEqual({
			events: [{ kind: "unknown", what: "event", name: "hologram" }],
			rejected: [notJson("noise")],
		});
	});

	test("that is broken too is noise altogether", () => {
		const source = 'noise{"event":"result","result":{';
		expect(decode(`${source}\n`)).toStrictEqual({ events: [], rejected: [notJson(source)] });
	});
});

describe("a frame broken by a raw newline", () => {
	const [first = "", second = ""] = toLine(deltaLine(1, "one two")).split(" ");

	test("is joined with the next line", () => {
		expect(decode(`${first}\n${second}`)).toStrictEqual({ events: [text("one\ntwo", 1)], rejected: [] });
	});

	test("is joined wherever the stream is cut", () => {
		const source = `${first}\n${second}${toLine(deltaLine(1, "three"))}`;
		const whole = decode(source);
		for (let cut = 0; cut <= Buffer.byteLength(source); cut++) expect(decode(source, [cut])).toStrictEqual(whole);
	});

	test("is joined once: a frame broken twice is lost, and nothing else", () => {
		const [a = "", b = "", c = ""] = toLine(deltaLine(1, "one two three")).split(" ");
		const decoded = decode(`${a}\n${b}\n${c}${toLine(deltaLine(1, "next"))}`);
		expect(decoded).toStrictEqual({ events: [text("next", 1)], rejected: [a, b, c.trimEnd()].map(notJson) });
	});

	test("is given up when the next line is a frame of its own", () => {
		expect(decode(`${first}\n${toLine(deltaLine(1, "next"))}`)).toStrictEqual({
			events: [text("next", 1)],
			rejected: [notJson(first)],
		});
	});

	test("is given up when the next line is like the one before it", () => {
		const source = `${toLine(deltaLine(1, "a"))}${first}\n${toLine(deltaLine(1, "b"))}`;
		expect(decode(source)).toStrictEqual({ events: [text("a", 1), text("b", 1)], rejected: [notJson(first)] });
	});

	test("is not joined with a later line", () => {
		const frames = [deltaLine(1, "a"), deltaLine(1, "b")].map(toLine);
		expect(decode(`${frames[0]}${first}\n${frames[1]}${second}`)).toStrictEqual({
			events: [text("a"), text("b")],
			rejected: [first, second.trimEnd()].map(notJson),
		});
	});

	test("is reported when the stream ends there", () => {
		expect(decode(first)).toStrictEqual({ events: [], rejected: [notJson(first)] });
	});
});

describe("a line above the cap", () => {
	const long = toLine(toolLine(2, "DONE", "run_command", {}, { output: "x".repeat(1_000) }));

	test("is reported once, and the lines around it are intact", () => {
		const source = `${toLine(deltaLine(1, "a"))}${long}${toLine(deltaLine(1, "b"))}`;
		for (const cuts of [[], [300], [300, 600], [1_000, 1_400]]) {
			expect(decode(source, cuts, 500)).toMatchObject({
				events: [text("a", 1), text("b", 1)],
				rejected: [{ reason: "too-long", byteLength: long.length - 1 }],
			});
		}
	});

	test("shows its start", () => {
		expect(decode(long, [], 500).rejected[0]?.sample).toBe(long.slice(0, REJECTED_SAMPLE_CHARS));
	});
});

test("the bytes of an incomplete line are counted", () => {
	const decoder = new StreamJsonDecoder({ event: () => {}, reject: () => {} }, NO_CAP);
	decoder.push(Buffer.from('{"event"'));
	expect(decoder.heldBytes).toBe(8);
	decoder.push(Buffer.from(':"x"}\n'));
	expect(decoder.heldBytes).toBe(0);
});

describe("repeated pieces of one answer", () => {
	/** Each line by a decoder that has seen no other. */
	function decodeApart(lines: readonly string[]): readonly AgyEvent[] {
		return lines.flatMap((line) => decode(`${line}\n`).events);
	}

	const anyPiece = fc.oneof(
		fc.constantFrom(
			"",
			"a",
			"b",
			'"',
			"\\",
			'"}}',
			'\\"}}',
			'"text_delta":"x"',
			"\u2028",
			"é😀",
			"\ud83d",
			"\n",
			'","x":"',
		),
		fc.string({ unit: "binary", maxLength: 12 }),
	);
	const anySpelling = fc.constantFrom<(piece: string) => string>(
		(piece) => JSON.stringify(piece),
		(piece) => `"${[...piece].map((_, at) => `\\u${piece.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`,
		(piece) => JSON.stringify(piece).replaceAll("/", "\\/"),
	);
	const anyExtra = fc.constantFrom(
		...["", '"usage":{"input_tokens":3}', '"text_delta":"a"', '"response_text":"a"', '"thinking_delta":"a"'],
		...['"thinking_delta":""', '"x":{"text_delta":"a"}', '"x":"a"', '"x":["text_delta"]', '"duration_seconds":1'],
	);
	/** A way to write a delta line, with the text left open: any order of fields, spaces, ids, fields around the text. */
	const anyShape = fc
		.record({
			isNested: fc.boolean(),
			space: fc.constantFrom("", " "),
			conversation: fc.constantFrom('"c1"', '"c2"', '"a"'),
			step: fc.constantFrom("1", "2", '"1"'),
			state: fc.constantFrom('"ACTIVE"', '"ACTIVE"', '"DONE"', '"LATER"'),
			type: fc.constantFrom('"agent_response"', '"agent_response"', '"agent_response"', '"tool"'),
			order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
			before: anyExtra,
			after: fc.oneof({ weight: 3, arbitrary: fc.constant("") }, { weight: 1, arbitrary: anyExtra }),
			tail: fc.constantFrom("", "", "", " ", ',"note":"a"'),
			inner: fc.constantFrom("text", "text", "text", "x"),
		})
		.map((shape) => (spelled: string) => {
			const fields = [
				`"conversation_id":${shape.conversation}`,
				`"step_index":${shape.step}`,
				`"state":${shape.state}`,
				`"step_type":${shape.type}`,
			];
			const delta = shape.inner === "text" ? `"text_delta":${spelled}` : `"x":{"text_delta":${spelled}}`;
			const body = [...shape.order.map((index) => fields[index]), shape.before, delta, shape.after]
				.filter((field) => field !== "")
				.join(`,${shape.space}`);
			if (!shape.isNested) return `{"event":"step_update",${body}${shape.tail}}`;
			return `{"event":"step_update","step_update":{${body}}${shape.tail}}`;
		});
	const anyLines = fc
		.record({
			shapes: fc.array(anyShape, { minLength: 1, maxLength: 3 }),
			pieces: fc.array(fc.record({ shape: fc.nat(2), piece: anyPiece, spell: anySpelling }), {
				minLength: 1,
				maxLength: 12,
			}),
		})
		.map(({ shapes, pieces }) =>
			pieces.map(({ shape, piece, spell }) => shapes[shape % shapes.length]?.(spell(piece)) ?? ""),
		);

	test("are decoded the same as each alone, whatever the lines look like", () => {
		fc.assert(
			fc.property(anyLines, (lines) => {
				for (const line of lines) JSON.parse(line);
				const { events, rejected } = decode(lines.map((line) => `${line}\n`).join(""));
				expect(events).toStrictEqual(decodeApart(lines));
				expect(rejected).toStrictEqual([]);
			}),
			{ numRuns: 2_000 },
		);
	});

	test.each([
		["a piece that ends like a frame", ["a", '"}}', 'b"}}', "\\"]],
		["quotes and backslashes", ['"', "\\", '\\"', "\\\\"]],
		["pieces that look like the key", ["a", '"text_delta":"b"', "c"]],
		["empty pieces between", ["a", "", "b"]],
	])("%s", (_name, pieces) => {
		const decoded = decode(pieces.map((piece) => toLine(deltaLine(1, piece))).join(""));
		expect(decoded).toStrictEqual({
			events: pieces.filter((piece) => piece !== "").map((piece) => text(piece, 1)),
			rejected: [],
		});
	});

	test.each([
		["another step", deltaLine(2, "b"), text("b", 2)],
		[
			"the same step of another conversation",
			stepLine(1, "ACTIVE", "agent_response", { text_delta: "b" }),
			text("b", 1),
		],
	])("%s between two pieces keeps its own number", (_name, line, event) => {
		const source = [deltaLine(1, "a"), deltaLine(1, "a"), line, deltaLine(1, "c")].map(toLine).join("");
		expect(decode(source).events).toStrictEqual([text("a", 1), text("a", 1), event, text("c", 1)]);
	});

	test.each(["", "}", '"', '"}', '"]}', '" }x', '"}}}', '""}}'])("a piece that ends with %j is no piece", (end) => {
		const cut = toLine(deltaLine(1, "b")).replace('"}}\n', end);
		const source = `${toLine(deltaLine(1, "a"))}${cut}\n${toLine(deltaLine(1, "c"))}`;
		expect(decode(source)).toStrictEqual({ events: [text("a", 1), text("c", 1)], rejected: [notJson(cut)] });
	});
});

describe("text that was sent before", () => {
	const start = "The quick brown fox jumps over the lazy dog";

	test("is left out, on the fast way and with a step's end", () => {
		const lines = [
			deltaLine(1, start),
			deltaLine(1, `${start}, and`),
			deltaLine(1, `${start}, and runs`),
			stepLine(1, "DONE", "agent_response", { text_delta: `${start}, and runs`, usage: usage(1, 1, 0) }),
		];
		expect(decode(lines.map(toLine).join("")).events).toMatchObject([
			text(start, 1),
			text(", and", 1),
			text(" runs", 1),
			{ kind: "model-call" },
		]);
	});

	test("is another text in the next turn, whatever its number", () => {
		const lines = [deltaLine(1, start), resultLine({ response: start }), deltaLine(1, `${start}!`)];
		expect(decode(lines.map(toLine).join("")).events).toMatchObject([
			text(start, 1),
			{ kind: "turn-end" },
			text(`${start}!`, 1),
		]);
	});
});
