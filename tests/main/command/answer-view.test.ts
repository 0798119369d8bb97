import type { Theme } from "@earendil-works/pi-coding-agent";
import { visibleWidth } from "@earendil-works/pi-tui";
import { describe, expect, test } from "vitest";
import { AnswerView, hang } from "../../../src/main/command/answer-view.ts";

describe("a line", () => {
	test.each([
		["that fits", "engine    stream-json", 30, ["engine    stream-json"]],
		["with a label", "engine    one two three four", 20, ["engine    one two", "          three four"]],
		["with a label of two words", "pi's tools  one two three", 20, ["pi's tools  one two", "  three"]],
		["that is indented", "    one two three four", 14, ["    one two", "    three four"]],
		["of words alone", "one two three four", 8, ["one two", "three", "four"]],
		["with a word that is too long", "a  0123456789abcdef", 10, ["a  ", "   0123456", "   789abcd", "   ef"]],
		["of wide letters", "日本  日本語 日本語 日本語", 14, ["日本  日本語", "      日本語", "      日本語"]],
		["with nothing", "", 5, [""]],
	])("%s", (_name, line, width, lines) => {
		expect(hang(line, width).map((part) => part.trimEnd())).toStrictEqual(lines.map((part) => part.trimEnd()));
	});

	test.each([1, 2, 3, 7, 20, 41, 80])("is never wider than %d columns, and loses no word", (width) => {
		const line = "workers         decode lane 1: thread 1, 1 link, 50 events in 44 frames, 10.9 KB read, 2.0 % busy";
		const shown = hang(line, width);
		expect(Math.max(...shown.map(visibleWidth))).toBeLessThanOrEqual(width);
		expect(shown.join("").replaceAll(/\s/g, "")).toBe(line.replaceAll(/\s/g, ""));
	});
});

test("an answer stands below its command, in the colour of its level, within the width", () => {
	const theme = {
		fg: (color: string, text: string) => (color === "toolTitle" ? text : `${color}|${text}`),
		bold: (text: string) => text,
	};
	const view = new AnswerView(
		{ command: "/agy doctor", text: "healthy\n\nagy  one two", level: "warning" },
		theme as unknown as Theme,
	);
	expect(view.render(12)).toStrictEqual([
		" /agy",
		" doctor",
		" warning|healthy",
		" warning|",
		" warning|agy  one",
		" warning|     two",
	]);
});
