/**
 * A pi session with agy played at random over many turns: every end a turn can take, and what pi and the user do in
 * between. Everything the user or another provider says bears a number of its own, by which the play finds out what agy's
 * conversation has heard.
 */
import type { AssistantMessage, Message } from "@earendil-works/pi-ai";
import fc from "fast-check";
import { Catalog } from "../../src/main/models.ts";
import { text, tool } from "./agy-events.ts";
import { MODEL } from "./pi-message.ts";
import { compaction, foreign, user } from "./pi-transcript.ts";
import type { AgyLink, ProviderStage } from "./provider-stage.ts";
import { EXIT } from "./turn-play.ts";

const ENDS = [
	"answer",
	"cards",
	"error",
	"exit",
	"exit unread",
	"exit unread twice",
	"dropped",
	"dropped twice",
	"withheld",
	"cards, exit",
	"cards, withheld",
	"stopped",
	"stopped unread",
	"stopped before it was sent",
	"given up in the cards",
] as const;

const LEVELS = ["low", "medium", "high"] as const;

type End = (typeof ENDS)[number];

export type Act =
	| {
			readonly do: "turn";
			readonly end: End;
			readonly words: number;
			readonly steers: boolean;
			/** The user changes the level after each message with cards. */
			readonly recycles: boolean;
	  }
	| { readonly do: "foreign" | "restart" | "lose" | "recycle" }
	| { readonly do: "cut" | "edit" | "compact"; readonly at: number };

export const anyAct: fc.Arbitrary<Act> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("turn" as const),
			end: fc.constantFrom(...ENDS),
			words: fc.integer({ min: 1, max: 2 }),
			steers: fc.boolean(),
			recycles: fc.boolean(),
		}),
	},
	{ weight: 2, arbitrary: fc.constantFrom("foreign", "restart", "lose").map((name) => ({ do: name }) as Act) },
	{ weight: 2, arbitrary: fc.constant<Act>({ do: "recycle" }) },
	{
		weight: 1,
		arbitrary: fc.record({ do: fc.constantFrom("cut" as const, "edit" as const, "compact" as const), at: fc.nat(12) }),
	},
);

export class SessionPlay {
	/** What went wrong, in words. */
	readonly problems: string[] = [];
	readonly #stage: ProviderStage;
	#count = 0;
	#levelChanges = 0;

	constructor(stage: ProviderStage) {
		this.#stage = stage;
		const rows = LEVELS.map((level) => ({ slug: `${MODEL.id}-${level}`, name: `Flash (${level})` }));
		stage.catalog = new Catalog(rows, true);
	}

	async act(act: Act): Promise<void> {
		const stage = this.#stage;
		switch (act.do) {
			case "turn":
				return this.#playTurn(act);
			case "foreign":
				stage.messages.push(user(this.#words()), foreign(this.#words()));
				return;
			case "restart":
				return stage.restart();
			case "recycle":
				this.#levelChanges++;
				return;
			case "lose": {
				const binding = await stage.binding();
				if (binding) stage.lost.add(binding.conversationId);
				return stage.restart();
			}
			case "cut":
				stage.messages.length = Math.min(stage.messages.length, act.at);
				return;
			case "edit":
				stage.messages = stage.messages.map((message, index) =>
					index === act.at && message.role === "user" ? user(this.#words()) : message,
				);
				return;
			case "compact":
				if (act.at < 1 || act.at > stage.messages.length) return;
				stage.messages = [compaction(this.#words()), ...stage.messages.slice(act.at)];
		}
	}

	async #playTurn({ end, words, steers, recycles }: Extract<Act, { readonly do: "turn" }>): Promise<void> {
		const stage = this.#stage;
		const abort = new AbortController();
		let prompts = 0;
		stage.onAcquire = () => {
			if (end === "stopped before it was sent") abort.abort();
		};
		stage.behave = (link, prompt) => behave(link, prompt, end, ++prompts, abort);
		for (let count = 0; count < words; count++) stage.messages.push(user(this.#words()));
		let message = await this.#ask(abort.signal);
		while (message.stopReason === "toolUse") {
			await stage.runCalls(message);
			if (end === "given up in the cards") {
				stage.provider.dropParked(stage.sessionId);
				break;
			}
			if (steers) stage.messages.push(user(this.#words()));
			if (recycles) this.#levelChanges++;
			message = await this.#ask(abort.signal);
		}
		stage.onAcquire = () => {};
		await this.#check(end, message.stopReason === "stop");
	}

	#ask(signal: AbortSignal): Promise<AssistantMessage> {
		return this.#stage.ask({
			signal,
			reasoning: LEVELS[this.#levelChanges % LEVELS.length] as (typeof LEVELS)[number],
		});
	}

	/** agy has heard what pi's transcript holds, in its order and once, but for what waits for the next prompt. */
	async #check(end: End, isWhole: boolean): Promise<void> {
		const binding = await this.#stage.binding();
		const heard = numbersIn(this.#stage.toldTo(binding?.conversationId ?? null));
		const waiting = numbersIn(binding?.undelivered.join("\n") ?? "");
		const all = [...heard, ...waiting];
		const held = this.#stage.messages.flatMap((message) => numbersIn(wordsOf(message)));
		if (isWhole ? `${all}` !== `${held}` : new Set(all).size !== all.length) {
			this.problems.push(`${end}: heard ${heard}, waiting ${waiting}, pi holds ${held}`);
		}
	}

	#words(): string {
		return `«${++this.#count}»`;
	}
}

/** What agy does with the prompt of a turn, and with those that follow in it or take its place. */
function behave(link: AgyLink, prompt: string, end: End, count: number, abort: AbortController): void {
	if (count > 1 && !end.endsWith("twice")) {
		link.answer(prompt);
		return;
	}
	switch (end) {
		case "answer":
		case "stopped before it was sent":
			link.answer(prompt);
			return;
		case "exit unread":
		case "exit unread twice":
			link.end(EXIT);
			return;
		case "dropped":
		case "dropped twice":
			link.print(link.result());
			return;
		case "stopped unread":
			abort.abort();
			return;
		default:
			link.read(prompt);
	}
	switch (end) {
		case "error":
			link.print(link.result({ status: "ERROR", error: "something new" }));
			return;
		case "exit":
			link.end(EXIT);
			return;
		case "withheld":
			link.print({ kind: "withheld-answer", step: 9, text: "up" });
			return;
		case "stopped":
			link.print(text("half", 3));
			abort.abort();
			return;
	}
	link.print(tool(5, "done"));
	if (end === "cards, exit") setImmediate(() => link.end(EXIT));
	else if (end === "cards, withheld") link.print({ kind: "withheld-answer", step: 9, text: "up" });
	else link.print(text("done", 7), tool(8, "done"), text("well", 9), link.result());
}

function wordsOf(message: Message): string {
	return message.role === "user" || (message.role === "assistant" && message.provider !== "antigravity")
		? JSON.stringify(message.content)
		: "";
}

function numbersIn(words: string): readonly number[] {
	return [...words.matchAll(/«(\d+)»/g)].map((match) => Number(match[1]));
}
