/**
 * agy's transcript of a conversation, read for one case only: an answer that is finished but that agy does not print,
 * because a command it left running holds the turn open. Rows as observed: docs/protocols/agy-stream-json.md.
 */

import { type FileHandle, open } from "node:fs/promises";
import { TRANSCRIPT_POLL_MS, TRANSCRIPT_TAIL_BYTES } from "../../shared/limits.ts";

export type WithheldAnswer = { readonly step: number; readonly text: string };

/**
 * The answer in the newest row, if that row is one: the model's, DONE, with text, without tool calls, and later than
 * `afterStep`. Any other newest row means that agy is still at work.
 */
export function findWithheldAnswer(tail: string, afterStep: number): WithheldAnswer | null {
	const row = parseRow(tail.trimEnd().split("\n").at(-1) ?? "");
	if (row === null) return null;
	const { step_index: step, source, type, status, content, tool_calls: toolCalls } = row;
	if (typeof step !== "number" || step <= afterStep) return null;
	if (source !== "MODEL" || type !== "PLANNER_RESPONSE" || status !== "DONE") return null;
	if (typeof content !== "string" || content.trim() === "") return null;
	if (Array.isArray(toolCalls) ? toolCalls.length > 0 : toolCalls) return null;
	return { step, text: content };
}

/**
 * Looks at the transcript until it holds an answer at two looks in a row: one alone may be about to be followed. Starts
 * at once; tells at most once.
 */
export class TranscriptWatch {
	readonly #path: string;
	readonly #afterStep: number;
	readonly #onAnswer: (answer: WithheldAnswer) => void;
	#timer: NodeJS.Timeout | undefined;
	#isStopped = false;
	#seenStep = -1;

	constructor(path: string, afterStep: number, onAnswer: (answer: WithheldAnswer) => void) {
		this.#path = path;
		this.#afterStep = afterStep;
		this.#onAnswer = onAnswer;
		void this.#look();
	}

	stop(): void {
		this.#isStopped = true;
		clearTimeout(this.#timer);
	}

	async #look(): Promise<void> {
		const tail = await readTail(this.#path).catch(() => ""); // Not there yet, or being replaced: the next look decides.
		if (this.#isStopped) return;
		const answer = findWithheldAnswer(tail, this.#afterStep);
		if (answer && answer.step === this.#seenStep) {
			this.#onAnswer(answer);
			return;
		}
		this.#seenStep = answer?.step ?? -1;
		this.#timer = setTimeout(() => void this.#look(), TRANSCRIPT_POLL_MS);
	}
}

/** The last whole lines of the file; a line that is being written is left out. */
async function readTail(path: string): Promise<string> {
	let file: FileHandle | undefined;
	try {
		file = await open(path, "r");
		const { size } = await file.stat();
		const from = Math.max(0, size - TRANSCRIPT_TAIL_BYTES);
		const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
		const text = buffer.toString("utf8", 0, bytesRead);
		return text.slice(0, text.lastIndexOf("\n") + 1);
	} finally {
		await file?.close();
	}
}

function parseRow(line: string): { readonly [field: string]: unknown } | null {
	try {
		const row: unknown = JSON.parse(line);
		return typeof row === "object" && row !== null ? (row as { readonly [field: string]: unknown }) : null;
	} catch {
		return null; // The first line of the tail may be cut; the newest one never is.
	}
}
