import type { Message } from "@earendil-works/pi-ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderDigest, renderTranscript } from "../../src/main/digest.ts";
import { DIGEST_CHARS, TRANSCRIPT_CHARS, TRANSCRIPT_TOOL_RESULT_CHARS } from "../../src/shared/limits.ts";
import { call, compaction, foreign, image, own, system, toolResult, user } from "../support/pi-transcript.ts";

const CUT = "[earlier parts left out]";

describe("the transcript", () => {
	test("says who said what, in order, with calls and their results", () => {
		const messages = [
			system("Be kind."),
			user("Run it."),
			foreign("", { content: [{ type: "text", text: "I will." }, call("c1")] }),
			toolResult("c1", "4 passed"),
			toolResult("c2", "no", { isError: true }),
			toolResult("c3", "", { content: [image("image/png")] }),
			toolResult("c4", "", { content: [] }),
			own("It works."),
			foreign(""),
		];
		expect(renderTranscript(messages)).toBe(
			[
				"# The conversation so far",
				"## User",
				"Run it.",
				"## Assistant (openai)",
				'I will.\n[called bash with {"command":"make"}]',
				"## Result of bash",
				"4 passed",
				"## Result of bash (failed)",
				"no",
				"## Result of bash",
				"[image/png]",
				"## Result of bash",
				"(no output)",
				"## Assistant (antigravity)",
				"It works.",
			].join("\n\n"),
		);
	});

	test("holds no thinking, which is nobody's to know", () => {
		const message = foreign("", {
			content: [
				{ type: "thinking", thinking: "secret" },
				{ type: "text", text: "Hi." },
			],
		});
		expect(renderTranscript([message])).not.toContain("secret");
	});

	test("cuts a long result and says by how much", () => {
		const text = renderTranscript([toolResult("c1", "x".repeat(TRANSCRIPT_TOOL_RESULT_CHARS + 7))]);
		expect(text).toContain(`${"x".repeat(TRANSCRIPT_TOOL_RESULT_CHARS)}\n[7 more characters]`);
		expect(renderTranscript([toolResult("c1", "x".repeat(TRANSCRIPT_TOOL_RESULT_CHARS))])).not.toContain(
			"more characters",
		);
	});

	test("keeps the newest when it is too long, whole messages", () => {
		const messages = Array.from({ length: 9 }, (_, index) => user(`<${index}>${"x".repeat(TRANSCRIPT_CHARS / 5)}`));
		const text = renderTranscript(messages);
		expect(text.startsWith(`# The conversation so far\n\n${CUT}\n\n## User\n\n<5>`)).toBe(true);
		expect([...text.matchAll(/<\d>/g)].map(String)).toStrictEqual(["<5>", "<6>", "<7>", "<8>"]);
	});

	test("keeps pi's compaction summary whole, and the newest behind it, when it is too long", () => {
		const summary = compaction(`<s>${"s".repeat(TRANSCRIPT_CHARS / 2)}`);
		const messages = Array.from({ length: 9 }, (_, index) => user(`<${index}>${"x".repeat(TRANSCRIPT_CHARS / 5)}`));
		const text = renderTranscript([user("<0>"), summary, ...messages]);
		expect(text).toContain("s".repeat(TRANSCRIPT_CHARS / 2));
		expect([...text.matchAll(/<\w>/g)].map(String)).toStrictEqual(["<s>", "<5>", "<6>", "<7>", "<8>"]);
	});

	test("is whole and in order while it fits, whatever pi compacted in it", () => {
		const text = renderTranscript([user("<1>"), compaction("<2>"), user("<3>")]);
		expect([...text.matchAll(/<\d>/g)].map(String)).toStrictEqual(["<1>", "<2>", "<3>"]);
	});
});

describe("the digest", () => {
	const long = (name: string, length = 1_000) => user(`<${name}>${"x".repeat(length)}`);
	const namesIn = (text: string) => [...text.matchAll(/<(\w+)>/g)].map((match) => match[1]);

	test("is everything while it fits", () => {
		expect(renderDigest([user("One."), foreign("Two.")])).toBe("## User\n\nOne.\n\n## Assistant (openai)\n\nTwo.");
	});

	test("of nothing is nothing", () => {
		expect(renderDigest([])).toBe("");
		expect(renderDigest([system("x"), foreign("")])).toBe("");
	});

	test("is the newest that fits, in order, and says that there was more", () => {
		const text = renderDigest(Array.from({ length: 20 }, (_, index) => long(`m${index}`)));
		expect(text.startsWith(`${CUT}\n\n`)).toBe(true);
		expect(namesIn(text)).toStrictEqual(["m13", "m14", "m15", "m16", "m17", "m18", "m19"]);
	});

	test("leaves out everything before the first message that does not fit, for there is no gap in it", () => {
		const text = renderDigest([user("<small>"), long("huge", DIGEST_CHARS), user("<last>")]);
		expect(namesIn(text)).toStrictEqual(["last"]);
	});

	test("of a last message that does not fit by itself is its end", () => {
		const text = renderDigest([user(`${"x".repeat(DIGEST_CHARS)}the end`)]);
		expect(text.startsWith(`${CUT}\n\n`)).toBe(true);
		expect(text.endsWith("the end")).toBe(true);
		expect(text.length).toBe(CUT.length + 2 + DIGEST_CHARS);
	});

	test("holds the newest summary whole, however long, and what follows within the limit", () => {
		const summary = "s".repeat(3 * DIGEST_CHARS);
		const text = renderDigest([
			long("before"),
			compaction("older"),
			long("between"),
			compaction(summary),
			...Array.from({ length: 20 }, (_, index) => long(`m${index}`)),
		]);
		expect(text).toContain(`<summary>\n${summary}\n</summary>`);
		expect(text).not.toContain("older");
		expect(namesIn(text).filter((name) => name !== "summary")).toStrictEqual([
			"m13",
			"m14",
			"m15",
			"m16",
			"m17",
			"m18",
			"m19",
		]);
		expect(text.indexOf(CUT)).toBeGreaterThan(text.indexOf("</summary>"));
	});

	test("whatever there is: the parts shown are the last ones, none twice, within the limit", () => {
		const anyMessage: fc.Arbitrary<(index: number) => Message> = fc.oneof(
			fc.nat(5_000).map((length) => (index: number) => user(`<m${index}>${"u".repeat(length)}`)),
			fc.nat(5_000).map((length) => (index: number) => foreign(`<m${index}>${"a".repeat(length)}`)),
			fc.nat(9_000).map((length) => (index: number) => toolResult(`c${index}`, `<m${index}>${"r".repeat(length)}`)),
		);
		fc.assert(
			fc.property(fc.array(anyMessage, { maxLength: 12 }), (makers) => {
				const text = renderDigest(makers.map((make, index) => make(index)));
				const names = namesIn(text);
				const all = makers.map((_, index) => `m${index}`);
				expect(names).toStrictEqual(all.slice(all.length - names.length));
				expect(text.replaceAll("\n\n", "").length).toBeLessThanOrEqual(DIGEST_CHARS + CUT.length);
				if (names.length < all.length) expect(text.startsWith(CUT)).toBe(true);
			}),
			{ numRuns: 300 },
		);
	});
});
