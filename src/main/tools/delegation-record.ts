/**
 * What a delegated run has said and done so far, from agy's events: the answer, its steps, the commands it ran and the
 * files its edits named. Bounded: of very many steps the newest are kept.
 */

import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgyEvent, JsonObject, SubagentEvent, ToolEvent } from "../../shared/events.ts";
import { toStepArguments } from "../steps.ts";

export type DelegatedStep = {
	readonly tool: string;
	/** What it was about, on one line. */
	readonly what: string;
	readonly state: ToolEvent["state"];
};

/** Steps and commands kept for the details: they go into pi's session file. */
const MAX_KEPT = 100;
const MAX_EDITED_FILES = 1_000;
const WHAT_CHARS = 160;
const COMMAND_CHARS = 500;
const EDIT_TOOLS = /^(write_to_file|replace_file_content|multi_replace_file_content|sed_file|create_file|edit_file)$/;

export class DelegationRecord {
	readonly #cwd: string;
	/** The answer, by agy's step. */
	readonly #texts = new Map<number, string>();
	/** Characters that came in pieces, also those that were replaced later. */
	#pieceChars = 0;
	readonly #steps = new Map<number, DelegatedStep>();
	readonly #commands = new Map<number, string>();
	readonly #edited = new Set<string>();
	#stepCount = 0;

	/** `cwd` is what agy's relative paths are relative to. */
	constructor(cwd: string) {
		this.#cwd = cwd;
	}

	get stepCount(): number {
		return this.#stepCount;
	}

	get steps(): readonly DelegatedStep[] {
		return [...this.#steps.values()];
	}

	get commands(): readonly string[] {
		return [...this.#commands.values()];
	}

	/** Absolute paths. */
	get editedFiles(): readonly string[] {
		return [...this.#edited];
	}

	/** The last line of the answer so far that has something in it. */
	get lastLine(): string {
		const text = [...this.#texts.values()].findLast((part) => part.trim() !== "") ?? "";
		return (
			text
				.trimEnd()
				.slice(-4 * WHAT_CHARS)
				.split(/\r?\n/)
				.at(-1)
				?.slice(-WHAT_CHARS)
				.trim() ?? ""
		);
	}

	/** True when a step has begun or ended. */
	note(event: AgyEvent): boolean {
		if (event.kind === "text") {
			this.#pieceChars += event.text.length;
			const before = event.replaces ? "" : (this.#texts.get(event.step) ?? "");
			this.#texts.set(event.step, before + event.text);
			return false;
		}
		if (event.kind !== "tool" && event.kind !== "subagent") return false;
		return this.#noteStep(event);
	}

	/**
	 * The answer, a part for each of agy's steps that said something. `written` is everything the turn wrote as text: what
	 * it holds beyond the pieces came with agy's result or from its transcript.
	 */
	answer(written: string): readonly string[] {
		const texts = [...this.#texts.values()];
		const rest = written.slice(this.#pieceChars);
		const last = texts.pop() ?? "";
		return [...texts, last + rest].map((text) => text.trim()).filter((text) => text !== "");
	}

	#noteStep(event: ToolEvent | SubagentEvent): boolean {
		const { tool, args } = toStepArguments(event);
		const known = this.#steps.get(event.step);
		if (known === undefined) this.#stepCount++;
		const what = oneLine(args) || (known?.what ?? "");
		this.#steps.set(event.step, { tool, what, state: event.state });
		if (this.#steps.size > MAX_KEPT) this.#steps.delete(this.#steps.keys().next().value ?? -1);
		if (typeof args.CommandLine === "string" && args.CommandLine !== "") {
			this.#commands.set(event.step, args.CommandLine.slice(0, COMMAND_CHARS));
			if (this.#commands.size > MAX_KEPT) this.#commands.delete(this.#commands.keys().next().value ?? -1);
		}
		if (EDIT_TOOLS.test(tool) && event.state !== "error") this.#noteEdit(args);
		return known?.state !== event.state;
	}

	#noteEdit({ TargetFile, AbsolutePath }: JsonObject): void {
		const path = toPath(typeof TargetFile === "string" ? TargetFile : AbsolutePath);
		if (path === null || this.#edited.size >= MAX_EDITED_FILES) return;
		this.#edited.add(isAbsolute(path) ? path : join(this.#cwd, path));
	}
}

function toPath(named: unknown): string | null {
	if (typeof named !== "string" || named === "" || named.includes("\0")) return null;
	if (!named.startsWith("file:")) return named;
	try {
		return fileURLToPath(named);
	} catch {
		return null; // An address of no local file: nothing on this disk has changed by it.
	}
}

function oneLine(args: JsonObject): string {
	const values = Object.values(args).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
	return values.join(" ").replaceAll(/\s+/g, " ").trim().slice(0, WHAT_CHARS);
}
