/**
 * agy's field map: one row of a conversation database -> a Step. Pure, and tolerant by rule: what is missing, unknown, of
 * another wire type or broken inside costs that one field and never the row. Nothing here throws.
 *
 * Sources of the field numbers: two databases of agy 1.0.10; the descriptors in agy's binary as published for 1.0.8 and
 * 1.2.0; what other readers saw of 1.1.5 to 1.3.1. A path such as 20.1 is field 20 of the payload and field 1 inside it.
 * Results of tools are in step-results.ts, errors in step-error.ts. Longer than other files because it is that map.
 */

import type { JsonObject, StepState, TokenUsage } from "../../shared/events.ts";
import { type WireFault, WireReader } from "./protobuf.ts";
import { type ErrorDetails, readErrorDetails, type StepError, toError } from "./step-error.ts";
import { type StepKind, toKind, toStatus, toTypeName } from "./step-kinds.ts";
import { readResult, type StepResult, toOutput } from "./step-results.ts";
import { fields, toArgs } from "./stream-json.ts";

/** A row of the table `steps`, as node:sqlite gives it: a blob as bytes, TEXT in a blob column as a string. */
export type StepRow = {
	readonly idx: number;
	/** Column `step_type`. */
	readonly type: number;
	readonly status: number;
	/** Column `step_payload`. */
	readonly payload: ColumnBlob;
	/** Column `error_details`: the same as field 31 of the payload. */
	readonly errorDetails?: ColumnBlob;
	/** Column `permissions`: what was decided about the step. */
	readonly permissions?: ColumnBlob;
};

export type ColumnBlob = Uint8Array | string | null;

export type StepCall = {
	/** The same in the model's declaration (20.7) and in the step that executes it (5.4). "" when it has none. */
	readonly id: string;
	readonly name: string;
	/** JSON text; cut short while the model writes it. */
	readonly args: string;
};

export type StepAgent = {
	readonly type: string;
	readonly role: string;
	readonly prompt: string;
	readonly conversationId: string;
};

export type Step = {
	readonly idx: number;
	readonly type: number;
	/** agy's name of the type in lower case, or `type-<n>`. */
	readonly typeName: string;
	readonly status: number;
	/** agy's name of the status in lower case, or `status-<n>` of one that is not known. */
	readonly statusName: string;
	/** `active` is open; the others are terminal. */
	readonly state: StepState;
	readonly isStatusKnown: boolean;
	readonly kind: StepKind;
	/** UTF-8, views into the payload: a text that grows is compared as bytes and decoded where it is new. */
	readonly text: Uint8Array;
	readonly thinking: Uint8Array;
	/** Whether a planner's text is a message of agy's to the model; `undecided` while it may still become one. */
	readonly noise: "none" | "noise" | "undecided";
	/** 2 is a normal stop; 0 when there is none yet. */
	readonly stopReason: number;
	readonly declaredCalls: readonly StepCall[];
	/** The call that this step executes. */
	readonly call: StepCall | null;
	/** What the tool returned, so far; null when nothing. Control characters are kept. At most 1 MiB. */
	readonly output: string | null;
	/** Of a command; negative when a signal ended it; null when the payload does not say, as with 0. */
	readonly exitCode: number | null;
	readonly error: StepError | null;
	/** The user, or the permissions in force, refused the step. */
	readonly isDenied: boolean;
	/** Of the model call; of a checkpoint it is that of a helper call. */
	readonly usage: TokenUsage | null;
	/** Unique per model call: the same usage may stand in several rows. */
	readonly responseId: string;
	/** What the user typed. */
	readonly userText: string;
	/** A title that a checkpoint gave the conversation. */
	readonly title: string;
	readonly agents: readonly StepAgent[];
	readonly trajectoryId: string;
	/** One per turn of the user. */
	readonly executionId: string;
	/** Unix time, ms. */
	readonly createdMs: number | null;
	readonly startedMs: number | null;
	readonly completedMs: number | null;
	/** Something inside the payload could not be read and was left out. */
	readonly isDamaged: boolean;
};

/**
 * `torn` and `corrupt` carry what stood before the place where the blob could not be read any further; of a torn one the
 * last text may be cut.
 */
export type Decoded<T> = { readonly kind: "ok" | WireFault; readonly value: T };

/** How agy's messages to the model begin when they come as a planner's text. */
const ENVELOPES = ["<SYSTEM_MESSAGE>", "[Message] timestamp="];
const DENIED = /permission check failed|user denied permission/i;
const TOOL_NAME = /^[A-Za-z_][\w.:/-]{0,127}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_CALLS = 1_000;
const NO_BYTES = new Uint8Array(0);

export function decodeStep(row: StepRow): Decoded<Step> {
	const reader = new WireReader(toBytes(row.payload));
	const found: Found = createFound();
	while (reader.next()) readStepField(reader, found);
	const fault = reader.fault ?? "ok";
	if (row.errorDetails && toError(found.errors, "") === null)
		readErrors(new WireReader(toBytes(row.errorDetails)), found);
	if (row.permissions) readPermissions(new WireReader(toBytes(row.permissions)), found);
	return { kind: fault, value: toStep(row, found, reader.isDamaged) };
}

/** A call's arguments; null when they are no JSON, as long as the model writes them. None at all are an empty object. */
export function parseCallArgs(args: string): JsonObject | null {
	if (args.trim() === "") return {};
	try {
		return toArgs(JSON.parse(args));
	} catch {
		return null; // Whoever asks waits for more, or shows none.
	}
}

// --- reading ---------------------------------------------------------------------------------------------------------

type Call = { id: string; name: string; otherName: string; args: string };

/** What the payload holds, before it is judged. */
type Found = {
	type: number;
	status: number;
	response: Uint8Array;
	modifiedResponse: Uint8Array;
	thinking: Uint8Array;
	stopReason: number;
	calls: Call[];
	call: Call | null;
	result: StepResult | null;
	errors: ErrorDetails | null;
	isRefused: boolean;
	usage: { input: number; output: number; thinking: number; response: number; cacheRead: number } | null;
	responseId: string;
	userItems: string;
	userText: string;
	query: string;
	title: string;
	/** Fields 1 to 5 of the subagent message, as texts. */
	agent: string[] | null;
	trajectoryId: string;
	executionId: string;
	createdMs: number | null;
	startedMs: number | null;
	generatedMs: number | null;
	completedMs: number | null;
};

function createFound(): Found {
	return {
		type: 0,
		status: 0,
		response: NO_BYTES,
		modifiedResponse: NO_BYTES,
		thinking: NO_BYTES,
		stopReason: 0,
		calls: [],
		call: null,
		result: null,
		errors: null,
		isRefused: false,
		usage: null,
		responseId: "",
		userItems: "",
		userText: "",
		query: "",
		title: "",
		agent: null,
		trajectoryId: "",
		executionId: "",
		createdMs: null,
		startedMs: null,
		generatedMs: null,
		completedMs: null,
	};
}

function readStepField(reader: WireReader, found: Found): void {
	switch (reader.field) {
		case 1:
			found.type = reader.int32(found.type);
			break;
		case 4:
			found.status = reader.int32(found.status);
			break;
		case 5:
			inside(reader, found, readMetadata);
			break;
		case 19:
			inside(reader, found, readUserInput);
			break;
		case 20:
			inside(reader, found, readPlanner);
			break;
		case 24:
			inside(reader, found, readErrorMessage);
			break;
		case 30:
			found.title = reader.textIn(10, found.title);
			break;
		case 31:
			inside(reader, found, readErrors);
			break;
		case 127:
			inside(reader, found, readAgent);
			break;
		default:
			found.result = readResult(reader, found.result);
	}
}

function readMetadata(reader: WireReader, found: Found): void {
	while (reader.next()) {
		switch (reader.field) {
			case 1:
				found.createdMs = reader.timestampMs(found.createdMs);
				break;
			case 4:
				found.call = callOf(reader, found.call);
				break;
			case 7:
				found.generatedMs = reader.timestampMs(found.generatedMs);
				break;
			case 8:
				found.completedMs = reader.timestampMs(found.completedMs);
				break;
			case 9:
				inside(reader, found, readUsage);
				break;
			case 12:
				found.executionId = reader.text(found.executionId);
				break;
			case 20:
				found.trajectoryId = reader.textIn(1, found.trajectoryId);
				break;
			case 32:
				found.startedMs = reader.timestampMs(found.startedMs);
				break;
		}
	}
}

function readPlanner(reader: WireReader, found: Found): void {
	while (reader.next()) {
		switch (reader.field) {
			case 1:
				found.response = reader.bytes(found.response);
				break;
			case 3:
				found.thinking = reader.bytes(found.thinking);
				break;
			case 7: {
				const call = found.calls.length < MAX_CALLS ? callOf(reader, null) : null;
				if (call) found.calls.push(call);
				break;
			}
			case 8:
				found.modifiedResponse = reader.bytes(found.modifiedResponse);
				break;
			case 12:
				found.stopReason = reader.int32(found.stopReason);
				break;
		}
	}
}

function callOf(reader: WireReader, before: Call | null): Call | null {
	if (!reader.enter()) return before;
	const call = before ?? { id: "", name: "", otherName: "", args: "" };
	while (reader.next()) {
		if (reader.field === 1) call.id = reader.text(call.id);
		else if (reader.field === 2) call.name = reader.text(call.name);
		else if (reader.field === 3) call.args = reader.text(call.args);
		else if (reader.field === 9) call.otherName = reader.text(call.otherName);
	}
	reader.leave();
	return call;
}

/** Field 1 is the model's number, no count; input (2) is without what the cache gave (5); output (3) is 9 and 10. */
function readUsage(reader: WireReader, found: Found): void {
	const usage = found.usage ?? { input: 0, output: 0, thinking: 0, response: 0, cacheRead: 0 };
	while (reader.next()) {
		switch (reader.field) {
			case 2:
				usage.input = reader.uint(usage.input);
				break;
			case 3:
				usage.output = reader.uint(usage.output);
				break;
			case 5:
				usage.cacheRead = reader.uint(usage.cacheRead);
				break;
			case 9:
				usage.thinking = reader.uint(usage.thinking);
				break;
			case 10:
				usage.response = reader.uint(usage.response);
				break;
			case 11:
				found.responseId = reader.text(found.responseId);
				break;
		}
	}
	found.usage = usage;
}

function readUserInput(reader: WireReader, found: Found): void {
	while (reader.next()) {
		if (reader.field === 1) found.query = reader.text(found.query);
		else if (reader.field === 2) found.userText = reader.text(found.userText);
		else if (reader.field === 3) found.userItems += reader.textIn(1, "");
	}
}

function readErrorMessage(reader: WireReader, found: Found): void {
	while (reader.next()) if (reader.field === 3) inside(reader, found, readErrors);
}

function readErrors(reader: WireReader, found: Found): void {
	found.errors = readErrorDetails(reader, found.errors);
}

function readAgent(reader: WireReader, found: Found): void {
	found.agent ??= [];
	while (reader.next()) {
		if (reader.field <= 5) found.agent[reader.field] = reader.text(found.agent[reader.field] ?? "");
	}
}

/** 2 {1 {1 kind, 2 value}, 2 decision}: 0 or absent is denied, 1 is granted. */
function readPermissions(reader: WireReader, found: Found): void {
	while (reader.next()) {
		if (reader.field === 2 && reader.enter()) {
			if (!isGranted(reader)) found.isRefused = true;
			reader.leave();
		}
	}
}

function isGranted(reader: WireReader): boolean {
	let decision = 0;
	while (reader.next()) if (reader.field === 2) decision = reader.int32(decision);
	return decision !== 0;
}

function inside(reader: WireReader, found: Found, read: (reader: WireReader, found: Found) => void): void {
	if (!reader.enter()) return;
	read(reader, found);
	reader.leave();
}

/** The bytes of a blob's column. */
export function toBytes(blob: ColumnBlob): Uint8Array {
	if (blob === null) return NO_BYTES;
	return typeof blob === "string" ? Buffer.from(blob) : blob;
}

// --- judging ---------------------------------------------------------------------------------------------------------

function toStep(row: StepRow, found: Found, isDamaged: boolean): Step {
	const type = row.type || found.type;
	const status = row.status || found.status;
	const { name: statusName, state, isKnown } = toStatus(status);
	const call = toCall(found.call);
	const kind = toKind(type, call?.name ?? null);
	const isFinal = state !== "active";
	const [preferred, other] = isFinal
		? [found.modifiedResponse, found.response]
		: [found.response, found.modifiedResponse];
	const text = preferred.length > 0 ? preferred : other;
	const error = toError(found.errors, found.result?.error ?? "");
	return {
		idx: row.idx,
		type,
		typeName: toTypeName(type),
		status,
		statusName,
		state,
		isStatusKnown: isKnown,
		kind,
		text,
		thinking: found.thinking,
		noise: kind === "planner" ? toNoise(text, isFinal) : "none",
		stopReason: found.stopReason,
		declaredCalls: found.calls.map((declared) => toCall(declared) as StepCall),
		call,
		output: toOutput(found.result),
		exitCode: found.result?.exitCode ?? null,
		error,
		// While agy asks, the decision that is not there yet looks like a refusal.
		isDenied:
			(isFinal && found.isRefused) ||
			found.result?.isRejected === true ||
			(error !== null && DENIED.test(error.message)),
		usage: toUsage(found.usage),
		responseId: found.responseId,
		userText: found.userItems || found.userText || found.query,
		title: found.title,
		agents: kind === "subagent" ? toAgents(call, found.agent ?? []) : [],
		trajectoryId: found.trajectoryId,
		executionId: found.executionId,
		createdMs: found.createdMs,
		startedMs: found.startedMs,
		completedMs: found.completedMs ?? found.generatedMs,
		isDamaged,
	};
}

function toCall(call: Call | null): StepCall | null {
	// Field 9 is a second name to one reader and something else to another: it stands in only when it looks like one.
	return call && { id: call.id, name: call.name || (TOOL_NAME.exec(call.otherName)?.[0] ?? ""), args: call.args };
}

function toNoise(text: Uint8Array, isFinal: boolean): Step["noise"] {
	let from = 0;
	while (from < text.length && (text[from] as number) <= 0x20) from++;
	if (from === text.length) return "none";
	// Cheap for nearly every text: neither envelope begins otherwise.
	if (text[from] !== 0x3c && text[from] !== 0x5b) return "none";
	const start = Buffer.from(text.subarray(from, from + 32)).toString("latin1");
	if (ENVELOPES.some((envelope) => start.startsWith(envelope))) return "noise";
	return !isFinal && ENVELOPES.some((envelope) => envelope.startsWith(start)) ? "undecided" : "none";
}

function toUsage(usage: Found["usage"]): TokenUsage | null {
	if (!usage) return null;
	const output = usage.output || usage.thinking + usage.response;
	if (usage.input + output + usage.cacheRead === 0) return null;
	return { input: usage.input, output, thinking: usage.thinking, cacheRead: usage.cacheRead };
}

/** Sources differ about the subagent message: an id in front means {1 id, 3 role, 4 type}, else {1 name, 2 prompt, 5 id}. */
function toAgents(call: StepCall | null, agent: readonly (string | undefined)[]): readonly StepAgent[] {
	const [, first = "", second = "", third = "", fourth = "", fifth = ""] = agent;
	const told: StepAgent = UUID.test(first)
		? { type: fourth, role: third, prompt: "", conversationId: first }
		: { type: first, role: "", prompt: second, conversationId: UUID.test(fifth) ? fifth : "" };
	const args = (call && parseCallArgs(call.args)) ?? {};
	const list = argOf(args, "subagents");
	const asked = (Array.isArray(list) ? list : [args]).map((entry): StepAgent => {
		const spec = (fields(entry) ?? {}) as JsonObject;
		const text = (...names: string[]) =>
			names.map((name) => argOf(spec, name)).find((value) => typeof value === "string");
		return {
			type: String(text("typename", "type", "name") ?? ""),
			role: String(text("role") ?? ""),
			prompt: String(text("initialprompt", "prompt") ?? ""),
			conversationId: "",
		};
	});
	const only = asked.length === 1 ? asked[0] : undefined;
	if (!only) return asked;
	return [
		{
			type: only.type || told.type,
			role: only.role || told.role,
			prompt: only.prompt || told.prompt,
			conversationId: told.conversationId,
		},
	];
}

/** Keys of arguments are spelled in several ways: TypeName, typeName, type_name. */
function argOf(args: JsonObject, name: string): unknown {
	return Object.entries(args).find(([key]) => key.replaceAll("_", "").toLowerCase() === name)?.[1];
}
