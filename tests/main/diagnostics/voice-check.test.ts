import { chmodSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { loadConfig } from "../../../src/main/config.ts";
import { voiceProblemsOf } from "../../../src/main/diagnostics/voice-check.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();

const problemsWith = (env: Readonly<Record<string, string>>) =>
	voiceProblemsOf(loadConfig({ PI_CODING_AGENT_DIR: folder.path, PATH: folder.path, ...env }));

test("what nobody has set up is no problem", async () => {
	expect(await problemsWith({})).toStrictEqual([]);
	expect(await problemsWith({ AGY_VOICE_TRANSCRIBER: "gemini", AGY_VOICE_COMMAND: "no-such-program" })).toStrictEqual(
		[],
	);
});

test.each([
	[
		"an ffmpeg that is not there",
		{ AGY_VOICE_FFMPEG: "/no/ffmpeg" },
		/^voiceFfmpeg is \/no\/ffmpeg, which does not exist\. .*\/agy reset voiceFfmpeg/,
	],
	[
		"a program that is not there",
		{ AGY_VOICE_COMMAND: "no-such-program {file}" },
		/^voiceCommand starts no-such-program, which/,
	],
	["no program at all", { AGY_VOICE_TRANSCRIBER: "command" }, /voiceCommand is not set/],
])("%s is told", async (_what, env, message) => {
	expect(await problemsWith(env)).toStrictEqual([expect.stringMatching(message)]);
});

test("what is set up and can be run is no problem", async () => {
	const program = folder.at("program");
	writeFileSync(program, "#!/bin/sh\n");
	chmodSync(program, 0o755);
	expect(await problemsWith({ AGY_VOICE_FFMPEG: program, AGY_VOICE_COMMAND: "program {file}" })).toStrictEqual([]);
});
