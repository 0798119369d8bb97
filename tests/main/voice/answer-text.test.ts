import { expect, test } from "vitest";
import { lastAnswerText, runAnswerText, userText } from "../../../src/main/voice/answer-text.ts";

const user = { role: "user", content: "a question" };
const said = (text: string, stopReason = "stop") => ({
	role: "assistant",
	content: [
		{ type: "thinking", thinking: "hm" },
		{ type: "text", text },
	],
	stopReason,
});
const call = { role: "assistant", content: [{ type: "toolCall", id: "1", name: "x" }], stopReason: "toolUse" };

test.each([
	["nothing", [], "", ""],
	["an answer", [user, said("yes")], "yes", "yes"],
	[
		"an answer before a call that says nothing",
		[user, said("let me see", "toolUse"), call],
		"let me see",
		"let me see",
	],
	["one that was stopped", [user, said("first"), user, said("half of it", "aborted")], "first", ""],
	["one that failed", [user, said("first"), said("half", "error")], "first", ""],
	["one that was cut at its limit is read as far as it goes", [user, said("long", "length")], "long", "long"],
])("%s", (_name, messages, last, ofRun) => {
	expect(lastAnswerText(messages)).toBe(last);
	expect(runAnswerText(messages)).toBe(ofRun);
});

test.each([
	["a string", user, "a question"],
	[
		"parts",
		{ role: "user", content: [{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }] },
		"a\n\nb",
	],
	["another's message", said("yes"), ""],
])("the user's words in %s", (_name, message, text) => {
	expect(userText(message)).toBe(text);
});
