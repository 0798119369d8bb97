/**
 * The blobs beside the steps: what was asked of the model in each call, the executor's state of each turn, the trajectory's
 * own description and its links. Sizes and order of fields are those of real files; most of the content is padding.
 */
import { createHash } from "node:crypto";
import { opaqueBytes } from "./field-description.ts";
import {
	bytesField,
	doubleField,
	floatField,
	joinFields,
	messageField,
	textField,
	timeField,
	varintField,
} from "./protobuf-writer.ts";
import { MODEL_ENUM, stepList } from "./step-row.ts";
import { splitFields, withoutFields } from "./wire-fields.ts";

export type ModelCallBlob = {
	readonly steps: readonly number[];
	readonly executionId: string;
	readonly usage: Buffer | undefined;
	/** Size of the whole prompt, which only the newest call keeps. */
	readonly promptBytes: number;
	/**
	 * Saves before this one. The order of the map changes with each, and the length: SQLite writes only the pages of a value
	 * that differ as long as its length stays, and then the log would not grow as agy's does.
	 */
	readonly save: number;
};

const OPAQUE_BYTES = 364;
const EXECUTOR_BYTES = 3_000;
/** Fields of the chat model message that an older call loses: system prompt, prompts, tool definitions. */
const PROMPT_FIELDS = [1, 2, 8];
const MAP_KEYS = ["conversation_id", "trajectory_id", "user_tier"];

/** Root order as in real rows: the largest part stands last. */
export function modelCallBlob(call: ModelCallBlob): Buffer {
	return joinFields(
		stepList(call.steps),
		messageField(3, varintField(1, 1), floatField(2, 0.5)),
		textField(4, call.executionId),
		bytesField(8, opaqueBytes(OPAQUE_BYTES)),
		messageField(
			1,
			textField(1, "You are a simulated agent. ".repeat(Math.ceil(call.promptBytes / 27)).slice(0, call.promptBytes)),
			messageField(2, varintField(2, 1), textField(3, `What the conversation said so far${".".repeat(call.save + 1)}`)),
			varintField(3, MODEL_ENUM),
			call.usage && bytesField(4, call.usage),
			messageField(7, textField(1, "auto")),
			messageField(8, textField(1, "view_file"), textField(2, "Looks at a file.")),
			messageField(9, varintField(2, -1), timeField(4, Date.now()), messageField(10, varintField(1, 17_000))),
			messageField(11, varintField(1, 1)),
			messageField(15, varintField(2, 65_535), doubleField(5, 0.4), doubleField(8, 0.95), textField(9, "<|end|>")),
			call.usage && messageField(17, bytesField(2, call.usage), textField(4, call.executionId)),
			textField(19, "gemini-pro-default"),
			...rotated(MAP_KEYS, call.save).map((key) =>
				messageField(20, textField(1, key), textField(2, `value of ${key}`)),
			),
			textField(21, "Gemini 3.1 Pro (High)"),
			textField(22, "gemini-3.1-pro-high"),
		),
	);
}

/** What is left of a call's blob once the next one has been made. */
export function trimmedModelCall(blob: Buffer): Buffer {
	const chat = splitFields(blob)?.find(({ field }) => field === 1)?.content;
	return chat === undefined
		? blob
		: joinFields(withoutFields(blob, [1]), bytesField(1, withoutFields(chat, PROMPT_FIELDS)));
}

export function executorBlob(executionId: string): Buffer {
	return joinFields(textField(1, executionId), bytesField(2, opaqueBytes(EXECUTOR_BYTES)));
}

export type TrajectoryDescription = {
	readonly conversationId: string;
	/** Folders given with --add-dir; without any, the fields are absent. */
	readonly workspaces: readonly string[];
	readonly agentName?: string;
	readonly parentId?: string;
	readonly rootId?: string;
	readonly depth?: number;
};

export function trajectoryBlob(trajectory: TrajectoryDescription): Buffer {
	const uris = trajectory.workspaces.map((folder) => `file://${folder}`);
	return joinFields(
		...uris.map((uri) => messageField(1, textField(1, uri), textField(2, uri))),
		timeField(2, Date.now()),
		textField(3, uuidOf(`${trajectory.conversationId} init`)),
		trajectory.agentName === undefined ? undefined : messageField(4, textField(1, trajectory.agentName)),
		trajectory.parentId === undefined ? undefined : textField(5, trajectory.parentId),
		textField(6, trajectory.rootId ?? trajectory.conversationId),
		...uris.map((uri) => textField(7, uri)),
		bytesField(15, opaqueBytes(OPAQUE_BYTES)),
		trajectory.depth === undefined ? undefined : varintField(17, trajectory.depth),
		textField(18, "default-cli-project"),
	);
}

/** A link to a step elsewhere; kind 2 is a fork. A rewind links the conversation to itself. */
export function parentReference(
	trajectoryId: string,
	stepIdx: number,
	kind: number | undefined,
	conversationId: string,
): Buffer {
	return joinFields(
		textField(1, trajectoryId),
		stepIdx === 0 ? undefined : varintField(2, stepIdx),
		kind === undefined ? undefined : varintField(5, kind),
		textField(6, conversationId),
	);
}

/** The same UUID for the same seed, in the form of a random one. */
export function uuidOf(seed: string): string {
	const hex = createHash("sha256").update(seed).digest("hex");
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function rotated(keys: readonly string[], by: number): readonly string[] {
	const start = by % keys.length;
	return [...keys.slice(start), ...keys.slice(0, start)];
}
