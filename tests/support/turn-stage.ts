/** A turn on a stage of its own: a fake link in place of agy, and pi played by the test. */

import type { PiStream } from "../../src/main/pi-stream.ts";
import { type StepOutcome, Steps } from "../../src/main/steps.ts";
import { Turn } from "../../src/main/turn.ts";
import type { Segment, StepDisplay, TurnEnd, TurnOptions } from "../../src/main/turn-contract.ts";
import type { Verdict } from "../../src/main/verdict.ts";
import { FakeLink } from "./fake-link.ts";
import { PiMessage } from "./pi-message.ts";

type Hooks = Omit<Segment, "stream">;

export const STEP_TOOL = "antigravity";

/** What pi's own tools come to. */
export const RUN_AGAIN: StepOutcome = { state: "done", output: "run again by pi", durationMs: null };

export class TurnStage {
	readonly link: FakeLink;
	readonly steps: Steps;
	readonly messages: PiMessage[] = [];
	readonly ends: TurnEnd[] = [];
	readonly conversations: string[] = [];
	/** What agy is known to have read: "" is the prompt. */
	readonly reads: string[] = [];
	/** The messages that agy is known to have said. */
	readonly completed: PiStream[] = [];
	/** The verdicts that came with the offer to send the prompt again. */
	readonly offers: Verdict[] = [];
	/** Takes the offer. */
	takesRetry = false;
	/** What pi's display tool got for each call that it ran. */
	readonly outcomes = new Map<string, StepOutcome>();
	readonly turn: Turn;
	/** pi's own tools that are on. */
	readonly nativeTools = new Set<string>();
	display: StepDisplay = { as: "card", tool: STEP_TOOL, nativeTools: () => this.nativeTools, cwd: "/srv/demo" };

	/** `before` is a turn whose prompt is sent again: its message is taken over. */
	constructor(options: Partial<TurnOptions> = {}, hooks: Hooks = {}, before: TurnStage | null = null) {
		this.link = (options.link as unknown as FakeLink | undefined) ?? new FakeLink();
		this.steps = before?.steps ?? new Steps();
		this.turn = new Turn(
			{
				id: before ? "agy-2" : "agy-1",
				link: this.link.asLink,
				steps: this.steps,
				stepDisplay: () => this.display,
				files: null,
				inactivityTimeoutMin: 5,
				turnTimeoutMin: 20,
				usageBefore: null,
				takesFollowUps: true,
				transcriptPath: (conversationId) => `/brain/${conversationId}.jsonl`,
				onEnd: (end) => this.ends.push(end),
				onConversation: (conversationId) => this.conversations.push(conversationId),
				onRead: (followUp) => this.reads.push(followUp),
				onMessage: (stream) => this.completed.push(stream),
				onRetry: (verdict) => {
					this.offers.push(verdict);
					return this.takesRetry;
				},
				encodePrompt: (text) => `${text}\n`,
				...options,
			},
			{ stream: this.#openMessage(before?.message).stream, ...hooks },
		);
		this.turn.start("the prompt\n");
	}

	get message(): PiMessage {
		return this.messages.at(-1) as PiMessage;
	}

	/** streaming, parked, held (parked, and the process held back), ended: <verdict>, untold: <verdict> */
	get state(): string {
		const verdict = this.ends[0]?.verdict;
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
		for (const { id, name } of calls) {
			const outcome = name === STEP_TOOL ? this.steps.outcome(id) : Promise.resolve(RUN_AGAIN);
			void outcome.then((known) => this.outcomes.set(id, known));
		}
		await this.pass();
		return this.message.toolCalls.every(({ id }) => this.outcomes.has(id));
	}

	/** pi asks for the next message. */
	resume(followUp = "", hooks: Hooks = {}): PiMessage {
		const message = this.#openMessage();
		this.turn.resume({ stream: message.stream, ...hooks }, followUp);
		return message;
	}

	/** Lets every promise that can settle do so. */
	pass(): Promise<void> {
		return new Promise((resolve) => setImmediate(resolve));
	}

	#openMessage(message = new PiMessage()): PiMessage {
		this.messages.push(message);
		return message;
	}
}
