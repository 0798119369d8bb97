/**
 * Rows a script writes field by field. Unless it says otherwise, type, status and metadata are put around the kind's own
 * message, so that a script names only what it is about: {"20": {"1": "text"}}.
 */
import type { SQLInputValue } from "node:sqlite";
import type { ColumnValue, RowScript } from "../scenario/database.ts";
import type { RowValues } from "./database-file.ts";
import { encodeMessage, fromHex, listFields, type MessageDescription } from "./field-description.ts";
import type { StepContext } from "./step-row.ts";
import { SOURCE, USER_INPUT } from "./step-types.ts";

type Fields = readonly (readonly [string, unknown])[];

/** Payload fields that also are a column. */
const COPIED_FIELDS: Readonly<Record<string, string>> = { 5: "metadata", 31: "error_details", 148: "task_details" };

export function scriptedColumns(context: StepContext, script: RowScript): RowValues {
	const { idx, type, status, payload = {}, columns = {} } = script;
	const others = Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, columnValue(value)]));
	const frame = { idx, step_type: type, status };
	if (payload === null) return { ...frame, step_payload: null, ...others };
	if (typeof payload === "string") return { ...frame, step_payload: fromHex(payload), ...others };
	if ("$text" in payload) return { ...frame, step_payload: String(payload.$text), ...others };
	const message = pinned(script.envelope === false ? payload : withEnvelope(context, script, payload));
	return { ...frame, ...copies(message), step_payload: encodeMessage(message), ...others };
}

export function columnValue(value: ColumnValue): SQLInputValue {
	return typeof value === "object" && value !== null ? encodeMessage(value) : value;
}

function withEnvelope(context: StepContext, script: RowScript, payload: MessageDescription): MessageDescription {
	if (payload.of !== undefined) {
		return { ...payload, of: withEnvelope(context, script, payload.of as MessageDescription) }; // cut or lengthened whole
	}
	const fields = listFields(payload);
	if (fields === undefined) return payload;
	const missing = (key: string, value: unknown): Fields => (has(fields, key) ? [] : [[key, value]]);
	const standard = standardMetadata(context, script);
	return {
		$fields: [
			...missing("1", script.type),
			...missing("4", script.status),
			...missing("5", standard),
			...fields.map(([key, value]) => [key, key === "5" ? merged(standard, value) : value]),
		],
	};
}

function standardMetadata(
	{ trajectoryId, cascadeId, executionId }: StepContext,
	script: RowScript,
): MessageDescription {
	const { idx, type, status } = script;
	return {
		1: { $time: "now" },
		3: type === USER_INPUT.type ? SOURCE.user : SOURCE.model,
		12: executionId,
		20: { 1: trajectoryId, ...(idx === 0 ? {} : { 2: idx }), 4: cascadeId },
		26: { 1: { 1: status, 2: { $time: "now" } } },
	};
}

/** The given fields of the metadata over the standard ones; an exact list stands for itself. */
function merged(standard: MessageDescription, given: unknown): unknown {
	if (typeof given !== "object" || given === null || Array.isArray(given)) return given;
	return Object.keys(given).some((key) => key.startsWith("$")) ? given : { ...standard, ...given };
}

/** The fields that also are a column as fixed bytes: encoded once, so that times in them are the same in both places. */
function pinned(message: MessageDescription): MessageDescription {
	if (message.of !== undefined) return { ...message, of: pinned(message.of as MessageDescription) };
	const fields = listFields(message);
	if (fields === undefined) return message;
	return {
		$fields: fields.map(([key, value]) =>
			key in COPIED_FIELDS && isMessage(value) ? [key, { $hex: encodeMessage(value).toString("hex") }] : [key, value],
		),
	};
}

function copies(message: MessageDescription): RowValues {
	const columns: Record<string, SQLInputValue> = {};
	for (const [key, value] of listFields((message.of as MessageDescription | undefined) ?? message) ?? []) {
		const column = COPIED_FIELDS[key];
		if (column !== undefined && isMessage(value)) columns[column] = encodeMessage(value);
	}
	return { metadata: null, error_details: null, task_details: null, ...columns };
}

/** Length-delimited content, as opposed to one of the other wire types. */
function isMessage(value: unknown): value is MessageDescription {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
	return Object.keys(value).every((key) => !/^\$(varint|packed|fixed|float|double|group|time)/.test(key));
}

function has(fields: Fields, key: string): boolean {
	return fields.some(([name]) => name === key);
}
