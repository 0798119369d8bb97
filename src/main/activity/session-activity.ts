/**
 * What agy's steps have told of commands and sub-agents since this pi session began, by conversation: what a listing names
 * that agy's files do not. In memory only, and bounded. agy tells when a sub-agent is started, and not when it has finished.
 */

import type { JsonValue, SubagentEvent, ToolEvent } from "../../shared/events.ts";
import { isConversationId } from "../brain.ts";

export type CommandSeen = {
	readonly step: number;
	/** What was run, as agy names it, clipped. */
	readonly command: string;
	/** The number of the background task that it became, when agy said so. */
	readonly task: number | null;
	readonly state: ToolEvent["state"];
	/** Milliseconds since 1970. */
	readonly startedAtMs: number;
};

export type SubagentSeen = {
	readonly step: number;
	readonly type: string;
	readonly role: string;
	/** Clipped. */
	readonly prompt: string;
	/** Null until agy has named it. */
	readonly conversationId: string | null;
	readonly state: "starting" | "started" | "failed";
	readonly startedAtMs: number;
};

type Seen = { readonly commands: Map<number, CommandSeen>; readonly subagents: Map<string, SubagentSeen> };

/** A session has one conversation at a time, and few over its life. */
const MAX_CONVERSATIONS = 20;
/** Of each kind in a conversation; the oldest are forgotten. */
const MAX_STEPS = 200;
/** A command or a prompt may be a whole file; a listing shows its beginning. */
const MAX_TEXT_CHARS = 500;
/** How agy's tools tell that a command goes on in the background. */
const BECAME_TASK = /background task with task id: *[\w-]*\/task-(\d+)(?:\r?\nTask Description: *([^\r\n]+))?/;

export class SessionActivity {
	readonly #conversations = new Map<string, Seen>();

	note(conversationId: string, event: ToolEvent | SubagentEvent): void {
		if (event.kind === "subagent") this.#noteSubagents(conversationId, event);
		else this.#noteCommand(conversationId, event);
	}

	/** In the order they were started. */
	commands(conversationId: string): readonly CommandSeen[] {
		return [...(this.#conversations.get(conversationId)?.commands.values() ?? [])];
	}

	/** In the order they were started. */
	subagents(conversationId: string): readonly SubagentSeen[] {
		return [...(this.#conversations.get(conversationId)?.subagents.values() ?? [])];
	}

	#noteCommand(conversationId: string, { step, state, args, output = "" }: ToolEvent): void {
		const became = BECAME_TASK.exec(output);
		const before = this.#conversations.get(conversationId)?.commands.get(step);
		const command = textOf(args.CommandLine) || (became?.[2] ?? "") || (before?.command ?? "");
		if (command === "" && became === null) return;
		const { commands } = this.#seenOf(conversationId);
		// A conversation may count its steps anew: one that starts where another has ended is another.
		const isSame = before !== undefined && !(state === "active" && before.state !== "active");
		keep(commands, step, {
			step,
			command: clip(command),
			task: became?.[1] === undefined ? (isSame ? before.task : null) : Number(became[1]),
			state,
			startedAtMs: isSame ? before.startedAtMs : Date.now(),
		});
	}

	#noteSubagents(conversationId: string, { step, state, agents }: SubagentEvent): void {
		const { subagents } = this.#seenOf(conversationId);
		agents.forEach(({ type, role, prompt, conversationId: child = "" }, index) => {
			const key = `${step}/${index}`;
			const before = subagents.get(key);
			keep(subagents, key, {
				...{ step, type: clip(type), role: clip(role), prompt: clip(prompt) },
				conversationId: isConversationId(child) ? child : (before?.conversationId ?? null),
				state: state === "active" ? "starting" : state === "error" ? "failed" : "started",
				startedAtMs: before?.startedAtMs ?? Date.now(),
			});
		});
	}

	#seenOf(conversationId: string): Seen {
		const seen = this.#conversations.get(conversationId) ?? { commands: new Map(), subagents: new Map() };
		keepIn(this.#conversations, conversationId, seen, MAX_CONVERSATIONS);
		return seen;
	}
}

function keep<K, V>(map: Map<K, V>, key: K, value: V): void {
	keepIn(map, key, value, MAX_STEPS);
}

function keepIn<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
	map.set(key, value);
	const [oldest] = map.keys();
	if (map.size > max && oldest !== undefined) map.delete(oldest);
}

function textOf(value: JsonValue | undefined): string {
	return typeof value === "string" ? value : "";
}

function clip(text: string): string {
	return text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text;
}
