/**
 * One row of `steps` while it lives: created once, changed in place, with its history of statuses. Encodes itself as the
 * columns of the table; `metadata`, `error_details` and `task_details` are byte copies of fields of the payload.
 */
import type { RowValues } from "./database-file.ts";
import {
	bytesField,
	joinFields,
	messageField,
	packedField,
	textField,
	timeField,
	varintField,
} from "./protobuf-writer.ts";
import { SOURCE, STATUS, type StepKind, TERMINAL_STATUSES } from "./step-types.ts";

/** What every step of a turn has in common. */
export type StepContext = {
	readonly cascadeId: string;
	readonly trajectoryId: string;
	/** One for each turn of the user. */
	readonly executionId: string;
};

/** A call as the model declared it, and as the executing row repeats it. */
export type DeclaredCall = { readonly id: string; readonly name: string; readonly argumentsJson: string };

export const MODEL_ENUM = 1016;

export class StepRow {
	readonly idx: number;
	readonly kind: StepKind;
	readonly source: number;
	status: number = STATUS.pending;
	/** The kind's own message, without its tag. */
	content: Uint8Array = Buffer.alloc(0);
	call: DeclaredCall | undefined;
	/** Message of the token figures. */
	usage: Buffer | undefined;
	errorDetails: Buffer | undefined;
	taskDetails: Buffer | undefined;
	permissions: Buffer | undefined;
	/** Counts the model calls before this one. */
	generation = 0;
	readonly #context: StepContext;
	readonly #createdMs = Date.now();
	readonly #history: { readonly status: number; readonly timeMs: number }[] = [];

	constructor(context: StepContext, idx: number, kind: StepKind, source: number) {
		this.#context = context;
		this.idx = idx;
		this.kind = kind;
		this.source = source;
	}

	get isOpen(): boolean {
		return !TERMINAL_STATUSES.includes(this.status);
	}

	become(status: number): void {
		if (this.#history.at(-1)?.status !== status) this.#history.push({ status, timeMs: Date.now() });
		this.status = status;
	}

	columns(): RowValues {
		const metadata = this.#metadata();
		return {
			idx: this.idx,
			step_type: this.kind.type,
			status: this.status,
			metadata,
			error_details: this.errorDetails ?? null,
			permissions: this.permissions ?? null,
			task_details: this.taskDetails ?? null,
			step_payload: joinFields(
				varintField(1, this.kind.type),
				varintField(4, this.status),
				bytesField(5, metadata),
				this.kind.field === undefined ? undefined : bytesField(this.kind.field, this.content),
				this.errorDetails && bytesField(31, this.errorDetails),
				this.taskDetails && bytesField(148, this.taskDetails),
			),
		};
	}

	#metadata(): Buffer {
		const endMs = this.isOpen ? undefined : this.#history.at(-1)?.timeMs;
		const finished = this.source === SOURCE.model && endMs !== undefined ? timeField(7, endMs) : undefined;
		return joinFields(
			timeField(1, this.#createdMs),
			varintField(3, this.source),
			this.call && messageField(4, callFields(this.call)),
			timeField(6, this.#createdMs),
			finished,
			endMs === undefined ? undefined : timeField(8, endMs),
			this.usage && bytesField(9, this.usage),
			varintField(11, MODEL_ENUM),
			textField(12, this.#context.executionId),
			messageField(13, varintField(1, MODEL_ENUM)),
			positionField(this.#context, this.idx, this.generation),
			varintField(21, 1),
			messageField(
				26,
				...this.#history.map(({ status, timeMs }) => messageField(1, varintField(1, status), timeField(2, timeMs))),
			),
			this.call && textField(30, `Runs ${this.call.name}`),
			this.call && textField(31, this.call.name),
			timeField(32, this.#createdMs),
		);
	}
}

/** Field 20 of the metadata: where the step stands. Zeros are absent. */
function positionField(context: StepContext, idx: number, generation: number): Buffer {
	return messageField(
		20,
		textField(1, context.trajectoryId),
		idx === 0 ? undefined : varintField(2, idx),
		generation === 0 ? undefined : varintField(3, generation),
		textField(4, context.cascadeId),
	);
}

export function callFields(call: DeclaredCall): Buffer {
	return joinFields(textField(1, call.id), textField(2, call.name), textField(3, call.argumentsJson));
}

/** Figures of one model call as the stream has them, in the numbers of the database. */
export function usageMessage(
	figures: {
		readonly input_tokens: number;
		readonly output_tokens: number;
		readonly thinking_tokens: number;
		readonly cache_read_tokens: number;
	},
	responseId: string,
	model = MODEL_ENUM,
): Buffer {
	const answerTokens = figures.output_tokens - figures.thinking_tokens;
	return joinFields(
		varintField(1, model),
		varintField(2, figures.input_tokens),
		varintField(3, figures.output_tokens),
		figures.cache_read_tokens === 0 ? undefined : varintField(5, figures.cache_read_tokens),
		varintField(6, 24),
		messageField(8, textField(1, "sessionID"), textField(2, "-1234567890123456789")),
		figures.thinking_tokens === 0 ? undefined : varintField(9, figures.thinking_tokens),
		answerTokens <= 0 ? undefined : varintField(10, answerTokens),
		textField(11, responseId),
	);
}

/** The list of step numbers in gen_metadata is the packed one among agy's fields. */
export function stepList(indices: readonly number[]): Buffer {
	return packedField(2, indices);
}
