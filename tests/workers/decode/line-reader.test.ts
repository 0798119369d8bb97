import { describe, expect, test } from "vitest";
import { MAX_LINE_BYTES } from "../../../src/shared/limits.ts";
import { LineReader } from "../../../src/workers/decode/line-reader.ts";

type Read = { readonly lines: readonly string[]; readonly tooLong: readonly number[] };

const NO_CAP = 1_000_000;

/** Feeds `bytes` cut at the given positions, each piece in memory of its own. */
function read(bytes: Buffer, cuts: readonly number[], maxLineBytes = NO_CAP): Read {
	const lines: string[] = [];
	const tooLong: number[] = [];
	const reader = new LineReader(
		{ line: (line) => lines.push(line.toString("utf8")), tooLong: (byteLength) => tooLong.push(byteLength) },
		maxLineBytes,
	);
	const borders = [0, ...cuts, bytes.length];
	for (let index = 1; index < borders.length; index++) {
		reader.push(Buffer.from(bytes.subarray(borders[index - 1], borders[index])));
	}
	reader.end();
	return { lines, tooLong };
}

function eachByteAlone(bytes: Buffer): readonly number[] {
	return Array.from({ length: bytes.length }, (_, index) => index);
}

const SAMPLES: readonly (readonly [string, string, readonly string[]])[] = [
	["two lines", "ab\ncd\n", ["ab", "cd"]],
	["a last line without an end", "ab\ncd", ["ab", "cd"]],
	["nothing", "", []],
	["line ends only", "\n\r\n\n", []],
	["CRLF", "ab\r\ncd\r\n", ["ab", "cd"]],
	["a carriage return inside a line", "a\rb\n", ["a\rb"]],
	["two carriage returns before the end: one belongs to the line", "ab\r\r\n", ["ab\r"]],
	["a last carriage return without LF", "ab\r", ["ab"]],
	["blank lines between", "\nab\n\n\r\ncd\n\n", ["ab", "cd"]],
	["spaces, which are no blank line", " \nab\n", [" ", "ab"]],
	["characters of two, three and four bytes", "é漢😀\n😀é\n", ["é漢😀", "😀é"]],
	["U+2028, U+2029 and U+0085 inside a line", "a\u2028b\u2029c\u0085d\ne\n", ["a\u2028b\u2029c\u0085d", "e"]],
	["NUL, vertical tab and form feed inside a line", "a\u0000b\u000bc\u000cd\n", ["a\u0000b\u000bc\u000cd"]],
];

describe.each(SAMPLES)("%s", (_name, text, lines) => {
	const bytes = Buffer.from(text);

	test("in one chunk", () => {
		expect(read(bytes, [])).toStrictEqual({ lines, tooLong: [] });
	});

	test("cut at every position", () => {
		for (let cut = 0; cut <= bytes.length; cut++) expect(read(bytes, [cut]).lines, `cut ${cut}`).toStrictEqual(lines);
	});

	test("cut at every pair of positions", () => {
		for (let first = 0; first <= bytes.length; first++) {
			for (let second = first; second <= bytes.length; second++) {
				expect(read(bytes, [first, second]).lines, `cuts ${first}, ${second}`).toStrictEqual(lines);
			}
		}
	});

	test("byte by byte", () => {
		expect(read(bytes, eachByteAlone(bytes)).lines).toStrictEqual(lines);
	});
});

describe("with a cap of 8 bytes", () => {
	test.each([
		["a line exactly at the cap passes", "12345678\nab\n", ["12345678", "ab"], []],
		["one byte more is dropped and the next line is intact", "123456789\nab\n", ["ab"], [9]],
		["the cap counts bytes, not characters", "ééééé\nab\n", ["ab"], [10]],
		["several long lines are each reported", "1234567890\nab\n12345678901\ncd\n", ["ab", "cd"], [10, 11]],
		["a long line at the end without LF", "ab\n1234567890", ["ab"], [10]],
		["a long line, then a blank one", "1234567890\n\nab\n", ["ab"], [10]],
		["a long line, then one at the cap", "1234567890\n12345678\n", ["12345678"], [10]],
	])("%s", (_name, text, lines, tooLong) => {
		const bytes = Buffer.from(text);
		for (let first = 0; first <= bytes.length; first++) {
			for (let second = first; second <= bytes.length; second++) {
				expect(read(bytes, [first, second], 8), `cuts ${first}, ${second}`).toStrictEqual({ lines, tooLong });
			}
		}
		expect(read(bytes, eachByteAlone(bytes), 8)).toStrictEqual({ lines, tooLong });
	});

	test("shows how a dropped line starts", () => {
		const starts: string[] = [];
		const reader = new LineReader({ line: () => {}, tooLong: (_length, start) => starts.push(start.toString()) }, 8);
		reader.push(Buffer.from("in one chunk\n"));
		reader.push(Buffer.from("in two "));
		reader.push(Buffer.from("chunks\n"));
		expect(starts).toStrictEqual(["in one chunk", "in two "]);
	});

	test("holds nothing of a line that is being dropped", () => {
		const reader = new LineReader({ line: () => {}, tooLong: () => {} }, 8);
		reader.push(Buffer.from("12345678"));
		expect(reader.heldBytes).toBe(8);
		reader.push(Buffer.from("9"));
		expect(reader.heldBytes).toBe(0);
		reader.push(Buffer.from("0123456789"));
		expect(reader.heldBytes).toBe(0);
	});
});

test("counts the bytes of an incomplete line and forgets them with its end", () => {
	const reader = new LineReader({ line: () => {}, tooLong: () => {} }, NO_CAP);
	reader.push(Buffer.from("abc"));
	reader.push(Buffer.from("de"));
	expect(reader.heldBytes).toBe(5);
	reader.push(Buffer.from("f\ngh"));
	expect(reader.heldBytes).toBe(2);
	reader.end();
	expect(reader.heldBytes).toBe(0);
});

test("ending twice reports nothing twice", () => {
	const lines: string[] = [];
	const reader = new LineReader({ line: (line) => lines.push(line.toString()), tooLong: () => {} }, NO_CAP);
	reader.push(Buffer.from("ab"));
	reader.end();
	reader.end();
	expect(lines).toStrictEqual(["ab"]);
});

test("at the real cap a line of 32 MiB passes, one byte more is dropped, and what follows is intact", () => {
	const chunk = Buffer.alloc(64 * 1024, "x");
	const lengths: number[] = [];
	const tooLong: number[] = [];
	const reader = new LineReader(
		{ line: (line) => lengths.push(line.length), tooLong: (byteLength) => tooLong.push(byteLength) },
		MAX_LINE_BYTES,
	);
	const pushLine = (byteLength: number) => {
		for (let rest = byteLength; rest > 0; rest -= chunk.length)
			reader.push(chunk.subarray(0, Math.min(rest, chunk.length)));
		reader.push(Buffer.from("\n"));
	};
	pushLine(MAX_LINE_BYTES);
	pushLine(MAX_LINE_BYTES + 1);
	pushLine(3);
	expect({ lengths, tooLong }).toStrictEqual({ lengths: [MAX_LINE_BYTES, 3], tooLong: [MAX_LINE_BYTES + 1] });
});
