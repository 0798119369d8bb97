import fc from "fast-check";
import { Unpackr } from "msgpackr";
import { describe, expect, test } from "vitest";
import { decode, encode } from "../../src/shared/frames.ts";
import { anyCommand, anyFrame, anyJsonObject, anyMessage } from "../support/thread-messages.ts";

const anyMessageFrame = anyFrame(anyMessage);

describe("round trip", () => {
	test("keeps every frame of lane messages", () => {
		fc.assert(
			fc.property(anyMessageFrame, (frame) => {
				expect(decode(encode(frame))).toStrictEqual(frame);
			}),
		);
	});

	test("keeps every frame of commands", () => {
		fc.assert(
			fc.property(anyFrame(anyCommand), (frame) => {
				expect(decode(encode(frame))).toStrictEqual(frame);
			}),
		);
	});

	test("keeps nested arguments", () => {
		fc.assert(
			fc.property(anyJsonObject, (args) => {
				expect(decode(encode(args))).toStrictEqual(args);
			}),
		);
	});

	test.each([
		0,
		1,
		127,
		128,
		255,
		256,
		65_535,
		65_536,
		2 ** 31,
		2 ** 32 - 1,
		2 ** 32,
		2 ** 53,
		-1,
		-32,
		-33,
		-129,
		-32_769,
		-(2 ** 31) - 1,
		-(2 ** 53),
		0.1,
		5.33409,
		1e300,
		5e-324,
	])("keeps the number %d", (number) => {
		expect(decode(encode(number))).toBe(number);
	});

	test.each([
		["an empty text", ""],
		["all planes", "aß€漢😀\u{10ffff}"],
		["a family of joined emoji", "👩‍👩‍👧‍👦"],
		["a combining mark", "e\u0301"],
		["line separators", "a\u2028b\u2029c\u0085d\u0000e"],
		["31 bytes", "x".repeat(31)],
		["32 bytes", "x".repeat(32)],
		["256 bytes", "é".repeat(128)],
		["64 KiB", "x".repeat(65_536)],
		["4 MiB of two-byte characters", "é".repeat(2 * 1024 * 1024)],
	])("keeps %s", (_name, text) => {
		expect(decode(encode({ text }))).toStrictEqual({ text });
	});

	test.each([
		["short", "cut \ud83d here"],
		["long", `${"x".repeat(200)}\ud83d${"y".repeat(200)}\udc00`],
	])("half a character in a %s text becomes the replacement character and nothing else changes", (_name, text) => {
		expect(decode(encode(text))).toBe(text.replaceAll(/[\ud800-\udfff]/g, "\ufffd"));
	});

	test("a key that would be a prototype comes back as plain data", () => {
		const decoded = decode(encode(JSON.parse('{"__proto__":{"polluted":true},"a":1}'))) as Record<string, unknown>;
		expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
		expect(decoded.polluted).toBeUndefined();
		expect(decoded.a).toBe(1);
	});
});

describe("the bytes", () => {
	test("are an exact-size array of their own, so that a transfer takes nothing else along", () => {
		const first = encode({ seq: 1, messages: ["x".repeat(100)] });
		const second = encode({ seq: 2, messages: ["y".repeat(100)] });
		expect(first.byteOffset).toBe(0);
		expect(first.buffer.byteLength).toBe(first.byteLength);
		expect(second.buffer).not.toBe(first.buffer);
		structuredClone(first, { transfer: [first.buffer] });
		expect(first.byteLength).toBe(0);
		expect(decode(second)).toStrictEqual({ seq: 2, messages: ["y".repeat(100)] });
		expect(decode(encode({ seq: 3 }))).toStrictEqual({ seq: 3 });
	});

	test("hold no extension types, whatever the frame", () => {
		fc.assert(
			fc.property(anyMessageFrame, (frame) => {
				expect(foreignTypes(encode(frame))).toStrictEqual([]);
			}),
		);
	});

	test("would be caught if they held one", () => {
		expect(foreignTypes(Uint8Array.from([0x92, 0xd4, 1, 0, 0xc1]))).toStrictEqual([0xd4, 0xc1]);
	});

	test("hold null where a value is undefined", () => {
		expect(decode(encode({ a: undefined, b: [undefined] }))).toStrictEqual({ a: null, b: [null] });
		expect(foreignTypes(encode({ a: undefined, b: [undefined] }))).toStrictEqual([]);
	});

	test("are read by any MessagePack decoder", () => {
		const plain = new Unpackr();
		fc.assert(
			fc.property(anyMessageFrame, (frame) => {
				expect(toPlainObjects(plain.unpack(encode(frame)))).toStrictEqual(frame);
			}),
		);
	});

	test("are the ones of the MessagePack specification", () => {
		expect([...encode({ kind: "ack", seq: 300 })]).toStrictEqual([
			...[0x82, 0xa4, ...Buffer.from("kind"), 0xa3, ...Buffer.from("ack")],
			...[0xa3, ...Buffer.from("seq"), 0xcd, 0x01, 0x2c],
		]);
	});
});

describe("torn bytes throw", () => {
	test("cut at any position", () => {
		const bytes = encode({ seq: 300, messages: [{ kind: "stderr", link: 1, text: "é".repeat(40) }] });
		for (let end = 0; end < bytes.length; end++) expect(() => decode(bytes.subarray(0, end))).toThrow();
	});

	test("followed by more", () => {
		expect(() => decode(Uint8Array.from([...encode({ seq: 1 }), 0]))).toThrow();
	});

	test("promising more than there is", () => {
		expect(() => decode(Uint8Array.from([0xdb, 0xff, 0xff, 0xff, 0xff]))).toThrow();
	});
});

/** Another decoder makes a Map of every map. */
function toPlainObjects(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(toPlainObjects);
	if (!(value instanceof Map)) return value;
	return Object.fromEntries([...value].map(([key, entry]) => [key, toPlainObjects(entry)]));
}

/** What stands behind each type byte above 0xbf: a value of so many bytes, or a length in so many bytes and what it counts. */
const BEHIND_TYPE: readonly (readonly [
	first: number,
	what: "value" | "bytes" | "array" | "map",
	widths: readonly number[],
])[] = [
	[0xc0, "value", [0, 0, 0, 0]], // nil, none, false, true
	[0xc4, "bytes", [1, 2, 4]], // byte arrays
	[0xca, "value", [4, 8, 1, 2, 4, 8, 1, 2, 4, 8]], // floats, unsigned and signed integers
	[0xd4, "value", [2, 3, 5, 9, 17]], // extensions of a fixed size
	[0xd9, "bytes", [1, 2, 4]], // texts
	[0xdc, "array", [2, 4]],
	[0xde, "map", [2, 4]],
];

/** Walks one MessagePack value and lists the type bytes that plain JSON-like data does not have: extensions and 0xc1. */
function foreignTypes(bytes: Uint8Array): readonly number[] {
	const view = Buffer.from(bytes);
	const found: number[] = [];
	let at = 0;
	for (let open = 1; open > 0; open--) {
		const type = view.readUInt8(at++);
		if (type === 0xc1 || (type >= 0xc7 && type <= 0xc9) || (type >= 0xd4 && type <= 0xd8)) found.push(type);
		if (type <= 0x7f || type >= 0xe0) continue;
		if (type <= 0x8f) open += 2 * (type & 0x0f);
		else if (type <= 0x9f) open += type & 0x0f;
		else if (type <= 0xbf) at += type & 0x1f;
		else {
			const [first, what, widths] = BEHIND_TYPE.findLast(([from]) => from <= type) ?? [0, "value", []];
			const width = widths[type - first] ?? 0;
			const count = what === "value" ? 0 : view.readUIntBE(at, width);
			at += width + (what === "bytes" ? count : 0);
			if (what === "array") open += count;
			if (what === "map") open += 2 * count;
		}
	}
	return found;
}
