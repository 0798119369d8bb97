/** What a mistyped word probably meant. */

import { expect, test } from "vitest";
import { nearest } from "../../../src/main/command/nearest.ts";

const WORDS = ["doctor", "engine", "mode", "model", "voice", "quota", "tools", "timeout", "uninstall"];

test.each([
	["docotr", "doctor"],
	["doctr", "doctor"],
	["doc", "doctor"],
	["engin", "engine"],
	["modle", "mode"],
	["voicee", "voice"],
	["unistall", "uninstall"],
	["status", null],
	["x", null],
	["", null],
	["completely-else", null],
])("%s means %s", (word, meant) => {
	expect(nearest(word, WORDS)).toBe(meant);
});
