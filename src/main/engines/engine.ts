/**
 * The contract between an engine (a way to drive agy) and everything above it. An engine says how its process is started
 * and how a prompt is handed to it; what comes back is the same AgyEvents for all of them.
 */

import type { LaneKind } from "../../shared/lane-control.ts";

/** What an agy process is started with and keeps for its life. A changed profile needs another process. */
export type Profile = {
	readonly bin: string;
	/** Absolute: agy is told its workspace by flag, its own working directory does not matter to it. */
	readonly cwd: string;
	/** More directories agy may read: where what is spilled from prompts lies. */
	readonly addDirs: readonly string[];
	readonly modelSlug: string;
	readonly mode: "default" | "accept-edits" | "plan";
	readonly skipPermissions: boolean;
	readonly agent: string | null;
	/** Flags that this agy does not have. */
	readonly missingFlags: readonly string[];
	readonly extraArgs: readonly string[];
};

/** What is sent to agy for one turn; pi's `onPayload` hook sees it and may replace it. */
export type PromptPayload = {
	readonly event: "user";
	readonly message: { readonly role: "user"; readonly content: string };
};

export type Engine = {
	/** Conversations are bound per engine and never cross over. */
	readonly id: string;
	readonly laneKind: LaneKind;
	/** What agy has to offer. */
	readonly requires: { readonly version: string; readonly flags: readonly string[] };
	/** A process takes one prompt, as an argument, and is followed through the database that it writes. */
	readonly isOneShot: boolean;
	/** The argument list; `conversationId` resumes. `prompt` is "" unless the engine is one-shot. */
	args(profile: Profile, conversationId: string | null, prompt: string): readonly string[];
	payload(prompt: string): PromptPayload;
	/** What is written to stdin for a turn, or given as an argument. */
	encodePrompt(payload: PromptPayload): string;
	/** The payload a hook returned in place of ours, or null when it is none. */
	parsePayload(value: unknown): PromptPayload | null;
};
