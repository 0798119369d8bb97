import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { composePrompt, renderUserMessages, type Section, toFileSection } from "../../src/main/prompt.ts";
import { Spill } from "../../src/main/spill.ts";
import { MAX_PROMPT_LINE_BYTES } from "../../src/shared/limits.ts";
import { Folder } from "../support/folder.ts";
import { image, user } from "../support/pi-transcript.ts";

const folder = new Folder();
let spill: Spill;

beforeEach(() => {
	spill = new Spill(folder.at("spill"));
});

afterEach(() => spill.close());

const encode = (text: string) => streamJsonEngine.encodePrompt(streamJsonEngine.payload(text));
const lineBytes = (prompt: string) => Buffer.byteLength(encode(prompt));
const section = (text: string, more: Partial<Section> = {}): Section => ({
	name: "the user's message",
	heading: "",
	text,
	...more,
});
/** The files a prompt names, in order. */
const filesIn = (prompt: string) =>
	[...prompt.matchAll(/is in the file (\S+\.md)[,.]/g)].map((match) => match[1] ?? "");
/** The longest text of that one character whose line still fits. */
const longest = (character: string) => {
	const perCharacter = lineBytes(`${character}${character}`) - lineBytes(character);
	return character.repeat(Math.floor((MAX_PROMPT_LINE_BYTES - lineBytes("")) / perCharacter));
};

describe("sections", () => {
	test("stand in their order, with their headings, and empty ones not at all", async () => {
		const sections = [
			section("One.", { heading: "First:" }),
			section(""),
			section("", { heading: "Not:" }),
			section("Two."),
		];
		expect(await composePrompt(sections, encode, spill)).toBe("First:\n\nOne.\n\nTwo.");
	});

	test.each(["/model", "  /help me", "/", "\n/x"])("that begin like a command stay as they are: %j", async (text) => {
		expect(await composePrompt([section(text)], encode, spill)).toBe(text);
	});
});

describe("a line of", () => {
	test.each([
		["plain letters", "x"],
		["two-byte letters", "é"],
		["emoji", "😀"],
		["quotes, which are escaped", '"'],
		["line feeds", "\n"],
		["control characters, six bytes each", "\u0001"],
		["lone surrogates, six bytes each", "\ud800"],
	])("%s is written out up to the limit, in bytes of the encoded line, and not above", async (_name, character) => {
		const fits = longest(character);
		expect(lineBytes(fits)).toBeLessThanOrEqual(MAX_PROMPT_LINE_BYTES);
		expect(await composePrompt([section(fits)], encode, spill)).toBe(fits);
		const above = fits + character;
		expect(lineBytes(above)).toBeGreaterThan(MAX_PROMPT_LINE_BYTES);
		const prompt = await composePrompt([section(above)], encode, spill);
		const [path] = filesIn(prompt);
		expect(prompt).toBe(
			`The user's message is in the file ${path}, because it is long. Read that whole file before anything else and treat it as if it stood here.`,
		);
		expect(await readFile(path ?? "")).toStrictEqual(Buffer.from(above));
	});

	test("headings and separators counts them", async () => {
		const text = longest("x").slice("Heading:\n\n".length / 1.2);
		const prompt = await composePrompt([section(text, { heading: "Heading:" })], encode, spill);
		expect(lineBytes(prompt)).toBeLessThanOrEqual(MAX_PROMPT_LINE_BYTES);
		expect(filesIn(prompt)).toHaveLength(1);
	});
});

describe("what is too long", () => {
	test("goes longest first, and the rest stays in the prompt", async () => {
		const prompt = await composePrompt(
			[
				section("a".repeat(9_000), { name: "your instructions", heading: "Instructions:" }),
				section("b".repeat(15_000), { name: "what happened" }),
				section("c".repeat(300)),
			],
			encode,
			spill,
		);
		const [path] = filesIn(prompt);
		expect(filesIn(prompt)).toHaveLength(1);
		expect(prompt).toContain(`What happened is in the file ${path}`);
		expect(prompt.startsWith(`Instructions:\n\n${"a".repeat(9_000)}\n\nWhat happened`)).toBe(true);
		expect(prompt.endsWith(`\n\n${"c".repeat(300)}`)).toBe(true);
		expect(readFileSync(path ?? "", "utf8")).toBe("b".repeat(15_000));
	});

	test("lies in the session's directory, under an absolute path", async () => {
		const [path = ""] = filesIn(await composePrompt([section("x".repeat(30_000))], encode, spill));
		expect(isAbsolute(path)).toBe(true);
		expect(dirname(path)).toBe(await spill.directory());
	});

	test("whatever the sections are, the line fits and every text is in it or in a named file, once and in order", async () => {
		const anyText = fc.oneof(
			fc.string({ unit: "binary", maxLength: 50 }),
			fc
				.tuple(fc.constantFrom("x", "é", "😀", '"', "\n", "\\", "\u2028"), fc.nat(12_000))
				.map(([character, length]) => character.repeat(length)),
		);
		await fc.assert(
			fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 5 }), async (texts) => {
				const sections = texts.map((text, index) =>
					section(text === "" ? "" : `<${index}>${text}</${index}>`, { name: `part ${index}` }),
				);
				const prompt = await composePrompt(sections, encode, spill);
				expect(lineBytes(prompt)).toBeLessThanOrEqual(MAX_PROMPT_LINE_BYTES);
				let whole = prompt;
				for (const path of filesIn(prompt)) {
					const reference = new RegExp(`Part \\d is in the file ${path}[^.]*\\. Read[^.]*\\.`);
					expect(whole).toMatch(reference);
					const content = readFileSync(path, "utf8");
					whole = whole.replace(reference, () => content);
				}
				expect(whole).toBe(
					sections
						.map(({ text }) => text)
						.filter((text) => text !== "")
						.join("\n\n"),
				);
			}),
			{ numRuns: 60 },
		);
	});
});

test("a section that is only referred to names its file, whatever its length", async () => {
	const { text, heading } = await toFileSection("the conversation so far", "Hi.", spill);
	const [path = ""] = filesIn(text);
	expect(text).toBe(
		`The conversation so far is in the file ${path}. Read that whole file before you answer; do not comment on it.`,
	);
	expect(heading).toBe("");
	expect(readFileSync(path, "utf8")).toBe("Hi.");
});

describe("the user side's words", () => {
	test.each([
		["nothing", [], ""],
		["one message", [user("Hi.")], "Hi."],
		[
			"several, in order",
			[user("One."), user([{ type: "text", text: "Two." }]), user("Three.")],
			"One.\n\nTwo.\n\nThree.",
		],
		["an empty one among others", [user(""), user("Hi."), user([])], "Hi."],
		["a command, which is text", [user("/model")], "/model"],
	])("%s", async (_name, messages, text) => {
		expect(await renderUserMessages(messages, spill)).toBe(text);
	});

	test.each([
		["image/png", "png"],
		["image/jpeg", "jpg"],
		["image/webp", "webp"],
		["image/gif", "gif"],
	])("an image of type %s is staged as a file and referenced where it stood", async (mimeType, extension) => {
		const bytes = Buffer.from([0x89, 0x50, 0, 0xff, 0x0a, 0x0d]);
		const text = await renderUserMessages(
			[
				user([
					{ type: "text", text: "Look:" },
					image(mimeType, bytes.toString("base64")),
					{ type: "text", text: "What is it?" },
				]),
			],
			spill,
		);
		const [before, reference = "", after] = text.split("\n\n");
		expect([before, after]).toStrictEqual(["Look:", "What is it?"]);
		expect(reference).toMatch(new RegExp(`^@/.+\\.${extension}$`));
		expect(dirname(reference.slice(1))).toBe(await spill.directory());
		expect(readFileSync(reference.slice(1))).toStrictEqual(bytes);
	});

	test("each image has a file of its own", async () => {
		const text = await renderUserMessages(
			[user([image("image/png"), image("image/png")]), user([image("image/gif")])],
			spill,
		);
		const paths = text.split("\n\n");
		expect(new Set(paths).size).toBe(3);
	});

	test.each(["image/svg+xml", "image/tiff", "application/pdf", "constructor"])(
		"%s is named as left out",
		async (mimeType) => {
			expect(await renderUserMessages([user([image(mimeType)])], spill)).toBe(
				`[An attachment of type ${mimeType} was left out: agy reads png, jpeg, webp and gif.]`,
			);
		},
	);
});
