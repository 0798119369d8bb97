/** What is remembered of a conversation when pi dies in the middle of a turn: the next pi opens it from the same files. */
import type { Message } from "@earendil-works/pi-ai";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Conversation } from "../../src/main/conversation.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { SessionBindings } from "../../src/main/sessions.ts";
import { Spill } from "../../src/main/spill.ts";
import { Folder } from "../support/folder.ts";
import { call, OWN, own, toolResult, user } from "../support/pi-transcript.ts";

const folder = new Folder();
let bindings: SessionBindings;

beforeEach(startPi);
afterEach(() => bindings.settled());

/** All that a pi which died had not written down is gone. */
function startPi(): void {
	bindings = new SessionBindings(new JsonStore(folder.at("sessions.json")), (error) => {
		throw error;
	});
}

function open(messages: readonly Message[], isFresh = false): Promise<Conversation> {
	return Conversation.open(
		{
			key: { sessionId: "s1", engineId: "stream-json", cwd: "/srv/demo" },
			bindings,
			spill: new Spill(folder.at("spill")),
			providerId: OWN,
			digest: false,
			inlineInstructions: "",
			encode: (text) => text,
		},
		messages,
		isFresh,
	);
}

const hello = user("Hello.");
const answer = own("Hi.");

/** A conversation that has answered once. */
async function answered(): Promise<void> {
	const conversation = await open([hello]);
	conversation.submitted();
	conversation.named("c1");
	conversation.read("");
	conversation.said(answer);
	conversation.ended([], null);
	await bindings.settled();
}

test.each([
	["that agy was not seen to read is told again", false, "Do this.\n\nAnd this."],
	["that agy has read is not", true, "And this."],
])("a prompt %s", async (_name, isRead, expected) => {
	await answered();
	const conversation = await open([hello, answer, user("Do this.")]);
	conversation.submitted();
	conversation.named("c1");
	if (isRead) conversation.read("");
	await bindings.settled();

	startPi();
	const next = await open([hello, answer, user("Do this."), user("And this.")]);
	expect(next.resumes).toBe("c1");
	expect(await next.compose()).toBe(expected);
});

test("the first prompt of a conversation that agy has named and not read is told again in it", async () => {
	const conversation = await open([hello]);
	conversation.submitted();
	conversation.named("c1");
	await bindings.settled();

	startPi();
	const next = await open([hello, user("Still there?")]);
	expect(next.resumes).toBe("c1");
	expect(await next.compose()).toBe("Hello.\n\nStill there?");
});

test("a conversation that agy started instead of the one asked for is not trusted, read or not", async () => {
	await answered();
	const conversation = await open([hello, answer, user("Do this.")]);
	conversation.submitted();
	expect(conversation.named("c2")).toBe(false);
	await bindings.settled();

	startPi();
	const next = await open([hello, answer, user("Do this."), user("And this.")]);
	expect(next.resumes).toBeNull();
	expect(next.rebuildReason).not.toBe("");
});

test.each([
	["that agy was not seen to read goes with the next prompt", ["One."], "Two.\n\nGo on."],
	["that agy has read does not", ["One.", "Two."], "Go on."],
])("what the user said during a turn and %s", async (_name, read, expected) => {
	const conversation = await open([hello]);
	conversation.submitted();
	conversation.named("c1");
	conversation.read("");
	const messages: Message[] = [hello];
	for (const [index, words] of ["One.", "Two."].entries()) {
		const card = own("", { content: [call(`c${index}`)], stopReason: "toolUse", timestamp: 100 + index });
		conversation.said(card);
		messages.push(card, toolResult(`c${index}`), user(words));
		expect((await conversation.follow(messages)).followUp).toBe(words);
	}
	for (const words of read) conversation.read(words);
	await bindings.settled();

	startPi();
	const next = await open([...messages, user("Go on.")]);
	expect(next.resumes).toBe("c1");
	expect(await next.compose()).toBe(expected);
});

test("a prompt that agy never read is as if it had not been sent", async () => {
	await answered();
	const conversation = await open([hello, answer, user("Do this.")]);
	conversation.submitted();
	conversation.named("c1");
	conversation.revert();
	expect(await (await open([hello, answer, user("Do this.")])).compose()).toBe("Do this.");
});
