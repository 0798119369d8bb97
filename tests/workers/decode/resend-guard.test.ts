import { describe, expect, test } from "vitest";
import { RESEND_MAX_CHARS, RESEND_MIN_CHARS } from "../../../src/shared/limits.ts";
import { ResendGuard } from "../../../src/workers/decode/resend-guard.ts";

const START = "The quick brown fox jumps over the lazy dog";
const LINE = "-".repeat(RESEND_MIN_CHARS);

function pass(pieces: readonly string[]): readonly string[] {
	const guard = new ResendGuard();
	return pieces.map((piece) => guard.newPart(1, piece));
}

describe("of the pieces of one step", () => {
	test.each<{ name: string; pieces: readonly string[]; passes: readonly string[] }>([
		{ name: "increments pass", pieces: ["The ", "quick ", "fox"], passes: ["The ", "quick ", "fox"] },
		{
			name: "only the tail of a whole text passes",
			pieces: [START, `${START}, and`, `${START}, and runs`],
			passes: [START, ", and", " runs"],
		},
		{
			name: "a whole text between increments loses what was said",
			pieces: [START.slice(0, 20), START.slice(20), `${START}!`, " Then", " more"],
			passes: [START.slice(0, 20), START.slice(20), "!", " Then", " more"],
		},
		{
			name: "a whole text after increments of a resent text loses what was said",
			pieces: [START, `${START}!`, " Then", `${START}! Then more`],
			passes: [START, "!", " Then", " more"],
		},
		{
			name: "whole texts that began small pass until they are long enough to tell",
			pieces: ["The", "The quick", START, `${START}!`, `${START}! Yes`],
			passes: ["The", "The quick", START, "!", " Yes"],
		},
		{
			name: "a whole text with nothing new passes nothing, once they are known to be sent",
			pieces: [START, `${START}!`, `${START}!`],
			passes: [START, "!", ""],
		},
		{
			name: "a short text that repeats itself passes",
			pieces: ["ha", "haha", "hahaha"],
			passes: ["ha", "haha", "hahaha"],
		},
		{ name: "a long text that repeats itself passes", pieces: [START, START], passes: [START, START] },
		{
			name: "a repetition shorter than what was said passes",
			pieces: [LINE, "\n| a |\n", `${LINE}\n| b |\n`, `${LINE}\n`],
			passes: [LINE, "\n| a |\n", `${LINE}\n| b |\n`, `${LINE}\n`],
		},
		{
			name: "one character less than it takes is no resend",
			pieces: [LINE.slice(1), `${LINE.slice(1)} and on`],
			passes: [LINE.slice(1), `${LINE.slice(1)} and on`],
		},
		{ name: "exactly what it takes is one", pieces: [LINE, `${LINE} and on`], passes: [LINE, " and on"] },
		{
			name: "another text of the same length passes",
			pieces: [START, `${START.slice(0, -1)}t and on`],
			passes: [START, `${START.slice(0, -1)}t and on`],
		},
	])("$name", ({ pieces, passes }) => {
		expect(pass(pieces)).toStrictEqual(passes);
	});
});

test("an answer that came in pieces for long is not compared any more", () => {
	const guard = new ResendGuard();
	const long = "0123456789".repeat(RESEND_MAX_CHARS / 8);
	for (const piece of [long, "a", "b"]) expect(guard.newPart(1, piece)).toBe(piece);
	expect(guard.newPart(1, `${long}ab and on`)).toBe(`${long}ab and on`);
	expect(guard.newPart(2, START)).toBe(START);
	expect(guard.newPart(2, `${START}!`)).toBe("!");
});

test("another step is another text", () => {
	const guard = new ResendGuard();
	expect(guard.newPart(1, START)).toBe(START);
	expect(guard.newPart(2, `${START}!`)).toBe(`${START}!`);
});

test("so is the same number after its end", () => {
	const guard = new ResendGuard();
	expect(guard.newPart(1, START)).toBe(START);
	guard.end();
	expect(guard.newPart(1, `${START}!`)).toBe(`${START}!`);
});
