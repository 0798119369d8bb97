/** What is known about a turn so far: the answer's text, and the evidence that its verdict is judged by. */

import type { AgyEvent, SubagentEvent, TokenUsage, ToolEvent } from "../shared/events.ts";
import type { LinkMessage } from "./lanes.ts";
import type { TurnEvidence } from "./verdict.ts";

const NO_USAGE: TokenUsage = { input: 0, output: 0, thinking: 0, cacheRead: 0 };
const DENIED = /permission check failed|user denied permission/i;

export class TurnRecord {
	/** The context of the last model call, in tokens. */
	contextTokens = 0;
	#text = "";
	/** The text of the last step that had any: agy may call that alone its response. */
	#lastText = { step: -1, text: "" };
	#sawOutput = false;
	#rejected: TurnEvidence["rejected"] = null;
	#lastRequestStep = -1;
	#lastModelCallStep = -1;
	#hasBegun = false;
	#stepUsage: TokenUsage = NO_USAGE;
	readonly #activeSteps = new Set<number>();
	readonly #endedSteps = new Set<number>();
	readonly #toolCounts = new Map<string, number>();
	readonly #deniedTools = new Set<string>();
	readonly #toolErrors: string[] = [];

	/** A tool of agy has started and not ended. */
	get hasActiveSteps(): boolean {
		return this.#activeSteps.size > 0;
	}

	/** The last step that is no part of an answer; -1 before the turn's first step. An answer to it comes later. */
	get lastRequestStep(): number {
		return this.#lastRequestStep;
	}

	/** agy has shown that it has what was written last: it noted it, or did something for it. */
	get hasBegun(): boolean {
		return this.#hasBegun;
	}

	/** The last thing agy did was to call its model, and the answer to that call is not here. */
	get lacksAnswer(): boolean {
		return this.#lastModelCallStep > Math.max(this.#lastRequestStep, this.#lastText.step);
	}

	note(event: AgyEvent): void {
		if (event.kind === "tool" || event.kind === "subagent" || event.kind === "notice") {
			this.#lastRequestStep = Math.max(this.#lastRequestStep, event.step);
		}
		if ("usage" in event && event.usage && event.kind !== "turn-end")
			this.#stepUsage = add(this.#stepUsage, event.usage);
		if ("step" in event) this.#hasBegun = true;
		switch (event.kind) {
			case "text":
				this.#sawOutput = true;
				this.#noteText(event.step, event.text, event.replaces ?? false);
				return;
			case "model-call":
				this.#sawOutput = true;
				this.#lastModelCallStep = event.step;
				if (event.usage) this.contextTokens = event.usage.input + event.usage.cacheRead;
				return;
			case "thinking":
				this.#sawOutput = true;
				return;
			case "tool":
			case "subagent":
				this.#noteStep(event);
				return;
			default:
				return;
		}
	}

	/** agy calls a tool of pi's: it has the prompt, and something is done for it, whatever its stream says. */
	noteCall(): void {
		this.#sawOutput = true;
		this.#hasBegun = true;
	}

	noteRejected(message: Extract<LinkMessage, { readonly kind: "lines-rejected" }>): void {
		this.#rejected ??= { reason: message.reason, sample: message.sample };
	}

	/** The same of the turn's first prompt. */
	get wasRead(): boolean {
		return this.#sawOutput || this.#lastRequestStep >= 0;
	}

	/** What the whole text of an answer's step holds and its pieces did not bring; from here on it counts as text. */
	completeStep(step: number, text: string): string {
		if (step === this.#lastText.step) return this.completeText(text);
		this.#text += text;
		return text;
	}

	/**
	 * What agy's response holds and its pieces did not bring; from here on it counts as text. Whether the response is the
	 * text of the whole turn or of its last step is not known, so only a clear continuation of either is added.
	 */
	completeText(response: string): string {
		const missing = this.#missingText(response);
		this.#text += missing;
		if (missing !== "") this.#hasBegun = true;
		return missing;
	}

	/**
	 * What the turn cost beyond what its steps said, from agy's counters over the conversation: all of it when the steps
	 * said nothing and the counters before are known.
	 */
	unreportedUsage(counters: TokenUsage | undefined, before: TokenUsage | null): TokenUsage | null {
		if (!counters || !before || this.#stepUsage !== NO_USAGE) return null;
		const usage = subtract(counters, before);
		return usage.input + usage.output + usage.cacheRead > 0 ? usage : null;
	}

	/** Another prompt was sent within the turn: its answer starts from nothing. */
	startAnswer(): void {
		this.#text = "";
		this.#lastText = { step: -1, text: "" };
		this.#hasBegun = false;
	}

	evidence(
		cause: TurnEvidence["cause"],
		link: { readonly stderr: string; readonly isReused: boolean; readonly conversationId: string },
		more: Partial<TurnEvidence>,
	): TurnEvidence {
		return {
			cause,
			...link,
			result: null,
			sawOutput: this.#sawOutput,
			sawText: this.#text !== "",
			deniedTools: [...this.#deniedTools],
			toolErrors: this.#toolErrors,
			toolCounts: this.#toolCounts,
			exit: null,
			laneError: null,
			rejected: this.#rejected,
			hookError: "",
			timeoutMin: 0,
			leftToolsRunning: this.hasActiveSteps,
			...more,
		};
	}

	#noteText(step: number, text: string, replaces: boolean): void {
		const before = step === this.#lastText.step ? this.#lastText.text : "";
		if (replaces && this.#text.endsWith(before)) this.#text = this.#text.slice(0, this.#text.length - before.length);
		this.#text += text;
		this.#lastText = { step, text: replaces ? text : before + text };
	}

	#noteStep(event: ToolEvent | SubagentEvent): void {
		this.#sawOutput = true;
		if (event.state === "active") this.#activeSteps.add(event.step);
		else this.#endStep(event);
		if (event.kind !== "tool" || !event.error) return;
		this.#toolErrors.push(event.error.message);
		if (DENIED.test(event.error.message)) this.#deniedTools.add(event.name);
	}

	#endStep(event: ToolEvent | SubagentEvent): void {
		this.#activeSteps.delete(event.step);
		if (this.#endedSteps.has(event.step)) return;
		this.#endedSteps.add(event.step);
		const tool = event.kind === "tool" ? event.name : "invoke_subagent";
		this.#toolCounts.set(tool, (this.#toolCounts.get(tool) ?? 0) + 1);
	}

	#missingText(response: string): string {
		if (this.#text === "") return response.trim() === "" ? "" : response;
		for (const streamed of [this.#text, this.#lastText.text]) {
			if (response.length > streamed.length && response.startsWith(streamed)) return response.slice(streamed.length);
		}
		return "";
	}
}

function add(a: TokenUsage, b: TokenUsage): TokenUsage {
	return combine(a, b, (left, right) => left + right);
}

function subtract(a: TokenUsage, b: TokenUsage): TokenUsage {
	return combine(a, b, (left, right) => Math.max(0, left - right));
}

function combine(a: TokenUsage, b: TokenUsage, operation: (left: number, right: number) => number): TokenUsage {
	return {
		input: operation(a.input, b.input),
		output: operation(a.output, b.output),
		thinking: operation(a.thinking, b.thinking),
		cacheRead: operation(a.cacheRead, b.cacheRead),
	};
}
