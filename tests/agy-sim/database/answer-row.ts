/**
 * The row of one model call, which grows in place: 1. perhaps an empty row; 2. thinking, then text, committed by the
 * cadence of the scenario; 3. done, with the second copy of the text, declared tool calls, signature and usage; or canceled
 * with what it holds. The prompt of the call goes to gen_metadata, where the newest row is large and older ones are trimmed.
 */
import type { AnswerRowScript, DatabaseOptions } from "../scenario/database.ts";
import type { Usage } from "../wire/usage.ts";
import type { ConversationDatabase } from "./conversation-database.ts";
import { modelCallBlob, trimmedModelCall, uuidOf } from "./side-blobs.ts";
import { plannerResponse, STOP } from "./step-content.ts";
import { type DeclaredCall, type StepRow, usageMessage } from "./step-row.ts";
import { PLANNER, SOURCE, STATUS } from "./step-types.ts";

const DEFAULT_PROMPT_BYTES = 112_000;
const SILENT_THOUGHT = "I should look before I answer.";

export class AnswerRow {
	readonly row: StepRow;
	readonly #database: ConversationDatabase;
	readonly #options: DatabaseOptions;
	readonly #script: AnswerRowScript;
	readonly #callIdx: number;
	#saves = 0;
	#frames = 0;
	#text = "";
	#thinking = "";
	#wasCommitted = false;
	#timer: NodeJS.Timeout | undefined;

	constructor(database: ConversationDatabase, options: DatabaseOptions, script: AnswerRowScript) {
		this.#database = database;
		this.#options = options;
		this.#script = script;
		this.#callIdx = options.genMetadata === "none" ? 0 : database.file.nextIdx("gen_metadata");
		this.row = database.newRow(PLANNER, SOURCE.model, STATUS.generating);
		this.row.generation = this.#callIdx;
	}

	async begin(): Promise<void> {
		if (this.#script.placeholder !== undefined) {
			this.row.status = this.#script.placeholder === "done" ? STATUS.done : STATUS.generating;
			await this.#commit(undefined);
			this.row.status = STATUS.generating;
		}
		for (const piece of this.#script.thinking ?? []) await this.think(piece);
	}

	async think(piece: string): Promise<void> {
		this.#thinking += piece;
		await this.#grown();
	}

	/** One frame of the stream: the text so far. */
	async grow(text: string): Promise<void> {
		const stored = this.#script.stored;
		this.#text = stored?.[Math.min(this.#frames, stored.length - 1)] ?? text;
		this.#frames += 1;
		await this.#grown();
	}

	async finish(text: string, usage: Usage, calls: readonly DeclaredCall[]): Promise<void> {
		const { stored = [], modified } = this.#script;
		for (const left of stored.slice(this.#frames, -1)) await this.grow(left);
		this.#text = stored.at(-1) ?? text;
		const isSilent = this.#text === "" && this.#thinking === "";
		if (isSilent && usage.thinking_tokens > 0) this.#thinking = SILENT_THOUGHT;
		if (!this.#wasCommitted) await this.#grown();
		this.#stopTimer();
		const seed = `${this.#database.id} step ${this.row.idx}`;
		this.row.become(STATUS.done);
		this.row.usage = usageMessage(usage, uuidOf(`${seed} response`));
		await this.#commit({
			calls,
			messageId: `bot-${uuidOf(seed)}`,
			modified: modified ?? this.#text,
			stopReason: calls.length === 0 ? STOP.normal : STOP.functionCall,
		});
		if (this.#options.genMetadata === "own-commit") await this.#database.commit(() => this.#saveCall());
	}

	/** Cut short from outside. */
	async cancel(): Promise<void> {
		this.#stopTimer();
		this.row.become(STATUS.canceled);
		await this.#commit(undefined);
	}

	/** Left as it is; nothing is committed any more. */
	abandon(): void {
		this.#stopTimer();
	}

	async #grown(): Promise<void> {
		const { cadence = "chunk", everyMs } = this.#options;
		if (everyMs !== undefined) {
			// the turn's own steps report a stop that comes while this waits at a gate
			this.#timer ??= setTimeout(() => void this.#commitOnTime().catch(() => {}), everyMs);
		} else if (cadence === "chunk") {
			await this.#commit(undefined);
		}
	}

	async #commitOnTime(): Promise<void> {
		this.#timer = undefined;
		await this.#commit(undefined);
	}

	async #commit(
		end:
			| {
					readonly calls: readonly DeclaredCall[];
					readonly messageId: string;
					readonly modified: string;
					readonly stopReason: number;
			  }
			| undefined,
	): Promise<void> {
		this.#wasCommitted = true;
		const { genMetadata = "with-done" } = this.#options;
		const savesCall = genMetadata === "every-commit" || (genMetadata === "with-done" && end !== undefined);
		await this.#database.commit(() => {
			this.row.content = plannerResponse({
				text: this.#text,
				thinking: this.#thinking,
				calls: end?.calls ?? [],
				messageId: end?.messageId,
				modified: end?.modified,
				stopReason: end?.stopReason,
			});
			this.#database.putRow(this.row);
			if (savesCall) this.#saveCall();
		});
	}

	/** The newest call keeps its whole prompt; the one before loses it now. */
	#saveCall(): void {
		const { file, executionId } = this.#database;
		if (this.#saves === 0 && this.#callIdx > 0) {
			const [before] = file.all("SELECT data FROM gen_metadata WHERE idx = ?", this.#callIdx - 1);
			if (before?.data instanceof Uint8Array) {
				const data = trimmedModelCall(Buffer.from(before.data));
				file.put("gen_metadata", "idx", { idx: this.#callIdx - 1, data, size: data.length });
			}
		}
		const data = modelCallBlob({
			steps: [this.row.idx],
			executionId,
			usage: this.row.usage,
			promptBytes: this.#options.promptBytes ?? DEFAULT_PROMPT_BYTES,
			save: this.#saves,
		});
		this.#saves += 1;
		file.put("gen_metadata", "idx", { idx: this.#callIdx, data, size: data.length });
	}

	#stopTimer(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}
