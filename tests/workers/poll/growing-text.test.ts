import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GrowingText, type TextChange } from "../../../src/workers/poll/growing-text.ts";

type Version = string | readonly number[];

/** What is said about versions that follow one another; the last one is final. */
function changesOf(versions: readonly Version[], isLastFinal = true): readonly (TextChange | null)[] {
	const text = new GrowingText();
	return versions.map((version, index) => text.advance(toBytes(version), isLastFinal && index === versions.length - 1));
}

function toBytes(version: Version): Uint8Array {
	return typeof version === "string" ? new Uint8Array(Buffer.from(version)) : Uint8Array.from(version);
}

/** What a person has in front of them. */
function shown(changes: readonly (TextChange | null)[]): string {
	let text = "";
	for (const change of changes) if (change) text = change.replaces ? change.text : text + change.text;
	return text;
}

const HALF_EMOJI = [0x61, 0xf0, 0x9f, 0x98];

describe("a text that grows", () => {
	test.each<readonly [string, readonly Version[], readonly (TextChange | null)[]]>([
		["by pieces", ["Hel", "Hello", "Hello!"], [{ text: "Hel" }, { text: "lo" }, { text: "!" }]],
		["by nothing", ["Hel", "Hel", "Hel"], [{ text: "Hel" }, null, null]],
		["from nothing", ["", "", "a"], [null, null, { text: "a" }]],
		["at once", ["Hello"], [{ text: "Hello" }]],
		[
			"F3 and is rewritten",
			["first", "The answer", "The answer!"],
			[{ text: "first" }, { text: "The answer", replaces: true }, { text: "!" }],
		],
		["F4 and gets shorter", ["Hello world", "Hello"], [{ text: "Hello world" }, { text: "Hello", replaces: true }]],
		["and vanishes", ["Hello", "", "Bye"], [{ text: "Hello" }, { text: "", replaces: true }, { text: "Bye" }]],
		["F5 past half a character", ["ab\ufffd", "ab修改"], [{ text: "ab" }, { text: "修改" }]],
		["past two of them", ["ab\ufffd\ufffd", "ab修改c"], [{ text: "ab" }, { text: "修改c" }]],
		["to an end that is U+FFFD", ["ab\ufffd", "ab\ufffd"], [{ text: "ab" }, { text: "\ufffd" }]],
		["and heals inside", ["ab\ufffdc", "ab修c"], [{ text: "ab\ufffdc" }, { text: "ab修c", replaces: true }]],
		["across the bytes of a character", [HALF_EMOJI, "a😀b"], [{ text: "a" }, { text: "😀b" }]],
		["to half a character at the end", [[0x61], [...HALF_EMOJI]], [{ text: "a" }, { text: "\ufffd" }]],
		["and loses what is held", ["abc", "ab\ufffd", "abcd"], [{ text: "abc" }, null, { text: "d" }]],
		["past half a surrogate pair", [[0x61, 0xed, 0xa0, 0xbd], "a😀"], [{ text: "a" }, { text: "😀" }]],
		["by one that is held alone", ["\ufffd", "修"], [null, { text: "修" }]],
		["with a byte order mark", ["\ufeffa", "\ufeffab\ufeffc"], [{ text: "\ufeffa" }, { text: "b\ufeffc" }]],
	])("%s", (_name, versions, changes) => {
		expect(changesOf(versions)).toStrictEqual(changes);
	});

	test("once more behind its end", () => {
		const text = new GrowingText();
		expect(text.advance(toBytes("a"), true)).toStrictEqual({ text: "a" });
		expect(text.advance(toBytes("ab"), true)).toStrictEqual({ text: "b" });
		expect(text.advance(toBytes("c"), true)).toStrictEqual({ text: "c", replaces: true });
	});

	test("behind an end that was half a character", () => {
		const text = new GrowingText();
		expect(text.advance(toBytes(HALF_EMOJI), true)).toStrictEqual({ text: "a\ufffd" });
		expect(text.advance(toBytes(HALF_EMOJI), true)).toBeNull();
		expect(text.advance(toBytes("a😀"), true)).toStrictEqual({ text: "a😀", replaces: true });
	});

	test("a final text does not keep its row alive", () => {
		const payload = new Uint8Array(1_000).fill(0x61);
		const text = new GrowingText();
		text.advance(payload.subarray(0, 5), true);
		payload.fill(0x62);
		expect(text.advance(toBytes("aaaaa"), true)).toBeNull();
	});
});

describe("a version that is not whole", () => {
	test.each([
		["goes on", "Hello w", { text: " w" }],
		["goes on to half a character", [...Buffer.from("Hello "), 0xe4], { text: " " }],
		["is shorter", "Hel", null],
		["is another", "Bye bye", null],
		["is nothing", "", null],
	])("%s", (_name, version, change) => {
		const text = new GrowingText();
		text.advance(toBytes("Hello"), false);
		expect(text.extend(toBytes(version))).toStrictEqual(change);
	});
});

const anyText = fc.string({ unit: "binary", maxLength: 40 });

test("whatever grows, is cut anywhere and is rewritten, the text of the end is shown", () => {
	const anyVersion = fc.record({ text: anyText, cut: fc.nat(120), isAppended: fc.boolean() });
	fc.assert(
		fc.property(fc.array(anyVersion, { minLength: 1, maxLength: 12 }), anyText, (steps, end) => {
			let whole = Buffer.alloc(0);
			const versions = steps.map(({ text, cut, isAppended }) => {
				whole = isAppended ? Buffer.concat([whole, Buffer.from(text)]) : Buffer.from(text);
				return [...whole.subarray(0, cut)];
			});
			const changes = changesOf([...versions, end]);
			expect(shown(changes)).toBe(end);
		}),
		{ numRuns: 2_000 },
	);
});

test("what only grows is never said again, and never cut inside a character", () => {
	fc.assert(
		fc.property(anyText, fc.array(fc.nat(200)), (text, cuts) => {
			const bytes = Buffer.from(text);
			const ends = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
			const changes = changesOf([...ends.map((end) => [...bytes.subarray(0, end)]), text]);
			expect(changes.some((change) => change?.replaces)).toBe(false);
			expect(changes.map((change) => change?.text ?? "").join("")).toBe(text);
			for (const change of changes) expect(change?.text.isWellFormed() ?? true).toBe(true);
		}),
		{ numRuns: 2_000 },
	);
});
