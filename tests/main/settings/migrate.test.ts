import { expect, test } from "vitest";
import { migrate, SETTINGS_VERSION } from "../../../src/main/settings/migrate.ts";

test.each<[string, object, object]>([
	["an empty file", {}, {}],
	["a file without a version", { mode: "plan", later: 1 }, { mode: "plan", later: 1 }],
	["a file of version 1", { version: 1, extraArgs: " --a  b " }, { extraArgs: ["--a", "b"] }],
	[
		"each setting that holds arguments",
		{
			voiceCommand: "a b",
			voiceInput: "c",
			voiceRecorder: "d",
			voiceOutput: "e",
			voiceSpeakCommand: "f",
			voicePlayer: "g",
		},
		{
			...{ voiceCommand: ["a", "b"], voiceInput: ["c"], voiceRecorder: ["d"], voiceOutput: ["e"] },
			...{ voiceSpeakCommand: ["f"], voicePlayer: ["g"] },
		},
	],
	["what is no text", { extraArgs: ["a b"], voiceCommand: 7 }, { extraArgs: ["a b"], voiceCommand: 7 }],
])("%s becomes one of today", (_name, file, expected) => {
	expect(migrate(file as never)).toStrictEqual({
		file: { ...expected, version: SETTINGS_VERSION },
		isNewer: false,
		problem: "",
	});
});

test("a file of today is left as it is, also with arguments as text", () => {
	const file = { version: SETTINGS_VERSION, extraArgs: "--a b" };
	expect(migrate(file)).toStrictEqual({ file, isNewer: false, problem: "" });
});

test("a file of a newer version keeps its version and its content", () => {
	const file = { version: SETTINGS_VERSION + 7, extraArgs: "--a b", later: true };
	expect(migrate(file)).toStrictEqual({ file, isNewer: true, problem: "" });
});

test.each([["two"], [0], [-1], [1.5], [null], [[]], [{}]])("version %j is none, and is said", (version) => {
	const { file, isNewer, problem } = migrate({ version, voiceInput: "a b" } as never);
	expect([file, isNewer]).toStrictEqual([{ version: SETTINGS_VERSION, voiceInput: ["a", "b"] }, false]);
	expect(problem === "").toBe(version === null); // null is the same as none
});

test("what was read is not changed", () => {
	const file = Object.freeze({ version: 1, extraArgs: "--a b" });
	migrate(file);
	expect(file).toStrictEqual({ version: 1, extraArgs: "--a b" });
});
