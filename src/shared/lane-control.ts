/**
 * The control plane of a lane: rare requests, no content. Served by the lane over Comlink (rpc.ts), called by main.
 * Also what a lane task is started with and what it resolves with.
 */

import type { MessagePort } from "node:worker_threads";
import type { PlainError } from "./errors.ts";
import type { Timing } from "./timing.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LaneKind = "decode" | "poll" | "audio";

/** The Piscina task. Both ports are transferred. */
export type LaneStart = {
	readonly contractVersion: number;
	readonly kind: LaneKind;
	/** Where the lane listens for the pipes of its processes: a unix socket or a named pipe. */
	readonly socketPath: string;
	readonly data: MessagePort;
	readonly control: MessagePort;
};

/** A lane task resolves with its end; a rejection is a crash. */
export type LaneEnd = { readonly ok: true } | { readonly ok: false; readonly error: PlainError };

export type LaneStats = {
	readonly threadId: number;
	readonly links: number;
	readonly events: number;
	readonly frames: number;
	readonly bytesIn: number;
	/** Input bytes reported to main or waiting for the next frame, and not acknowledged. */
	readonly heldBytes: number;
	/** Messages that wait for the next frame. */
	readonly queuedMessages: number;
	readonly pausedLinks: number;
	readonly pauses: number;
	readonly rejectedLines: number;
	readonly tickMs: number;
	/** Share of time the thread was busy since the last call, 0 to 1. */
	readonly utilization: number;
	/** One chunk of a process's output, from its arrival to the events of it. */
	readonly decode: Timing;
	/** From the first report in a frame to the frame's post. */
	readonly tick: Timing;
	/** How late the thread's timers fired while it had links. */
	readonly loopDelay: Timing;
};

export type LaneControl = {
	/** Answers once the lane listens. */
	hello(): { readonly contractVersion: number; readonly threadId: number };
	stats(): LaneStats;
	/** Fixes the tick; 0 gives it back to the lane. */
	setTickMs(tickMs: number): null;
	/** Ends the task: pipes are closed, the data port is flushed and closed. */
	close(): null;
};
