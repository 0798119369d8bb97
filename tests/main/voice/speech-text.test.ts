import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_SPEECH_CHARS, toSpeech } from "../../../src/main/voice/speech-text.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";

describe("code blocks are left out", () => {
	test.each([
		["fenced", "Before.\n```ts\nconst a = 1;\n```\nAfter.", "Before.\nAfter."],
		["fenced with tildes", "Before.\n~~~\nsecret\n~~~\nAfter.", "Before.\nAfter."],
		["of a list", "- First.\n\n  ```sh\n  rm -r x\n  ```\n- Second.", "First.\nSecond."],
		["begun on the line of a bullet", "- ```sh\n  rm -r x\n  ```\n- Second.", "Second."],
		["begun on the line of a number", "1. ~~~\n   x y z\n   ~~~\n2. Second.", "Second."],
		["in a quote", "> ```\n> secret\n> ```\n> Said.", "Said."],
		["of a quote that ends before it", "> ```\n> secret\nAfter.", "After."],
		["never closed", "Before.\n```\nall of\n\nthe rest", "Before."],
		["with shorter fences inside", "````md\n```\nin\n```\n````\nAfter.", "After."],
		["with the other fence inside", "```\n~~~\nin\n```\nAfter.", "After."],
		["closed by a longer fence", "```\nin\n`````  \nAfter.", "After."],
		["with words behind what looks like its end", "```\nin\n``` no end\nin\n```\nAfter.", "After."],
	])("%s", (_name, markdown, expected) => {
		expect(toSpeech(markdown)).toBe(expected);
	});
});

test.each([
	["inline code is words", "Call `npm test` and ``a ` b``.", "Call npm test and a b."],
	[
		"marks in code are text",
		"Use `__init__` and `a*b*c` and `Map<string>`.",
		"Use __init__ and a*b*c and Map<string>.",
	],
	["code on one line in three backticks", "See ```npm test``` now.", "See npm test now."],
	["a heading", "## Why it failed ##\nIt did.", "Why it failed.\nIt did."],
	["an underlined heading", "Title\n=====\nText.", "Title.\nText."],
	["emphasis", "**Bold**, *thin*, ***both***, __bold__, _thin_, ~~gone~~.", "Bold, thin, both, bold, thin, gone."],
	["emphasis around code", "**use `x` now**", "use x now."],
	["names with underscores, products with stars", "my_file_name and 2 * 3 and 4*5.", "my_file_name and 2 * 3 and 4*5."],
	["escaped marks", String.raw`\*not thin\* and \# and a\_b.`, "*not thin* and # and a_b."],
	["a link", "See [the docs](https://a.example/b?c=d#e) here.", "See the docs here."],
	["a link with a title, brackets, angles", "[a](</x y> \"t\") [b](x_(y)) [c](/z 't').", "a b c."],
	["a link by name", "See [the docs][1].\n\n[1]: https://a.example/b", "See the docs."],
	["an image", "![the diagram](a.png) shows it.", "the diagram shows it."],
	["an image in a link", "[![build](b.svg)](https://ci.example/x) is green.", "build is green."],
	["a footnote", "So it is[^1].", "So it is."],
	[
		"addresses",
		"At https://www.example.com/a/b?c=d#e, or http://u:p@host.example:80/x.",
		"At example.com, or host.example.",
	],
	["an address in angles", "At <https://example.com/a> or <me@example.com>.", "At example.com or me@example.com."],
	["an address in code", "Open `http://localhost:3000/x` now.", "Open localhost now."],
	[
		"an address as the text of a link",
		"[https://example.com/long/path](https://example.com/long/path)",
		"example.com.",
	],
	["HTML", "A <b>bold</b> word<br/>and <!-- <i>no</i> --> <span class='x'>more</span>.", "A bold word and more."],
	["a comment", "A\n<!-- not\nthis -->\nB.", "A.\nB."],
	["a bare sign of comparison", "a < b and c > d.", "a < b and c > d."],
	["entities", "a &lt; b &amp;&amp; c&nbsp;d.", "a < b && c d."],
	[
		"bullets and numbers",
		"- one\n* two\n+ three\n1. four\n2) five\n   - six",
		"one.\ntwo.\nthree.\nfour.\nfive.\nsix.",
	],
	["tasks", "- [ ] open\n- [x] done", "open.\ndone."],
	["a quote", "> It is\n> so.", "It is so."],
	["a rule", "A.\n\n---\n\nB.\n* * *\nC.", "A.\nB.\nC."],
	["a table", "| Name | Size |\n|:--|--:|\n| a | 1 |\n| b\\|c | |", "Name, Size.\na, 1.\nb|c."],
	[
		"a table without bars at its sides",
		"Name | Size\n--- | ---\na | 1\nb | 2\n\nAfter | all.",
		"Name, Size.\na, 1.\nb, 2.\nAfter | all.",
	],
	["lines of one paragraph", "This is\none sentence.\n\nAnother", "This is one sentence.\nAnother."],
	["emoji", "Done ✅ 🎉👩‍💻🇮🇹 1️⃣ with ❤️ and 👍🏽.", "Done 1 with and ."],
	["letters and signs of all languages", "Größe, 100 % © naïve. 日本語です。", "Größe, 100 % © naïve. 日本語です。"],
	["line ends of Windows", "A\r\nb.\r\n\r\nC.", "A b.\nC."],
	["control characters", "a\u001b[31mb\u0007.", "a[31mb."],
	["nothing to say", "```\nx\n```\n---\n🎉", ""],
	["nothing", "", ""],
])("%s", (_name, markdown, expected) => {
	expect(toSpeech(markdown)).toBe(expected);
});

describe("what is too long", () => {
	const sentence = "This is a sentence of forty-four characters. ";

	test("ends with a sentence", () => {
		const spoken = toSpeech(sentence.repeat(100));
		expect(spoken.length).toBeLessThanOrEqual(MAX_SPEECH_CHARS);
		expect(spoken.length).toBeGreaterThan(MAX_SPEECH_CHARS - 2 * sentence.length);
		expect(spoken.endsWith("characters.")).toBe(true);
	});

	test("stays when it just fits", () => {
		expect(toSpeech("one two.", 8)).toBe("one two.");
	});

	test.each([
		["at a word when no sentence ends in its second half", "No. abc def ghi jkl", 15, "No. abc def ghi"],
		["at a word, not within it", "No. abc def ghijk lm", 15, "No. abc def"],
		["anywhere without words", "x".repeat(20), 15, "x".repeat(15)],
		["not within a character of two halves", `x${"𝒜".repeat(20)}`, 4, "x𝒜"],
		["at the end of a line", "- abcdefgh\n- ijkl mnop", 14, "abcdefgh."],
		["at an end of Chinese", "一二三四五六。七八九十", 9, "一二三四五六。"],
		["not at the dot of a number", "abcdefghij 3.14159 and more", 15, "abcdefghij"],
	])("is cut %s", (_name, text, maxChars, expected) => {
		expect(toSpeech(text, maxChars)).toBe(expected);
	});
});

const piece = fc.oneof(
	fc.constantFrom(
		"```",
		"~~~",
		"````",
		"`",
		"``",
		"\n",
		"\n\n",
		"> ",
		"- ",
		"1. ",
		"# ",
		"|",
		"| - |",
		"*",
		"**",
		"_",
		"~~",
	),
	fc.constantFrom(
		"[",
		"](",
		")",
		"![",
		"<",
		">",
		"<!--",
		"-->",
		"\\",
		"&amp;",
		"https://a.b/c",
		"🎉",
		"\ud83c",
		"\ue000",
		"\ue001",
		"  ",
	),
	fc.constantFrom("\ue0000\ue001", "word", "Word. ", "\r\n", "\t", "---", "==="),
	fc.string({ unit: "binary", maxLength: 5 }),
);

test("any text gives text without fences, code, emoji and lone surrogates, within the limit", () => {
	fc.assert(
		fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 1, max: 200 }), (pieces, maxChars) => {
			const spoken = toSpeech(pieces.join(""), maxChars);
			expect(spoken).not.toMatch(/`|~~|[\p{Emoji_Presentation}\ue000\ue001]|\n\n/u);
			expect(spoken.isWellFormed()).toBe(true);
			expect(spoken.length).toBeLessThanOrEqual(maxChars);
			expect(spoken).toBe(spoken.trim());
		}),
		{ numRuns: 3_000, seed: 20_260_101 },
	);
});

test("what stands in a code block is never spoken", () => {
	const around = fc.constantFrom("", "Text.\n", "- item\n", "> quote\n\n");
	const indent = fc.constantFrom("", "  ", "    ", "- ", "1. ");
	fc.assert(
		fc.property(
			around,
			indent,
			fc.constantFrom("```", "~~~", "`````"),
			fc.boolean(),
			(before, prefix, mark, isClosed) => {
				const block = `${prefix}${mark}js\nSECRET\n\nSECRET ${isClosed ? `\n${" ".repeat(prefix.length)}${mark}\nAfter.` : ""}`;
				const spoken = toSpeech(before + block);
				expect(spoken).not.toContain("SECRET");
				if (isClosed) expect(spoken).toMatch(/After\.$/);
			},
		),
		{ seed: 1 },
	);
});

test.each(["[", "](", "`a``b```", "<!-- <", "| ", "- ", " ", "*a ", "[a](", "x|-\n", "http://", "&", "\\"])(
	"no text keeps it busy: %j, many times",
	(text) => {
		expect(cpuMsOf(() => toSpeech(text.repeat(200_000 / text.length)))).toBeLessThan(5_000);
	},
);
