/**
 * AgyEvent: what agy did, in our words and the same for every engine. Made by the codecs in the workers, read by
 * main/turn.ts. Field meanings and their evidence are in docs/protocols/agy-stream-json.md. Only JSON-like values, so
 * that any of them can be put into a frame.
 */

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

/** Tokens of one model call, or of a conversation. `input` is without `cacheRead`; `output` includes `thinking`. */
export type TokenUsage = {
	readonly input: number;
	readonly output: number;
	readonly thinking: number;
	readonly cacheRead: number;
};

export type StepState = "active" | "done" | "error";

/** A tool step agy ran by itself. The same step is reported again when its state changes. */
export type ToolEvent = {
	readonly kind: "tool";
	/** Position in the conversation; the key of the step within a turn. */
	readonly step: number;
	readonly state: StepState;
	readonly name: string;
	readonly args: JsonObject;
	/** Absent when the tool printed nothing; of an active step all that it has printed so far. */
	readonly output?: string;
	readonly error?: { readonly type: string; readonly message: string };
	readonly durationMs?: number;
};

export type SubagentEvent = {
	readonly kind: "subagent";
	readonly step: number;
	readonly state: StepState;
	readonly agents: readonly {
		readonly type: string;
		readonly role: string;
		readonly prompt: string;
		readonly conversationId?: string;
	}[];
	readonly durationMs?: number;
};

/** The end of a turn as agy puts it. main/verdict.ts decides what it means. */
export type TurnEndEvent = {
	readonly kind: "turn-end";
	/** Upper-cased status word of agy; "" when it gave none. */
	readonly status: string;
	/** The text agy calls the answer of this turn; it was usually streamed before. */
	readonly text: string;
	/** "" when agy reported none. */
	readonly error: string;
	readonly conversationId: string;
	/** Cumulative over the conversation. */
	readonly usage?: TokenUsage;
	readonly turnCount: number;
	readonly deniedActions: readonly { readonly action: string; readonly displayName: string }[];
};

export type AgyEvent =
	/** The process said who it is; once per process, before or after the first prompt, or never. */
	| {
			readonly kind: "ready";
			readonly conversationId: string;
			/** "" when agy was started without a model. */
			readonly model: string;
			readonly permissionMode: string;
			readonly toolCount: number;
	  }
	/**
	 * A new piece of the answer. With `replaces` it is the step's whole text: what was said for this step before no longer
	 * holds.
	 */
	| { readonly kind: "text"; readonly step: number; readonly text: string; readonly replaces?: true }
	/** A new piece of thinking text; `replaces` as above. */
	| { readonly kind: "thinking"; readonly step: number; readonly text: string; readonly replaces?: true }
	/** A model call ended. */
	| { readonly kind: "model-call"; readonly step: number; readonly usage?: TokenUsage; readonly durationMs?: number }
	| ToolEvent
	| SubagentEvent
	/** A step without content for a person; `usage` when it cost something (a title or summary call). */
	| { readonly kind: "notice"; readonly step: number; readonly type: string; readonly usage?: TokenUsage }
	/** Something this version does not know: an event, a step type or a state. Counted by shape, never fatal. */
	| {
			readonly kind: "unknown";
			readonly what: "event" | "step-type" | "step-state";
			readonly name: string;
			readonly usage?: TokenUsage;
	  }
	/** A finished answer stands in the transcript while agy waits for something it left running. */
	| { readonly kind: "withheld-answer"; readonly step: number; readonly text: string }
	| TurnEndEvent;
