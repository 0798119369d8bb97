/**
 * One parsed line of agy's stream-json output -> AgyEvents. Pure, and tolerant by rule: a field may be missing, spelled
 * as older versions do, or hold a number as a string; what is unknown survives as `unknown`. Nothing here throws.
 * Shapes and their evidence: docs/protocols/agy-stream-json.md.
 */

import type {
	AgyEvent,
	JsonObject,
	JsonValue,
	StepState,
	SubagentEvent,
	TokenUsage,
	ToolEvent,
} from "../../shared/events.ts";
import { MAX_NESTING } from "../../shared/limits.ts";

type Fields = { readonly [key: string]: unknown };

/** Steps that tell a person nothing. Their usage counts all the same. */
const SILENT_STEP_TYPES: ReadonlySet<string> = new Set([
	"user_input",
	"system_message",
	"error_message",
	"checkpoint",
	"title",
	"unknown",
]);

/** Maps one line's value. Most lines give one event; a line may give several, or none when it says nothing new. */
export function toEvents(line: Fields): readonly AgyEvent[] {
	const name = text(line.event) || text(line.type);
	const payload = fields(line[name]) ?? line;
	switch (name) {
		case "init":
			return [toReady(line, payload)];
		case "step_update":
			return toStepEvents(payload);
		case "result":
			return [toTurnEnd(line, payload)];
		default:
			return [{ kind: "unknown", what: "event", name: name.slice(0, 80) }];
	}
}

/** The line's value as an object, or null when it is anything else. */
export function fields(value: unknown): Fields | null {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function toReady(line: Fields, init: Fields): AgyEvent {
	return {
		kind: "ready",
		conversationId: text(line.conversation_id) || text(init.conversation_id),
		model: text(init.model),
		permissionMode: text(init.permission_mode),
		toolCount: list(init.tools).length,
	};
}

function toTurnEnd(line: Fields, result: Fields): AgyEvent {
	const usage = toUsage(result.usage);
	return {
		kind: "turn-end",
		status: text(result.status).toUpperCase(),
		text: text(result.response),
		error: errorMessage(result.error),
		conversationId: text(result.conversation_id) || text(line.conversation_id),
		turnCount: number(result.num_turns) ?? 0,
		deniedActions: list(result.denied_actions).map((denied) => ({
			action: text(fields(denied)?.action) || text(denied),
			displayName: text(fields(denied)?.display_name),
		})),
		...(usage && { usage }),
	};
}

function toStepEvents(step: Fields): readonly AgyEvent[] {
	const type = text(step.step_type);
	const index = number(step.step_index) ?? -1;
	const state = toState(step.state);
	const events: AgyEvent[] = [];
	if (state === null) {
		const usage = type === "agent_response" ? toUsage(step.usage) : null; // Other steps bring it themselves.
		events.push({ kind: "unknown", what: "step-state", name: text(step.state).slice(0, 80), ...(usage && { usage }) });
	}
	switch (type) {
		case "agent_response":
			pushAgentEvents(events, step, index, state ?? "active");
			break;
		case "tool":
			events.push(toToolEvent(step, index, state ?? "active"));
			break;
		case "subagent":
			events.push(toSubagentEvent(step, index, state ?? "active"));
			break;
		default:
			events.push(toSilentEvent(step, index, type));
	}
	return events;
}

function pushAgentEvents(events: AgyEvent[], step: Fields, index: number, state: StepState): void {
	const thinking = text(step.thinking_delta) || text(step.thought_text);
	if (thinking) events.push({ kind: "thinking", step: index, text: thinking });
	const answer = text(step.text_delta) || text(step.response_text);
	if (answer) events.push({ kind: "text", step: index, text: answer });
	if (state === "active") return;
	const usage = toUsage(step.usage);
	events.push({ kind: "model-call", step: index, ...(usage && { usage }), ...durationOf(step) });
}

function toToolEvent(step: Fields, index: number, state: StepState): ToolEvent {
	const info = fields(step.tool_info) ?? {};
	const output = info.output ?? step.output;
	const failure = info.error ?? step.error ?? step.error_message;
	return {
		kind: "tool",
		step: index,
		state,
		name: text(step.tool_name) || text(info.name) || "tool",
		args: toArgs(info.parameters),
		...(output !== undefined && output !== null && { output: typeof output === "string" ? output : toJson(output) }),
		...(failure !== undefined &&
			failure !== null && {
				error: { type: text(fields(failure)?.type) || "TOOL_ERROR", message: errorMessage(failure) },
			}),
		...durationOf(step),
	};
}

function toSubagentEvent(step: Fields, index: number, state: StepState): SubagentEvent {
	const info = fields(step.subagent_info) ?? {};
	const agents = Array.isArray(info.subagents) ? info.subagents : [info];
	return {
		kind: "subagent",
		step: index,
		state,
		agents: agents.map((entry) => {
			const agent = fields(entry) ?? {};
			const conversationId = text(agent.conversation_id);
			return {
				type: text(agent.type_name),
				role: text(agent.role),
				prompt: text(agent.initial_prompt),
				...(conversationId && { conversationId }),
			};
		}),
		...durationOf(step),
	};
}

function toSilentEvent(step: Fields, index: number, type: string): AgyEvent {
	const usage = toUsage(step.usage);
	if (SILENT_STEP_TYPES.has(type)) return { kind: "notice", step: index, type, ...(usage && { usage }) };
	return { kind: "unknown", what: "step-type", name: type.slice(0, 80), ...(usage && { usage }) };
}

function toState(value: unknown): StepState | null {
	switch (text(value).toUpperCase()) {
		case "ACTIVE":
			return "active";
		case "DONE":
		case "OK":
			return "done";
		case "ERROR":
			return "error";
		default:
			return null;
	}
}

function toUsage(value: unknown): TokenUsage | null {
	const usage = fields(value);
	if (!usage) return null;
	return {
		input: number(usage.input_tokens) ?? 0,
		output: number(usage.output_tokens) ?? 0,
		thinking: number(usage.thinking_tokens) ?? 0,
		cacheRead: number(usage.cache_read_tokens) ?? 0,
	};
}

/** A call's arguments, from a value or from its JSON text; what is no object gives none. Nesting is cut. */
export function toArgs(value: unknown): JsonObject {
	const parsed = typeof value === "string" ? parseJson(value) : value;
	return toShallow(fields(parsed) ?? {}) as JsonObject;
}

function toJson(value: unknown): string {
	return JSON.stringify(toShallow(value));
}

/** Encoders recurse, and what a model nests can be deeper than a stack: the rest is cut. */
function toShallow(value: unknown, levels = MAX_NESTING): JsonValue {
	if (typeof value !== "object" || value === null) return value as JsonValue;
	if (levels === 0) return "…";
	if (Array.isArray(value)) return value.map((entry) => toShallow(entry, levels - 1));
	return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, toShallow(entry, levels - 1)]));
}

function parseJson(source: string): JsonValue | undefined {
	try {
		return JSON.parse(source) as JsonValue;
	} catch {
		return undefined; // Arguments that are no JSON are shown as none; the step itself stands.
	}
}

function durationOf(step: Fields): { readonly durationMs?: number } {
	const seconds = number(step.duration_seconds);
	return seconds === null || !Number.isFinite(seconds * 1000) ? {} : { durationMs: seconds * 1000 };
}

function errorMessage(value: unknown): string {
	if (typeof value === "string") return value;
	const error = fields(value);
	return error ? text(error.message) || toJson(error) : "";
}

function text(value: unknown): string {
	return typeof value === "string" ? value : "";
}

/** A finite number, also from its decimal spelling. */
function number(value: unknown): number | null {
	const parsed = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
	return typeof parsed === "number" && Number.isFinite(parsed) ? parsed + 0 : null; // "+ 0" makes -0 a plain zero.
}

function list(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}
