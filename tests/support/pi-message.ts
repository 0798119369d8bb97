/** One pi assistant message as pi receives it: every event pushed, also those after its end, and what is wrong with them. */
import type { AssistantMessage, AssistantMessageEvent, Model, ToolCall } from "@earendil-works/pi-ai";
import { PiStream } from "../../src/main/pi-stream.ts";
import { problemsOf } from "./pi-contract.ts";

export const MODEL: Model<string> = {
	id: "gemini-3.8-flash",
	name: "Gemini 3.8 Flash",
	api: "agy",
	provider: "antigravity",
	baseUrl: "agy://antigravity",
	reasoning: true,
	input: ["text"],
	cost: { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 0 },
	contextWindow: 1_000_000,
	maxTokens: 65_536,
};

export class PiMessage {
	readonly stream: PiStream;
	readonly events: AssistantMessageEvent[] = [];

	constructor() {
		this.stream = new PiStream(MODEL);
		const push = this.stream.events.push.bind(this.stream.events);
		this.stream.events.push = (event) => {
			this.events.push(event);
			push(event);
		};
	}

	/** How it ended; null while it is open. */
	get end(): AssistantMessage | null {
		const last = this.events.find((event) => event.type === "done" || event.type === "error");
		return last?.type === "done" ? last.message : last?.type === "error" ? last.error : null;
	}

	get types(): readonly string[] {
		return this.events.map((event) => event.type);
	}

	/** All text as it was streamed. */
	get text(): string {
		return this.events.map((event) => (event.type === "text_delta" ? event.delta : "")).join("");
	}

	get thinking(): string {
		return this.events.map((event) => (event.type === "thinking_delta" ? event.delta : "")).join("");
	}

	get toolCalls(): readonly ToolCall[] {
		return this.events.flatMap((event) => (event.type === "toolcall_end" ? event.toolCall : []));
	}

	/** What breaks pi's contract, in words; empty when nothing does. */
	problems(): readonly string[] {
		return problemsOf(this.events);
	}
}
