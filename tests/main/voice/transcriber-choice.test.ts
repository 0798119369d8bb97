import { expect, test } from "vitest";
import { transcriberNameOf } from "../../../src/main/voice/transcriber-choice.ts";

test.each([
	["auto", ["whisper"], true, "command"],
	["auto", ["whisper"], false, "command"],
	["auto", [], true, "gemini"],
	["auto", [], false, "agy"],
	["gemini", ["whisper"], false, "gemini"],
	["agy", ["whisper"], true, "agy"],
	["command", [], true, "command"],
] as const)("%s, with the command %j and a key: %s, is %s", (transcriber, command, hasKey, name) => {
	expect(transcriberNameOf({ transcriber, command }, hasKey)).toBe(name);
});
