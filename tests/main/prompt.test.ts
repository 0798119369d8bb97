import type { Message, TranscriptContext } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import { toRequest, toSidePrompt } from "../../src/main/prompt.ts";

const user = (content: unknown) => ({ role: "user", content, timestamp: 0 }) as Message;
const assistant = (text = "ok") => ({ role: "assistant", content: [{ type: "text", text }] }) as unknown as Message;
const toolResult = (toolCallId: string) => ({ role: "toolResult", toolCallId, content: [] }) as unknown as Message;
const system = (content: string) => ({ role: "system", content, timestamp: 0 }) as Message;

describe("what the user side said since agy's last message", () => {
	test.each<[string, Message[], string, string[]]>([
		["a first message", [user("Hi.")], "Hi.", []],
		["only what is new", [user("Hi."), assistant(), user("Again.")], "Again.", []],
		["several, in order", [assistant(), user("One."), user("Two.")], "One.\n\nTwo.", []],
		["results of calls", [user("Hi."), assistant(), toolResult("1"), toolResult("2")], "", ["1", "2"]],
		["results and what was typed meanwhile", [assistant(), toolResult("1"), user("Use tabs.")], "Use tabs.", ["1"]],
		["nothing after an answer", [user("Hi."), assistant()], "", []],
		["nothing at all", [], "", []],
		["an empty message among others", [user(""), user("Hi."), user("")], "Hi.", []],
		["old results are not new", [assistant(), toolResult("1"), assistant(), user("Hi.")], "Hi.", []],
	])("%s", (_name, messages, prompt, toolResultIds) => {
		expect(toRequest(messages)).toMatchObject({ prompt, toolResultIds });
	});

	test("blocks of text are lines, an image is named", () => {
		const { prompt } = toRequest([
			user([
				{ type: "text", text: "Look:" },
				{ type: "image", mimeType: "image/png", data: "…" },
				{ type: "text", text: "What is it?" },
			]),
		]);
		expect(prompt).toBe("Look:\n[An image (image/png) was attached here; agy was not given it.]\nWhat is it?");
	});
});

describe("a side request", () => {
	const prompt = (messages: readonly Message[]) => toSidePrompt({ messages } as unknown as TranscriptContext);

	test("brings its instructions along", () => {
		expect(prompt([system("Summarise."), user("Text.")])).toBe("Summarise.\n\nText.");
	});

	test("without instructions is its text", () => {
		expect(prompt([user("Text.")])).toBe("Text.");
	});
});
