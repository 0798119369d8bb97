/** What is known about a turn so far: the answer's text, and the evidence that its verdict is judged by. */

import type { AgyEvent, SubagentEvent, TokenUsage, ToolEvent } from "../shared/events.ts";
import type { LinkMessage } from "./lanes.ts";
import type { TurnEvidence } from "./verdict.ts";

const DENIED = /permission check failed|user denied permission/i;

export class TurnRecord {
	/** The context of the last model call, in tokens. */
	contextTokens = 0;
	#text = "";
	/** The text of the last step that had any: agy may call that alone its response. */
	#lastText = { step: -1, text: "" };
	#sawOutput = false;
	#rejected: TurnEvidence["rejected"] = null;
	readonly #deniedTools = new Set<string>();
	readonly #toolErrors: string[] = [];

	note(event: AgyEvent): void {
		switch (event.kind) {
			case "text":
				this.#sawOutput = true;
				this.#text += event.text;
				this.#lastText = {
					step: event.step,
					text: (event.step === this.#lastText.step ? this.#lastText.text : "") + event.text,
				};
				return;
			case "model-call":
				this.#sawOutput = true;
				if (event.usage) this.contextTokens = contextOf(event.usage);
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

	noteRejected(message: Extract<LinkMessage, { readonly kind: "lines-rejected" }>): void {
		this.#rejected ??= { reason: message.reason, sample: message.sample };
	}

	/**
	 * What agy's response holds and its pieces did not bring; from here on it counts as text. Whether the response is the
	 * text of the whole turn or of its last step is not known, so only a clear continuation of either is added.
	 */
	completeText(response: string): string {
		const missing = this.#missingText(response);
		this.#text += missing;
		return missing;
	}

	/** Another prompt was sent within the turn: its answer starts from nothing. */
	startAnswer(): void {
		this.#text = "";
		this.#lastText = { step: -1, text: "" };
	}

	evidence(cause: TurnEvidence["cause"], stderr: string, more: Partial<TurnEvidence>): TurnEvidence {
		return {
			cause,
			result: null,
			sawOutput: this.#sawOutput,
			sawText: this.#text !== "",
			deniedTools: [...this.#deniedTools],
			toolErrors: this.#toolErrors,
			stderr,
			exit: null,
			laneError: null,
			rejected: this.#rejected,
			hookError: "",
			timeoutMin: 0,
			leftToolsRunning: false,
			...more,
		};
	}

	#noteStep(event: ToolEvent | SubagentEvent): void {
		this.#sawOutput = true;
		if (event.kind !== "tool" || !event.error) return;
		this.#toolErrors.push(event.error.message);
		if (DENIED.test(event.error.message)) this.#deniedTools.add(event.name);
	}

	#missingText(response: string): string {
		if (this.#text === "") return response;
		for (const streamed of [this.#text, this.#lastText.text]) {
			if (response.length > streamed.length && response.startsWith(streamed)) return response.slice(streamed.length);
		}
		return "";
	}
}

function contextOf({ input, cacheRead, output }: TokenUsage): number {
	return input + cacheRead + output;
}
