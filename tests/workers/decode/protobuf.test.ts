import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WireReader } from "../../../src/workers/decode/protobuf.ts";
import {
	double,
	fixed32,
	fixed64,
	float,
	group,
	longVarint,
	message,
	packed,
	tag,
	timestamp,
	varint,
} from "../../support/protobuf-writer.ts";

/** A reader that stands at the first field. */
function at(bytes: Uint8Array): WireReader {
	const reader = new WireReader(bytes);
	expect(reader.next()).toBe(true);
	return reader;
}

function fieldsOf(bytes: Uint8Array): { readonly fields: readonly number[]; readonly fault: string | null } {
	const reader = new WireReader(bytes);
	const fields: number[] = [];
	while (reader.next()) fields.push(reader.field);
	return { fields, fault: reader.fault };
}

const EDGES = [7, 14, 21, 28, 31, 32, 35, 42, 49, 53, 56, 63].flatMap((bits) => [
	2n ** BigInt(bits) - 1n,
	2n ** BigInt(bits),
	2n ** BigInt(bits) + 1n,
]);

describe("varints", () => {
	test.each([0n, 1n, 127n, 128n, 300n, ...EDGES, 2n ** 64n - 1n])("%d", (value) => {
		const reader = at(message([1, value]));
		const signed = BigInt.asIntN(64, value);
		expect(reader.bigInt(5n)).toBe(signed);
		expect(reader.uint(5)).toBe(Number(value));
		expect(reader.int(5)).toBe(Number(signed));
		expect(reader.int32(5)).toBe(Number(BigInt.asIntN(32, value)));
		expect(reader.bool(false)).toBe(value !== 0n);
	});

	test.each([-1, -9, -128, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 53) + 1])("%d takes ten bytes", (value) => {
		const bytes = message([1, value]);
		expect(bytes.length).toBe(11);
		expect(at(bytes).int(5)).toBe(value);
		expect(at(bytes).bigInt(5n)).toBe(BigInt(value));
		expect(at(bytes).int32(5)).toBe(value | 0);
	});

	test("the smallest of all", () => {
		const reader = at(message([1, -(2n ** 63n)]));
		expect(reader.bigInt(0n)).toBe(-(2n ** 63n));
		expect(reader.int(0)).toBe(-(2 ** 63));
	});

	test("an int32 without its sign extension", () => {
		expect(at(message([1, 4_294_967_287])).int32(0)).toBe(-9);
	});

	test.each([2, 3, 5, 9, 10])("%d bytes for what needs one", (length) => {
		expect(at(message([1, longVarint(1, length)])).uint(0)).toBe(1);
	});

	test.each([
		["eleven bytes", Buffer.concat([tag(1, 0), Buffer.alloc(10, 0x80), Buffer.from([1])])],
		["more than 64 bits", Buffer.concat([tag(1, 0), Buffer.alloc(9, 0xff), Buffer.from([2])])],
	])("%s are corrupt", (_name, bytes) => {
		expect(fieldsOf(bytes)).toStrictEqual({ fields: [], fault: "corrupt" });
	});

	test("any of 64 bits, and the one behind it", () => {
		fc.assert(
			fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.nat(), (value, next) => {
				const reader = at(message([1, value], [2, next]));
				expect(reader.bigInt(0n)).toBe(value);
				expect(reader.next() && reader.uint(-1)).toBe(next);
			}),
		);
	});
});

describe("tags", () => {
	test.each([1, 15, 16, 148, 2047, 2048, 2 ** 21, 2 ** 29 - 1])("field %d", (field) => {
		expect(fieldsOf(message([field, 1], [1, 2]))).toStrictEqual({ fields: [field, 1], fault: null });
	});

	test.each([
		["field 0", Buffer.from([0x00, 0x01])],
		["field 0 in two bytes", Buffer.from([0x80, 0x00, 0x01])],
		["a field above 2^29 - 1", Buffer.concat([varint(2 ** 32), Buffer.from([1])])],
		["six bytes", Buffer.from([0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01])],
		["wire type 6", tag(1, 6)],
		["wire type 7", tag(1, 7)],
		["the end of a group that never began", tag(1, 4)],
	])("%s is corrupt, and what stood before holds", (_name, bytes) => {
		expect(fieldsOf(Buffer.concat([message([9, 1]), bytes]))).toStrictEqual({ fields: [9], fault: "corrupt" });
	});

	test("a tag in more bytes than it needs", () => {
		expect(fieldsOf(Buffer.from([0x88, 0x80, 0x00, 0x01]))).toStrictEqual({ fields: [1], fault: null });
	});
});

describe("values of every wire type", () => {
	const every = message(
		[1, 7],
		[2, fixed64(-3n)],
		[3, "text"],
		[4, group(4, [1, 1], [2, "x"], [5, group(5, [6, double(1)])])],
		[5, fixed32(4_000_000_000)],
		[6, double(1.5)],
		[7, float(-0.5)],
		[8, Buffer.from([0, 255])],
		[9, true],
	);

	test("are passed over when nobody looks", () => {
		expect(fieldsOf(every)).toStrictEqual({ fields: [1, 2, 3, 4, 5, 6, 7, 8, 9], fault: null });
	});

	test("are what was written", () => {
		const seen: unknown[] = [];
		const reader = new WireReader(every);
		const read: Record<number, () => unknown> = {
			1: () => reader.uint(0),
			2: () => reader.fixed64(0n),
			3: () => reader.text(""),
			5: () => reader.fixed32(0),
			6: () => reader.double(0),
			7: () => reader.float(0),
			8: () => [...reader.bytes(new Uint8Array(0))],
			9: () => reader.bool(false),
		};
		while (reader.next()) seen.push(read[reader.field]?.());
		expect(seen).toStrictEqual([7, -3n, "text", undefined, 4_000_000_000, 1.5, -0.5, [0, 255], true]);
	});

	test("a value of another wire type is what was there before, and the place is kept", () => {
		for (const value of [7, "seven", fixed32(7), fixed64(7n), group(1, [1, 7])]) {
			const reader = at(message([1, value], [2, "next"]));
			const isVarint = value === 7;
			const isText = value === "seven";
			expect(reader.uint(-1)).toBe(isVarint ? 7 : -1);
			expect(reader.text("-")).toBe(isText ? "seven" : "-");
			if (!isText) expect(reader.enter()).toBe(false);
			expect(reader.textIn(1, "-")).toBe("-");
			expect(reader.timestampMs(null)).toBe(isText ? 0 : null);
			if (isVarint) expect(reader.double(-1)).toBe(-1);
			expect(reader.next()).toBe(true);
			expect(reader.text("")).toBe("next");
			expect(reader.fault).toBeNull();
		}
	});

	test("a view into a larger buffer", () => {
		const bytes = Buffer.concat([Buffer.alloc(3, 0xff), message([1, "text"]), Buffer.alloc(3, 0xff)]);
		const reader = at(new Uint8Array(bytes.buffer, bytes.byteOffset + 3, 6));
		expect(reader.text("")).toBe("text");
		expect(reader.next()).toBe(false);
		expect(reader.fault).toBeNull();
	});
});

describe("texts", () => {
	test.each([
		["none", ""],
		["short ASCII", "run_command"],
		["long ASCII", "x".repeat(5_000)],
		["of two, three and four bytes", "äß修改😀👩‍👩‍👧"],
		["NUL and control characters", "a\u0000b\u001b[2K\r\n"],
		["a byte order mark", "\ufeffx"],
	])("%s", (_name, text) => {
		expect(at(message([1, text])).text("-")).toBe(text);
	});

	test("what is no UTF-8 becomes U+FFFD", () => {
		expect(at(message([1, Buffer.from([0x61, 0xe4, 0x62])])).text("")).toBe("a\ufffdb");
	});

	test.each([
		[4, "aä"],
		[3, "aä"],
		[2, "a"],
		[0, ""],
		[99, "aä😀"],
	])("the first %d bytes, without half a character", (maxBytes, text) => {
		expect(at(message([1, "aä😀"])).textStart("-", maxBytes)).toBe(text);
	});
});

describe("messages inside", () => {
	test("are entered and left, however much was read", () => {
		const reader = at(message([1, message([1, "a"], [2, "b"], [3, message([1, 9])])], [2, 5]));
		expect(reader.enter()).toBe(true);
		expect(reader.next() && reader.text("")).toBe("a");
		reader.leave();
		expect(reader.next()).toBe(true);
		expect(reader.uint(0)).toBe(5);
	});

	test("a broken one costs itself", () => {
		for (const broken of [Buffer.from([0x0f]), Buffer.from([0x0a, 0x7f]), Buffer.from([0x08]), tag(1, 3)]) {
			const reader = at(message([1, Buffer.concat([message([1, 4]), broken])], [2, 5]));
			expect(reader.enter()).toBe(true);
			expect(reader.next() && reader.uint(0)).toBe(4);
			expect(reader.next()).toBe(false);
			reader.leave();
			expect(reader.isDamaged).toBe(true);
			expect(reader.fault).toBeNull();
			expect(reader.next() && reader.uint(0)).toBe(5);
		}
	});

	test("too deep ones are passed over", () => {
		let bytes = message([1, 7]);
		for (let depth = 0; depth < 40; depth++) bytes = message([1, bytes], [2, depth]);
		const reader = new WireReader(bytes);
		let depth = 0;
		while (reader.next() && reader.field === 1 && reader.enter()) depth++;
		expect(depth).toBe(32);
		expect(reader.isDamaged).toBe(true);
		for (let left = depth; left > 0; left--) {
			expect(reader.next() && reader.field).toBe(2);
			reader.leave();
		}
		expect(reader.next() && reader.uint(0)).toBe(39);
		expect(reader.fault).toBeNull();
	});

	test("are read twice when they are looked at twice", () => {
		const reader = at(message([7, message([1, "a"], [2, message([3, "b"])])], [8, 1]));
		expect([reader.textIn(1, "-"), reader.field, reader.textIn(1, "-")]).toStrictEqual(["a", 7, "a"]);
		expect(reader.bytes(new Uint8Array(0))).toHaveLength(8);
		expect(reader.next() && reader.field).toBe(8);
	});

	test("a time", () => {
		expect(at(message([1, timestamp(1_782_650_000_250)])).timestampMs(null)).toBe(1_782_650_000_250);
	});

	test("a text in one, the last of two", () => {
		expect(at(message([1, message([2, "a"], [1, "x"], [2, "b"])])).textIn(2, "-")).toBe("b");
	});
});

describe("groups", () => {
	test.each([
		["without its end", Buffer.concat([tag(1, 3), message([2, 1])]), "torn"],
		["with the end of another", Buffer.concat([tag(1, 3), tag(2, 4)]), "corrupt"],
		["with a broken field", Buffer.concat([tag(1, 3), tag(2, 7)]), "corrupt"],
		["deeper than anyone goes", Buffer.alloc(100_000, tag(1, 3)), "corrupt"],
	])("%s", (_name, bytes, fault) => {
		expect(fieldsOf(Buffer.concat([message([9, 1]), bytes]))).toStrictEqual({ fields: [9], fault });
	});
});

describe("repeated scalars", () => {
	function numbersOf(bytes: Uint8Array, kind: "int" | "uint" | "float" | "double"): readonly number[] {
		const numbers: number[] = [];
		const reader = new WireReader(bytes);
		while (reader.next()) if (reader.field === 1) reader.numbers(numbers, kind);
		return numbers;
	}

	test.each([
		["one by one", message([1, 1], [1, 300], [1, -1]), "int", [1, 300, -1]],
		["packed", message([1, packed(1, 300, -1)]), "int", [1, 300, -1]],
		["both", message([1, packed(1, 2)], [2, "x"], [1, 3]), "uint", [1, 2, 3]],
		["none", message([1, packed()]), "int", []],
		["of four bytes", message([1, packed(float(0.5), float(2))], [1, float(3)]), "float", [0.5, 2, 3]],
		["of eight bytes", message([1, packed(double(0.1))], [1, double(3)]), "double", [0.1, 3]],
		["of another wire type", message([1, fixed32(1)], [1, 5]), "int", [5]],
		["broken at the end", message([1, Buffer.concat([packed(1, 2), Buffer.from([0x80])])], [1, 3]), "int", [1, 2, 3]],
	] as const)("%s", (_name, bytes, kind, numbers) => {
		expect(numbersOf(bytes, kind)).toStrictEqual(numbers);
	});
});

describe("a blob that ends early", () => {
	const whole = message(
		[1, 300],
		[2, fixed64(1n)],
		[148, message([1, "a text that is long enough"], [2, message([1, -1])])],
		[3, group(3, [1, "x"])],
		[4, fixed32(1)],
	);

	test("is torn at every byte that is inside of a field, and never corrupt", () => {
		const soundEnds = [0];
		const parts = [message([1, 300]), message([2, fixed64(1n)])];
		const third = message([148, message([1, "a text that is long enough"], [2, message([1, -1])])]);
		for (const part of [...parts, third, message([3, group(3, [1, "x"])]), message([4, fixed32(1)])])
			soundEnds.push((soundEnds.at(-1) ?? 0) + part.length);
		for (let end = 0; end <= whole.length; end++) {
			const { fault } = fieldsOf(whole.subarray(0, end));
			expect([end, fault]).toStrictEqual([end, soundEnds.includes(end) ? null : "torn"]);
		}
	});

	test("gives what there is of a text inside", () => {
		const blob = message([1, 5], [20, message([1, "Hello world"])]);
		const reader = new WireReader(blob.subarray(0, blob.length - 4));
		expect(reader.next() && reader.next()).toBe(true);
		expect(reader.textIn(1, "-")).toBe("Hello w");
		expect(reader.fault).toBe("torn");
		expect(reader.next()).toBe(false);
	});

	test("a length beyond 2 GiB is corrupt", () => {
		expect(fieldsOf(Buffer.concat([tag(1, 2), varint(2 ** 31)]))).toStrictEqual({ fields: [], fault: "corrupt" });
		expect(fieldsOf(Buffer.concat([tag(1, 2), varint(-1)]))).toStrictEqual({ fields: [], fault: "corrupt" });
	});
});

describe("caps", () => {
	test("a reader stops after a million fields", () => {
		const bytes = Buffer.alloc(2 * 2 ** 20 + 100, message([1, 1]));
		const reader = new WireReader(bytes);
		let count = 0;
		while (reader.next()) count++;
		expect(count).toBe(2 ** 20);
		expect(reader.isDamaged).toBe(true);
		expect(reader.fault).toBeNull();
	});

	test("a blob beyond 64 MiB is read up to there", () => {
		const size = 65 * 1024 * 1024;
		const bytes = Buffer.concat([message([1, 7]), tag(2, 2), varint(size), Buffer.alloc(size, 0x61), message([3, 1])]);
		const reader = new WireReader(bytes);
		expect(reader.next() && reader.uint(0)).toBe(7);
		expect(reader.next()).toBe(true);
		expect(reader.textStart("", 3)).toBe("aaa");
		expect(reader.next()).toBe(false);
		expect(reader.fault).toBeNull();
		expect(reader.isDamaged).toBe(true);
	});
});

test("whatever the bytes are, every field is passed once and the reader ends", () => {
	function walk(reader: WireReader, depth: number): number {
		let count = 0;
		while (reader.next()) {
			count++;
			reader.text("");
			reader.int(0);
			reader.numbers([], "int");
			if (depth > 0 && reader.enter()) {
				count += walk(reader, depth - 1);
				reader.leave();
			}
		}
		return count;
	}
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
			expect(walk(new WireReader(bytes), 3)).toBeLessThanOrEqual(bytes.length * 4);
		}),
		{ numRuns: 2_000 },
	);
});
