/**
 * The control: agy's output read on the thread that uses it, the way a careful extension does it without threads.
 * Competent on purpose: bytes are decoded once per chunk, only new text is searched for line ends, an unfinished line is
 * a rope until it ends. It lacks what only the lanes have: tolerance for broken lines, size caps, back-pressure.
 */

import { StringDecoder } from "node:string_decoder";
import type { AgyEvent, TokenUsage } from "../../src/shared/events.ts";

/** Splits chunks into lines and parses each. */
export class LineParser {
	readonly #onValue: (value: Line) => void;
	readonly #decoder = new StringDecoder("utf8");
	#tail = "";

	constructor(onValue: (value: Line) => void) {
		this.#onValue = onValue;
	}

	push(chunk: Buffer): void {
		const text = this.#decoder.write(chunk);
		let start = 0;
		for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
			const line = this.#tail + text.slice(start, end);
			this.#tail = "";
			start = end + 1;
			if (line) this.#onValue(JSON.parse(line));
		}
		this.#tail += text.slice(start);
	}
}

/** The fields that are read of a line. */
export type Line = {
	readonly event: string;
	readonly conversation_id?: string;
	readonly init?: { readonly model?: string; readonly permission_mode?: string; readonly tools?: readonly string[] };
	readonly step_update?: StepLine;
	readonly result?: {
		readonly conversation_id: string;
		readonly status: string;
		readonly response: string;
		readonly num_turns: number;
		readonly usage?: UsageLine;
	};
};

type StepLine = {
	readonly step_index: number;
	readonly state: "ACTIVE" | "DONE" | "ERROR";
	readonly step_type: string;
	readonly text_delta?: string;
	readonly tool_name?: string;
	readonly duration_seconds?: number;
	readonly usage?: UsageLine;
	readonly tool_info?: { readonly parameters: { readonly [key: string]: string }; readonly output?: string };
};

type UsageLine = {
	readonly input_tokens: number;
	readonly output_tokens: number;
	readonly thinking_tokens: number;
	readonly cache_read_tokens: number;
};

/** Maps a line to the same events the lanes deliver. */
export function mapLine(line: Line, onEvent: (event: AgyEvent) => void): void {
	if (line.step_update) mapStep(line.step_update, onEvent);
	else if (line.init) {
		onEvent({
			kind: "ready",
			conversationId: line.conversation_id ?? "",
			model: line.init.model ?? "",
			permissionMode: line.init.permission_mode ?? "",
			toolCount: line.init.tools?.length ?? 0,
		});
	} else if (line.result) {
		onEvent({
			kind: "turn-end",
			status: line.result.status,
			text: line.result.response,
			error: "",
			conversationId: line.result.conversation_id,
			turnCount: line.result.num_turns,
			deniedActions: [],
			...(line.result.usage && { usage: toUsage(line.result.usage) }),
		});
	}
}

function mapStep(line: StepLine, onEvent: (event: AgyEvent) => void): void {
	const step = line.step_index;
	const duration = line.duration_seconds === undefined ? {} : { durationMs: line.duration_seconds * 1000 };
	if (line.step_type === "agent_response") {
		if (line.text_delta) onEvent({ kind: "text", step, text: line.text_delta });
		if (line.state === "ACTIVE") return;
		onEvent({ kind: "model-call", step, ...(line.usage && { usage: toUsage(line.usage) }), ...duration });
	} else if (line.step_type === "tool") {
		const output = line.tool_info?.output;
		onEvent({
			kind: "tool",
			step,
			state: line.state === "ACTIVE" ? "active" : line.state === "DONE" ? "done" : "error",
			name: line.tool_name ?? "tool",
			args: line.tool_info?.parameters ?? {},
			...(output !== undefined && { output }),
			...duration,
		});
	} else onEvent({ kind: "notice", step, type: line.step_type });
}

function toUsage(usage: UsageLine): TokenUsage {
	return {
		input: usage.input_tokens,
		output: usage.output_tokens,
		thinking: usage.thinking_tokens,
		cacheRead: usage.cache_read_tokens,
	};
}
