import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { requireTranscriptionProgram } from "../../../src/main/voice/readiness.ts";
import { writeScript } from "../../support/executables.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();

test("a program that can be run, by its path or its name", async () => {
	const path = writeScript(folder.at("whisper"), "true");
	await requireTranscriptionProgram([path, "{file}"], []);
	await requireTranscriptionProgram(["whisper", "{file}"], ["/nowhere", folder.path]);
});

test.each([
	["none", () => [], /voiceTranscriber is command, but voiceCommand is not set/],
	[
		"a name that is nowhere",
		() => ["no-such-whisper"],
		/voiceCommand starts no-such-whisper, which is in no folder of PATH/,
	],
	["a path that is nowhere", () => [folder.at("gone")], /which does not exist\. Correct voiceCommand/],
	["a folder", () => [folder.path], /which is no file/],
	[
		"a file that is no program",
		() => {
			writeFileSync(folder.at("model.bin"), "", { mode: 0o600 });
			return [folder.at("model.bin")];
		},
		/which is not executable/,
	],
])("%s is refused with the setting to change", async (_name, command, message) => {
	await expect(requireTranscriptionProgram(command(), [folder.path])).rejects.toThrow(message);
});
