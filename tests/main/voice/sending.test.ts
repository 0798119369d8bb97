/** What becomes of words that are sent, by what pi does with them. pi is an object here: a real one is in no state for long. */
import { expect, test } from "vitest";
import { type Agent, Sending } from "../../../src/main/voice/sending.ts";
import { within } from "../../support/condition.ts";

type State = { refusal: string | null; isIdle: boolean; hasQueue: boolean; editorText: string; prompts: string[] };

function agentIn(state: Partial<State>, onPrompt: (state: State) => void = () => {}): { agent: Agent; state: State } {
	const whole: State = { refusal: null, isIdle: true, hasQueue: false, editorText: "", prompts: [], ...state };
	const agent: Agent = {
		refusal: () => whole.refusal,
		isIdle: () => whole.isIdle,
		hasQueue: () => whole.hasQueue,
		editorText: () => whole.editorText,
		prompt: (text) => {
			whole.prompts.push(text);
			onPrompt(whole);
		},
	};
	return { agent, state: whole };
}

const never = new AbortController().signal;
const sent = (sending: Sending, signal = never) =>
	within("what became of the words", sending.send("the words", signal));

test("a prompt that would be refused is not made", async () => {
	const { agent, state } = agentIn({ refusal: "pi has no model." });
	expect(await sent(new Sending(agent))).toBe("pi has no model.");
	expect(state.prompts).toStrictEqual([]);
});

test("a run that begins with them has taken them", async () => {
	const { agent } = agentIn({}, (state) => {
		state.isIdle = false;
		queueMicrotask(() => sending.started("the words"));
	});
	const sending = new Sending(agent);
	expect(await sent(sending)).toBeNull();
});

test("a queue that was empty has taken them", async () => {
	const { agent } = agentIn({ isIdle: false }, (state) => {
		state.hasQueue = true;
	});
	expect(await sent(new Sending(agent))).toBeNull();
});

test("a run with other words, a queue of others: what pi does nothing with is told once it is idle", async () => {
	const { agent } = agentIn({ isIdle: false, hasQueue: true }, (state) => {
		sending.started("something else");
		setTimeout(() => {
			state.isIdle = true;
		}, 100);
	});
	const sending = new Sending(agent);
	expect(await sent(sending)).toBe("pi did not take the words.");
});

test("a queue that pi gave back to the editor is not given there twice", async () => {
	const { agent } = agentIn({ isIdle: false, hasQueue: true }, (state) => {
		Object.assign(state, { isIdle: true, hasQueue: false, editorText: "mine\n\nthe words" });
	});
	expect(await sent(new Sending(agent))).toBeNull();
});

test("the end of the session ends the wait", async () => {
	const ended = new AbortController();
	const { agent } = agentIn({ isIdle: false }, () => queueMicrotask(() => ended.abort(new Error("over"))));
	await expect(sent(new Sending(agent), ended.signal)).rejects.toThrow(/over|abort/);
});
