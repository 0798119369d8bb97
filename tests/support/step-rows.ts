/** Rows of a conversation database as short as a test can say them. Field numbers as in src/workers/decode/step-payload.ts. */
import type { StepRow } from "../../src/workers/decode/step-payload.ts";
import { type Field, message, timestamp } from "./protobuf-writer.ts";

export const TRAJECTORY = "5f3c0000-0000-4000-8000-000000000001";
export const CREATED_MS = 1_782_650_000_500;

export type RowMore = Omit<Partial<StepRow>, "idx" | "type" | "status" | "payload">;

/** A row whose payload says the same type and status as its columns. */
export function row(
	idx: number,
	type: number,
	status: number,
	fields: readonly Field[] = [],
	more: RowMore = {},
): StepRow {
	return { idx, type, status, payload: message([1, type], [4, status], ...fields), ...more };
}

/** The metadata of a step (field 5). */
export function metadata(idx: number, ...fields: readonly Field[]): Field {
	return [
		5,
		message([1, timestamp(CREATED_MS)], [3, 2], ...fields, [12, "exec-1"], [20, message([1, TRAJECTORY], [2, idx])]),
	];
}

/** A call, at 5.4 and 20.7. */
export function call(id: string, name: string, args: unknown): Buffer {
	return message([1, id], [2, name], [3, typeof args === "string" ? args : JSON.stringify(args)]);
}

/** Tokens of a model call (5.9): 12 without what the cache gave. */
export function usage(responseId: string, input = 12, output = 5, thinking = 2, cacheRead = 100): Buffer {
	return message(
		[1, 1016],
		[2, input],
		[3, output],
		[5, cacheRead],
		[6, 24],
		[9, thinking],
		[10, output - thinking],
		[11, responseId],
	);
}

/** A model call (type 15): `fields` of 20, and of its metadata. */
export function planner(
	idx: number,
	status: number,
	fields: readonly Field[],
	metadataFields: readonly Field[] = [],
): StepRow {
	return row(idx, 15, status, [metadata(idx, ...metadataFields), [20, message(...fields)]]);
}

/** A tool's row: its call, and what its kind has for itself. */
export function toolRow(
	idx: number,
	type: number,
	status: number,
	theCall: Buffer,
	fields: readonly Field[] = [],
	more: RowMore = {},
): StepRow {
	return row(idx, type, status, [metadata(idx, [4, theCall]), ...fields], more);
}

/** The same row with its payload's end cut off. */
export function torn(whole: StepRow, missingBytes: number): StepRow {
	const payload = whole.payload as Uint8Array;
	return { ...whole, payload: payload.subarray(0, payload.length - missingBytes) };
}
