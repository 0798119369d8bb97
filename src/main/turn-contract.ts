/** What a turn is given by its owner and what it tells in return. */

import type { AgyEvent, SubagentEvent, TokenUsage, ToolEvent } from "../shared/events.ts";
import type { StepFiles } from "./cards/step-files.ts";
import type { Link } from "./link.ts";
import type { PiStream } from "./pi-stream.ts";
import type { Steps } from "./steps.ts";
import type { Verdict } from "./verdict.ts";

/** One pi request of the turn: where its message goes and who watches. */
export type Segment = {
	readonly stream: PiStream;
	/** pi's onResponse hook; called once, before anything of the answer. */
	readonly onResponse?: () => void | Promise<void>;
	/** pi's onProviderStreamEvent hook, awaited for each event. */
	readonly onEvent?: (event: AgyEvent) => void | Promise<void>;
};

/** A card is a call to the display tool, or of a tool of pi's that does the same as agy's. */
export type CardDisplay = {
	readonly as: "card";
	/** Name of the display tool. */
	readonly tool: string;
	/** Names of the builtins that pi can run now. */
	readonly nativeTools: () => ReadonlySet<string>;
	/** Where agy works. */
	readonly cwd: string;
};

export type StepDisplay = CardDisplay | { readonly as: "line" } | { readonly as: "hidden" };

export type TurnEnd = {
	readonly verdict: Verdict;
	/** What the user said meanwhile and agy was not told. */
	readonly undelivered: readonly string[];
	/** agy said that it has the prompt, or did something for it. */
	readonly wasRead: boolean;
	/** agy's counters over the conversation, when it gave them. */
	readonly counters: TokenUsage | null;
};

export type TurnOptions = {
	readonly id: string;
	readonly link: Link;
	readonly steps: Steps;
	/** How a step agy ran by itself is shown. Asked for each step. */
	readonly stepDisplay: () => StepDisplay;
	/** Looks after the files that steps change; null when nothing of them is shown. */
	readonly files: Pick<StepFiles, "note" | "viewOf"> | null;
	/** A call of a tool that pi itself runs for agy, and so shows itself: it gets no card. Default: none is. */
	readonly isBridged?: (event: ToolEvent) => boolean;
	/** What pi's tools came to after agy had stopped waiting for them, for agy to be told; "" for nothing. Each once. */
	readonly takeLate?: () => string;
	/** Minutes; 0 is off. */
	readonly inactivityTimeoutMin: number;
	readonly turnTimeoutMin: number;
	/** agy's counters before this turn; null when unknown. */
	readonly usageBefore: TokenUsage | null;
	/** The process takes more than one prompt. */
	readonly takesFollowUps: boolean;
	/** How a text is handed to agy, for what the user says while the turn runs. */
	readonly encodePrompt: (text: string) => string;
	/** Where agy keeps the transcript of a conversation. */
	readonly transcriptPath: (conversationId: string) => string;
	/** What agy runs by itself, each step whenever its state is told. Default: nobody is told. */
	readonly onStep?: (conversationId: string, event: ToolEvent | SubagentEvent) => void;
	/** agy named the conversation, and perhaps the model it runs. */
	readonly onConversation: (conversationId: string, model: string) => void;
	/** agy has what was written: `followUp`, which the user said while the turn ran, or "" for the prompt. */
	readonly onRead: (followUp: string) => void;
	/** A pi message of the turn is complete: agy knows what it says. */
	readonly onMessage: (stream: PiStream) => void;
	/** Nothing was done and nothing shown: true when the owner sends the prompt again, and takes the message over. */
	readonly onRetry: (verdict: Verdict, segment: Segment) => boolean;
	/** Called once, when the verdict is known and the pi message has ended. */
	readonly onEnd: (end: TurnEnd) => void;
};
