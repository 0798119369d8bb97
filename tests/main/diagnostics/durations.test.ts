import { expect, test } from "vitest";
import { inWords, sizeInWords } from "../../../src/main/diagnostics/durations.ts";

test.each([
	[-5, "0 s"],
	[44_600, "45 s"],
	[60_000, "1 min"],
	[3_599_000, "59 min"],
	[3_600_000, "1 h"],
	[8_340_000, "2 h 19 min"],
	[86_400_000, "1 d"],
	[5.125 * 86_400_000, "5 d 3 h"],
])("%d ms is %s", (ms, words) => {
	expect(inWords(ms)).toBe(words);
});

test.each([
	[0, "0 B"],
	[999, "999 B"],
	[1_000, "1.0 KB"],
	[1_400_000, "1.4 MB"],
	[2e13, "20000.0 GB"],
])("%d bytes are %s", (bytes, words) => {
	expect(sizeInWords(bytes)).toBe(words);
});
