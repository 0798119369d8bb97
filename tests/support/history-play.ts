/**
 * A pi session played at random, with a plain model beside it: the messages that agy's conversation has been told, kept
 * as they are. The history proof, which keeps a hash of them alone, must come to the same.
 */
import type { Message, UserMessage } from "@earendil-works/pi-ai";
import fc from "fast-check";
import { type HistoryPlan, planHistory, type Told, tellOwn } from "../../src/main/history.ts";
import { call, compaction, foreign, OWN, own, system, toolResult, user } from "./pi-transcript.ts";

/** `lose`: agy's conversation is lost. */
type PlainAct = "user" | "twin" | "system" | "foreign" | "foreign-tool" | "drop-failed" | "lose";

export type Act =
	| { readonly do: PlainAct }
	/** A turn of agy's with so many cards; the user speaks after those of `steered`. */
	| { readonly do: "turn"; readonly cards: number; readonly steered: readonly boolean[] }
	| { readonly do: "failed-turn"; readonly isSubmitted: boolean; readonly stop: "error" | "aborted" }
	/** pi goes back to an earlier point, changes a message, puts a summary in place of the beginning. */
	| { readonly do: "cut" | "edit" | "compact"; readonly at: number };

const plain = (...names: PlainAct[]): fc.Arbitrary<Act> => fc.constantFrom(...names).map((name) => ({ do: name }));

export const anyAct: fc.Arbitrary<Act> = fc.oneof(
	{ weight: 6, arbitrary: plain("user", "user", "user", "twin", "system") },
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("turn" as const),
			cards: fc.nat(3),
			steered: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("failed-turn" as const),
			isSubmitted: fc.boolean(),
			stop: fc.constantFrom("error" as const, "aborted" as const),
		}),
	},
	{ weight: 3, arbitrary: plain("foreign", "foreign-tool", "drop-failed") },

	{
		weight: 2,
		arbitrary: fc.record({ do: fc.constantFrom("cut" as const, "edit" as const, "compact" as const), at: fc.nat(30) }),
	},
	{ weight: 1, arbitrary: plain("lose") },
);

type Conversation = {
	readonly told: Told;
	/** Everything agy heard or said, in order. */
	readonly heard: readonly Message[];
};

export class HistoryPlay {
	#messages: Message[] = [];
	#conversation: Conversation | null = null;
	#count = 0;
	/** What went wrong, in words. */
	readonly problems: string[] = [];
	/** How often a conversation went on, was topped up and was built anew. */
	readonly seen = { extended: 0, toppedUp: 0, rebuilt: 0 };

	act(act: Act): void {
		switch (act.do) {
			case "user":
				this.#messages.push(user(`words ${++this.#count}`));
				return;
			case "twin": // Says what was said before, word for word.
				this.#messages.push(user("yes"));
				return;
			case "system":
				this.#messages.push(system(`prompt ${++this.#count}`));
				return;
			case "foreign":
				this.#messages.push(foreign(`foreign ${++this.#count}`));
				return;
			case "foreign-tool": {
				const id = `f${++this.#count}`;
				this.#messages.push(
					foreign("", { content: [call(id)], stopReason: "toolUse" }),
					toolResult(id, `result of ${id}`),
				);
				return;
			}
			case "turn":
				this.#playTurn(act.cards, act.steered);
				return;
			case "failed-turn":
				if (act.isSubmitted) this.#tell();
				this.#messages.push(own("half an answer", { stopReason: act.stop }));
				return;
			case "drop-failed":
				this.#messages = this.#messages.filter((message) => !isFailed(message));
				return;
			case "cut":
				this.#messages.length = Math.min(this.#messages.length, act.at);
				return;
			case "edit":
				this.#messages = this.#messages.map((message, index) =>
					index === act.at && message.role === "user" ? user(`edited ${++this.#count}`) : message,
				);
				return;
			case "compact":
				if (act.at < 1 || act.at > this.#messages.length) return;
				this.#messages = [compaction(`summary ${++this.#count}`), ...this.#messages.slice(act.at)];
				return;
			case "lose":
				this.#conversation = null;
		}
	}

	#playTurn(cards: number, steered: readonly boolean[]): void {
		this.#tell();
		for (let card = 0; card < cards; card++) {
			const id = `card-${++this.#count}`;
			this.#say(own("", { content: [call(id)], stopReason: "toolUse" }));
			this.#messages.push(toolResult(id));
			if (steered[card]) this.#messages.push(user(`steering ${this.#count}`));
			this.#follow();
		}
		this.#say(own("done"));
	}

	/** A prompt: what the conversation hears, or another one. */
	#tell(): void {
		const before = this.#conversation;
		const plan = planHistory(this.#messages, OWN, before?.told ?? null);
		const expected = before !== null && startsWith(knownOf(this.#messages), before.heard);
		if (plan.extends !== expected) this.#report(`extends is ${plan.extends}`);
		if ((plan.reason === "") !== plan.extends) this.#report(`the reason is "${plan.reason}"`);
		const known = plan.extends && before ? before.heard : [];
		this.seen[!plan.extends ? "rebuilt" : plan.context.length > 0 ? "toppedUp" : "extended"]++;
		this.#conversation = { told: plan.told, heard: [...known, ...plan.context, ...plan.prompt] };
		this.#check(plan);
	}

	/** pi's next request within a turn. */
	#follow(): void {
		const before = this.#conversation;
		if (!before) return;
		const plan = planHistory(this.#messages, OWN, before.told);
		if (!plan.extends) this.#report("a turn's own messages broke the proof");
		if (plan.context.length > 0) this.#report("a turn's own messages are told to agy");
		this.#conversation = { told: plan.told, heard: [...before.heard, ...plan.prompt] };
		this.#check(plan);
	}

	#say(message: Extract<Message, { role: "assistant" }>): void {
		this.#messages.push(message);
		const before = this.#conversation;
		if (before) this.#conversation = { told: tellOwn(before.told, message), heard: [...before.heard, message] };
	}

	/** agy has heard exactly what pi's transcript holds, in its order; what is said now is the user's, last. */
	#check(plan: HistoryPlan): void {
		const heard = this.#conversation?.heard ?? [];
		const known = knownOf(this.#messages);
		if (heard.length !== known.length || !startsWith(heard, known)) {
			this.#report(`agy heard ${heard.length} messages of ${known.length}`);
		}
		const lastReply = known.findLastIndex((message) => message.role !== "user");
		const isLast = (message: UserMessage) => known.indexOf(message) > lastReply;
		if (!plan.prompt.every(isLast)) this.#report("a prompt of what was answered before");
	}

	#report(problem: string): void {
		this.problems.push(`message ${this.#messages.length}: ${problem}`);
	}
}

/** What agy has to know, said in another way than in the source. */
function knownOf(messages: readonly Message[]): readonly Message[] {
	const isOwnCall = (id: string) =>
		messages.some(
			(message) =>
				message.role === "assistant" &&
				message.provider === OWN &&
				message.content.some((block) => block.type === "toolCall" && block.id === id),
		);
	return messages.filter(
		(message) =>
			message.role !== "system" &&
			!isFailed(message) &&
			!(message.role === "toolResult" && isOwnCall(message.toolCallId)),
	);
}

function isFailed(message: Message): boolean {
	return (
		message.role === "assistant" &&
		message.provider === OWN &&
		(message.stopReason === "error" || message.stopReason === "aborted")
	);
}

function startsWith(messages: readonly Message[], start: readonly Message[]): boolean {
	return start.every((message, index) => isSame(messages[index], message));
}

function isSame(a: Message | undefined, b: Message): boolean {
	if (a?.role === "assistant" && a.provider === OWN) return b.role === "assistant" && a.timestamp === b.timestamp;
	if (b.role === "assistant" && b.provider === OWN) return false;
	return a !== undefined && a.role === b.role && JSON.stringify(a.content) === JSON.stringify(b.content);
}
