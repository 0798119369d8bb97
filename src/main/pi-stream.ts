/**
 * One pi assistant message being written: AgyEvents become pi's stream events, blocks are balanced, at most one is open,
 * exactly one terminal event ends it and everything after that is ignored.
 * Contract: pi's docs/custom-provider.md, "Implement custom streaming".
 */

import {
	type AssistantMessage,
	type AssistantMessageEventStream,
	calculateCost,
	createAssistantMessageEventStream,
	type Model,
	type ToolCall,
} from "@earendil-works/pi-ai";
import type { TokenUsage } from "../shared/events.ts";

export class PiStream {
	readonly events: AssistantMessageEventStream;
	readonly #model: Model<string>;
	readonly #message: AssistantMessage;
	#open: { readonly type: "text" | "thinking"; readonly index: number } | null = null;
	#contextCapTokens = Number.POSITIVE_INFINITY;
	#phase: "created" | "started" | "ended" = "created";

	constructor(model: Model<string>) {
		// The stream first: pi measures a message's duration only when it is not older than its stream.
		this.events = createAssistantMessageEventStream();
		this.#model = model;
		this.#message = {
			role: "assistant",
			content: [],
			api: model.api,
			provider: model.provider,
			model: model.id,
			usage: {
				input: 0,
				output: 0,
				cacheRead: 0,
				cacheWrite: 0,
				totalTokens: 0,
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
			},
			stopReason: "pending",
			timestamp: Date.now(),
		};
	}

	get isEnded(): boolean {
		return this.#phase === "ended";
	}

	/** When pi asked for the message; what pi knows it by. */
	get timestamp(): number {
		return this.#message.timestamp;
	}

	/** Nothing has been written. */
	get isEmpty(): boolean {
		return this.#message.content.length === 0;
	}

	/** The request has been sent. */
	start(): void {
		if (this.#phase !== "created") return;
		this.#phase = "started";
		this.events.push({ type: "start", partial: this.#message });
	}

	text(delta: string): void {
		if (delta === "" || !this.#isWritable()) return;
		const index = this.#openBlock("text");
		const block = this.#message.content[index];
		if (block?.type === "text") block.text += delta;
		this.events.push({ type: "text_delta", contentIndex: index, delta, partial: this.#message });
	}

	thinking(delta: string): void {
		if (delta === "" || !this.#isWritable()) return;
		const index = this.#openBlock("thinking");
		const block = this.#message.content[index];
		if (block?.type === "thinking") block.thinking += delta;
		this.events.push({ type: "thinking_delta", contentIndex: index, delta, partial: this.#message });
	}

	/** Ends the open block; the next text starts another one. */
	endBlock(): void {
		const open = this.#open;
		const block = open && this.#message.content[open.index];
		this.#open = null;
		if (!open || !block) return;
		if (block.type === "text") {
			this.events.push({ type: "text_end", contentIndex: open.index, content: block.text, partial: this.#message });
		} else if (block.type === "thinking") {
			this.events.push({
				type: "thinking_end",
				contentIndex: open.index,
				content: block.thinking,
				partial: this.#message,
			});
		}
	}

	toolCall(call: Omit<ToolCall, "type">): void {
		if (!this.#isWritable()) return;
		this.endBlock();
		const toolCall: ToolCall = { type: "toolCall", ...call };
		const contentIndex = this.#message.content.push(toolCall) - 1;
		this.events.push({ type: "toolcall_start", contentIndex, partial: this.#message });
		this.events.push({
			type: "toolcall_delta",
			contentIndex,
			delta: JSON.stringify(call.arguments),
			partial: this.#message,
		});
		this.events.push({ type: "toolcall_end", contentIndex, toolCall, partial: this.#message });
	}

	/** Accounts for one call of agy: the counts add up over the message. */
	addUsage(call: TokenUsage): void {
		if (this.isEnded) return;
		const usage = this.#message.usage;
		usage.input += call.input;
		usage.output += call.output;
		usage.cacheRead += call.cacheRead;
		usage.reasoning = (usage.reasoning ?? 0) + call.thinking;
		usage.cost = calculateCost(this.#model, usage);
	}

	/** What the last model call read: pi takes `totalTokens` for the size of the context and compacts by it. */
	setContextTokens(tokens: number): void {
		if (!this.isEnded) this.#message.usage.totalTokens = Math.min(tokens, this.#contextCapTokens);
	}

	/** pi has compacted while agy goes on with what it knew: pi must not be told more than it can compact away. */
	capContext(tokens: number): void {
		this.#contextCapTokens = tokens;
	}

	/** agy's conversation id, kept by pi with the message. */
	setConversation(conversationId: string): void {
		if (!this.isEnded && conversationId !== "") this.#message.responseId = conversationId;
	}

	/** The message is complete; `toolUse` makes pi run its tool calls and ask again. */
	done(reason: "stop" | "toolUse"): void {
		if (this.isEnded) return;
		this.start();
		this.endBlock();
		this.#phase = "ended";
		this.#message.stopReason = reason;
		this.events.push({ type: "done", reason, message: this.#message });
	}

	/** The message failed; what was written stays. */
	fail(reason: "error" | "aborted", errorMessage: string): void {
		if (this.isEnded) return;
		this.endBlock();
		this.#phase = "ended";
		this.#message.stopReason = reason;
		this.#message.errorMessage = errorMessage;
		this.events.push({ type: "error", reason, error: this.#message });
	}

	#isWritable(): boolean {
		if (this.isEnded) return false;
		this.start();
		return true;
	}

	#openBlock(type: "text" | "thinking"): number {
		if (this.#open?.type === type) return this.#open.index;
		this.endBlock();
		const index = this.#message.content.push(type === "text" ? { type, text: "" } : { type, thinking: "" }) - 1;
		this.#open = { type, index };
		this.events.push({ type: `${type}_start`, contentIndex: index, partial: this.#message });
		return index;
	}
}
