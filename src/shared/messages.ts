/**
 * The only definition of what crosses between main and a lane on the data port. Both directions travel in frames
 * (frames.ts). A guard checks envelope and tag; the fields were checked where the foreign bytes were met.
 * Changing a message: this file, docs/protocols/thread-messages.md and tests/shared/messages.test.ts in one commit.
 */

import type { AudioContainer, CaptureResult, Level } from "./audio.ts";
import type { CaptureSettings } from "./capture.ts";
import type { Drift } from "./drift.ts";
import type { AgyEvent } from "./events.ts";
import type { LogLevel } from "./lane-control.ts";

/** A link's number, unique in the process for its life. */
export type LinkId = number;

/** A run of agy that is followed through its conversation database, for it says too little itself. */
export type RunSpec = {
	readonly kind: "run";
	readonly conversationsDir: string;
	/** The conversation that is resumed; null for one that agy is about to make. */
	readonly conversationId: string | null;
	/** Exactly as agy is given it: its database holds it as typed. */
	readonly prompt: string;
	/** What agy is told to work in, absolute. */
	readonly workspace: string;
	/** Wall clock in ms, before the process is started. */
	readonly startedAtMs: number;
};

/** A recording that ffmpeg makes. Its stdout is PCM (audio.ts), from which levels are taken; the file is what it encodes. */
export type CaptureSpec = {
	readonly kind: "capture";
	/** What ffmpeg writes, absolute. */
	readonly path: string;
	readonly container: AudioContainer;
};

/** A recorder whose stdout goes into the stdin of the process of link `into`, which ends with it. */
export type FeedSpec = { readonly kind: "feed"; readonly into: LinkId };

/** What a link's process is for, where its output alone does not say. */
export type LinkSubject = RunSpec | CaptureSpec | FeedSpec;

export type RunExit = { readonly code: number | null; readonly signal: string | null };

/** Main to lane. */
export type LaneCommand =
	/** Expect the three pipes of a new process. Sent before main connects them. */
	| {
			readonly kind: "open";
			readonly link: LinkId;
			readonly token: string;
			readonly subject: LinkSubject | null;
			/** Record its turns; null for not. */
			readonly capture: CaptureSettings | null;
	  }
	/** The process runs. */
	| { readonly kind: "process-started"; readonly link: LinkId; readonly pid: number }
	/** Write to the process's stdin, in order. `text` includes its line end. */
	| { readonly kind: "write"; readonly link: LinkId; readonly text: string }
	/** Close the process's stdin once everything written has gone out. */
	| { readonly kind: "end-input"; readonly link: LinkId }
	/** The process is gone. Its output ends when it has been read, even if something it started holds the pipes open. */
	| { readonly kind: "process-exited"; readonly link: LinkId; readonly exit: RunExit }
	/** Main has consumed every message of this link up to and including frame `seq`. */
	| { readonly kind: "ack"; readonly link: LinkId; readonly seq: number }
	/** Report an answer that agy's transcript at `path` holds behind step `afterStep` and stdout does not bring. */
	| { readonly kind: "watch-transcript"; readonly link: LinkId; readonly path: string; readonly afterStep: number }
	| { readonly kind: "unwatch-transcript"; readonly link: LinkId }
	/** Forget the link: the process has ended or was given up. Nothing more is reported for it. */
	| { readonly kind: "drop"; readonly link: LinkId };

/** Lane to main. */
export type LaneMessage =
	/** Events in agy's order; `bytes` of stdout went into them. */
	| { readonly kind: "events"; readonly link: LinkId; readonly bytes: number; readonly events: readonly AgyEvent[] }
	/** Lines of one chunk that could not be used; the stream goes on. */
	| {
			readonly kind: "lines-rejected";
			readonly link: LinkId;
			readonly count: number;
			readonly byteLength: number;
			/** Of the first one. */
			readonly reason: RejectReason;
			/** The start of the first one. */
			readonly sample: string;
	  }
	/** What the process said that this version does not know, since the last report. With the end of a turn and of the output. */
	| { readonly kind: "drift"; readonly link: LinkId; readonly shapes: readonly Drift[] }
	/** What the process wrote to stderr, undecided and unfiltered. */
	| { readonly kind: "stderr"; readonly link: LinkId; readonly text: string }
	/** How loud it was since the last report. At most 20 a second. `capturedMs` is the whole capture so far. */
	| ({ readonly kind: "level"; readonly link: LinkId; readonly capturedMs: number } & Level)
	/** What came of a capture. Comes before `output-ended`. */
	| { readonly kind: "captured"; readonly link: LinkId; readonly result: CaptureResult }
	/** stdin could not be written (the process is gone or does not read). */
	| { readonly kind: "input-failed"; readonly link: LinkId; readonly message: string }
	/** stdout and stderr have ended and everything before was reported. Last message of a link. */
	| { readonly kind: "output-ended"; readonly link: LinkId }
	| { readonly kind: "log"; readonly level: LogLevel; readonly text: string };

export type RejectReason = "too-long" | "not-json" | "not-object";

/** A batch for one direction of the data port. `seq` counts from 1 per direction. */
export type Frame<M> = { readonly seq: number; readonly messages: readonly M[] };

const COMMAND_KINDS: ReadonlySet<string> = new Set<LaneCommand["kind"]>([
	"open",
	"write",
	"end-input",
	"process-started",
	"process-exited",
	"ack",
	"watch-transcript",
	"unwatch-transcript",
	"drop",
]);
const MESSAGE_KINDS: ReadonlySet<string> = new Set<LaneMessage["kind"]>([
	"events",
	"lines-rejected",
	"drift",
	"stderr",
	"level",
	"captured",
	"input-failed",
	"output-ended",
	"log",
]);

export function isCommandFrame(value: unknown): value is Frame<LaneCommand> {
	return isFrameOf(value, COMMAND_KINDS);
}

export function isMessageFrame(value: unknown): value is Frame<LaneMessage> {
	return isFrameOf(value, MESSAGE_KINDS);
}

function isFrameOf(value: unknown, kinds: ReadonlySet<string>): boolean {
	if (typeof value !== "object" || value === null) return false;
	const frame = value as { seq?: unknown; messages?: unknown };
	if (typeof frame.seq !== "number" || !Array.isArray(frame.messages)) return false;
	return frame.messages.every((message) => typeof message === "object" && message !== null && kinds.has(message.kind));
}
