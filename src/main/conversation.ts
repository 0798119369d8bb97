/**
 * A pi session's conversation with agy, for one turn: what it has been told, what it is told now, and what is remembered
 * of it afterwards. It goes on where pi's transcript only grew; else it is given up and a fresh one is told everything.
 */

import { createHash } from "node:crypto";
import type { Message, UserMessage } from "@earendil-works/pi-ai";
import type { TokenUsage } from "../shared/events.ts";
import { renderDigest, renderTranscript } from "./digest.ts";
import { type HistoryPlan, NOTHING_TOLD, planHistory, type Told, tellOwn } from "./history.ts";
import { composePrompt, renderUserMessages, type Section, toFileSection } from "./prompt.ts";
import type { Binding, SessionBindings, SessionKey } from "./sessions.ts";
import type { Spill } from "./spill.ts";

export type ConversationOptions = {
	readonly key: SessionKey;
	readonly bindings: SessionBindings;
	readonly spill: Spill;
	readonly providerId: string;
	/** What agy missed goes beside the prompt, shortened, instead of into a file. */
	readonly digest: boolean;
	/** pi's instructions when they have to ride on the prompt; "" otherwise. */
	readonly inlineInstructions: string;
	readonly encode: (text: string) => string;
};

type Knowledge = Omit<Binding, "conversationId">;

const GO_ON = "Go on with what was asked before; the last attempt did not finish.";
/** Equals no transcript, so that the next turn rebuilds. */
const UNPROVABLE: Told = { count: 0, hash: "unprovable" };
const CHARS_PER_TOKEN = 3.5;

export class Conversation {
	readonly #options: ConversationOptions;
	readonly #messages: readonly Message[];
	#before: Binding | null;
	#plan: HistoryPlan;
	/** What agy will know with the prompt, and what it is known to know without. */
	#state: Knowledge;
	#stateUnread: Knowledge;
	/** Stands in no transcript: a fresh conversation is told it too. */
	readonly #deferred: string[] = [];
	#isRead = false;
	#conversationId: string | null;

	private constructor(options: ConversationOptions, messages: readonly Message[], before: Binding | null) {
		this.#options = options;
		this.#messages = messages;
		this.#before = before;
		this.#plan = planHistory(messages, options.providerId, before?.told ?? null);
		if (!this.#plan.extends) this.#before = null;
		this.#conversationId = this.#before?.conversationId ?? null;
		this.#state = stateOf(this.#before);
		this.#stateUnread = this.#state;
	}

	/** The session's conversation as this transcript needs it; `isFresh` gives up the one there is. */
	static async open(
		options: ConversationOptions,
		messages: readonly Message[],
		isFresh: boolean,
	): Promise<Conversation> {
		const before = isFresh ? null : await options.bindings.find(options.key);
		return new Conversation(options, messages, before);
	}

	/** What agy is asked to resume; null starts a fresh conversation. */
	get resumes(): string | null {
		return this.#before?.conversationId ?? null;
	}

	/** Why a conversation with a history could not go on; "" when it can, or there is none. */
	get rebuildReason(): string {
		return this.#plan.context.length === 0 ? "" : this.#plan.reason;
	}

	/** agy's counters before the turn; null when unknown. */
	get usageBefore(): TokenUsage | null {
		return this.#before === null ? { input: 0, output: 0, thinking: 0, cacheRead: 0 } : this.#before.usage;
	}

	/** The conversation cannot be had: starts a fresh one instead. */
	giveUp(): void {
		this.#before = null;
		this.#conversationId = null;
		// Whoever gives up says why.
		this.#plan = { ...planHistory(this.#messages, this.#options.providerId, null), reason: "" };
		this.#state = { ...stateOf(null), undelivered: this.#deferred };
		this.#stateUnread = this.#state;
	}

	/** Something beside the user's words that the next prompt has to tell. */
	defer(text: string): void {
		const add = (state: Knowledge): Knowledge => ({ ...state, undelivered: [...state.undelivered, text] });
		this.#deferred.push(text);
		this.#state = add(this.#state);
		this.#stateUnread = add(this.#stateUnread);
	}

	/** The prompt that tells agy what it does not know. */
	async compose(): Promise<string> {
		const { encode, spill } = this.#options;
		const { context, prompt } = this.#plan;
		const undelivered = this.#state.undelivered.join("\n\n");
		const hasContext = context.length > 0; // It happened after what is undelivered.
		const sections = [
			...this.#instructionSections(),
			...(hasContext ? [userSection(undelivered)] : []),
			...(await this.#contextSections()),
			await this.#userSection(hasContext ? "" : undelivered, prompt),
		];
		return composePrompt(sections, encode, spill);
	}

	/** The prompt is about to be written. */
	submitted(): void {
		const { inlineInstructions } = this.#options;
		this.#state = {
			...this.#state,
			told: this.#plan.told,
			undelivered: [],
			instructions: inlineInstructions === "" ? this.#state.instructions : hashOf(inlineInstructions),
		};
	}

	/**
	 * agy has shown that it has the prompt, or `followUp` when that is not "". Only now is it written down as told: a pi
	 * that dies before tells it again.
	 */
	read(followUp: string): void {
		this.#isRead = true;
		const at = this.#state.undelivered.indexOf(followUp);
		if (at >= 0) this.#state = { ...this.#state, undelivered: this.#state.undelivered.toSpliced(at, 1) };
		this.#save();
	}

	/** agy never read the prompt: back to what it knew before. */
	revert(): void {
		const before = this.#before;
		this.forget();
		if (before) this.#options.bindings.bind(this.#options.key, before);
	}

	/** agy named the conversation. False when it is another than the one asked for: it does not know the history. */
	named(conversationId: string): boolean {
		const isExpected = this.#conversationId === null || this.#conversationId === conversationId;
		if (this.#conversationId === conversationId) return true;
		this.#conversationId = conversationId;
		if (!isExpected) {
			this.#state = { ...this.#state, told: UNPROVABLE, usage: null };
			this.#stateUnread = { ...this.#stateUnread, told: UNPROVABLE, usage: null };
		}
		this.#save();
		return isExpected;
	}

	/** A pi message of agy's is complete. */
	said(message: { readonly timestamp: number }): void {
		this.#state = { ...this.#state, told: tellOwn(this.#state.told, message) };
		this.#save();
	}

	/**
	 * The transcript of pi's next request within the turn: what the user said meanwhile ("" for nothing), and the size of
	 * the context as pi sees it when pi has compacted behind agy's back (null otherwise).
	 */
	async follow(
		messages: readonly Message[],
	): Promise<{ readonly followUp: string; readonly compactedTokens: number | null }> {
		const { providerId, encode, spill } = this.#options;
		const plan = planHistory(messages, providerId, this.#state.told);
		const text = await renderUserMessages(plan.prompt, spill);
		const followUp = text === "" ? "" : await composePrompt([userSection(text)], encode, spill);
		const undelivered = followUp === "" ? this.#state.undelivered : [...this.#state.undelivered, followUp];
		this.#state = { ...this.#state, told: plan.extends ? plan.told : UNPROVABLE, undelivered };
		this.#save();
		const compactedTokens = plan.extends ? null : Math.ceil(renderTranscript(messages).length / CHARS_PER_TOKEN);
		return { followUp, compactedTokens };
	}

	/** The turn is over; `counters` are agy's over the conversation. */
	ended(undelivered: readonly string[], counters: TokenUsage | null): void {
		this.#state = { ...this.#state, undelivered, usage: counters ?? this.#state.usage };
		this.#save();
	}

	/** The conversation is spoilt; the next turn starts a fresh one. */
	forget(): void {
		this.#conversationId = null;
		this.#options.bindings.unbind(this.#options.key);
	}

	#save(): void {
		if (this.#conversationId === null) return;
		const knowledge = this.#isRead ? this.#state : this.#stateUnread;
		this.#options.bindings.bind(this.#options.key, { conversationId: this.#conversationId, ...knowledge });
	}

	#instructionSections(): readonly Section[] {
		const { inlineInstructions } = this.#options;
		if (inlineInstructions === "" || hashOf(inlineInstructions) === this.#state.instructions) return [];
		return [
			{
				name: "the text of your instructions",
				heading: "Instructions from pi, the program you work in:",
				text: inlineInstructions,
			},
		];
	}

	async #contextSections(): Promise<readonly Section[]> {
		const { context } = this.#plan;
		const { digest, spill } = this.#options;
		if (context.length === 0) return [];
		if (this.#before === null)
			return [await toFileSection("the conversation so far", renderTranscript(context), spill)];
		const name = "what happened since your last answer";
		if (!digest) return [await toFileSection(name, renderTranscript(context), spill)];
		return [
			{ name, heading: "For your information, what happened since your last answer:", text: renderDigest(context) },
		];
	}

	async #userSection(undelivered: string, messages: readonly UserMessage[]): Promise<Section> {
		const texts = [undelivered, await renderUserMessages(messages, this.#options.spill)];
		return userSection(texts.filter((text) => text !== "").join("\n\n") || GO_ON);
	}
}

export function userSection(text: string): Section {
	return { name: "the user's message", heading: "", text };
}

function stateOf(binding: Binding | null): Knowledge {
	const { told, undelivered, instructions, usage } = binding ?? {
		told: NOTHING_TOLD,
		undelivered: [],
		instructions: "",
		usage: null,
	};
	return { told, undelivered, instructions, usage };
}

function hashOf(text: string): string {
	return createHash("sha256").update(text).digest("base64url").slice(0, 24);
}
