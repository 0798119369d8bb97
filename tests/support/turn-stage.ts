/** A turn on a stage of its own: a fake link in place of agy, and pi played by the test. */
import { type StepOutcome, Steps } from "../../src/main/steps.ts";
import { type Segment, type StepDisplay, Turn, type TurnOptions } from "../../src/main/turn.ts";
import type { Verdict } from "../../src/main/verdict.ts";
import { FakeLink } from "./fake-link.ts";
import { PiMessage } from "./pi-message.ts";

type Hooks = Omit<Segment, "stream">;

export const STEP_TOOL = "antigravity";

export class TurnStage {
	readonly link = new FakeLink();
	readonly steps = new Steps();
	readonly messages: PiMessage[] = [];
	readonly verdicts: Verdict[] = [];
	readonly conversations: string[] = [];
	/** What pi's display tool got for each call that it ran. */
	readonly outcomes = new Map<string, StepOutcome>();
	readonly turn: Turn;
	display: StepDisplay = { as: "card", tool: STEP_TOOL };

	constructor(options: Partial<TurnOptions> = {}, hooks: Hooks = {}) {
		this.turn = new Turn(
			{
				id: "agy-1",
				link: this.link.asLink,
				steps: this.steps,
				stepDisplay: () => this.display,
				inactivityTimeoutMin: 5,
				turnTimeoutMin: 20,
				onEnd: (verdict) => this.verdicts.push(verdict),
				onConversation: (conversationId) => this.conversations.push(conversationId),
				encodePrompt: (text) => `${text}\n`,
				...options,
			},
			{ stream: this.#openMessage().stream, ...hooks },
		);
		this.turn.start("the prompt\n");
	}

	get message(): PiMessage {
		return this.messages.at(-1) as PiMessage;
	}

	/** streaming, parked, held (parked, and the process held back), ended: <verdict>, untold: <verdict> */
	get state(): string {
		const [verdict] = this.verdicts;
		if (verdict)
			return `${this.turn.isUntold && this.message.end?.stopReason === "toolUse" ? "untold" : "ended"}: ${verdict.kind}`;
		if (!this.turn.isParked) return "streaming";
		return this.link.isHeldBack ? "held" : "parked";
	}

	/** Everything streamed as text, over all messages. */
	get text(): string {
		return this.messages.map((message) => message.text).join("");
	}

	/** pi waits for the calls of the last message and keeps what they came to. False while one is not settled. */
	async runCalls(): Promise<boolean> {
		const calls = this.message.toolCalls.filter(({ id }) => !this.outcomes.has(id));
		for (const { id } of calls) void this.steps.outcome(id).then((outcome) => this.outcomes.set(id, outcome));
		await this.pass();
		return this.message.toolCalls.every(({ id }) => this.outcomes.has(id));
	}

	/** pi asks for the next message. */
	resume(followUp: string | null = null, hooks: Hooks = {}): PiMessage {
		const message = this.#openMessage();
		this.turn.resume({ stream: message.stream, ...hooks }, followUp);
		return message;
	}

	/** Lets every promise that can settle do so. */
	pass(): Promise<void> {
		return new Promise((resolve) => setImmediate(resolve));
	}

	#openMessage(): PiMessage {
		const message = new PiMessage();
		this.messages.push(message);
		return message;
	}
}
