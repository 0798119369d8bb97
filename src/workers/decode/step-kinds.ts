/**
 * agy's numbers of step types and statuses, and what they mean to whoever follows a conversation. Names from the
 * descriptors in agy's binary (1.0.8, 1.2.0, a build of 2026); up to about 60 a sister product uses the same numbers.
 */

import type { StepState } from "../../shared/events.ts";

/** What a step is, as far as it matters to whoever follows the conversation. */
export type StepKind =
	/** A model call: text, thinking, declared calls. */
	| "planner"
	/** A tool run, whatever its type: its metadata holds the call. */
	| "tool"
	| "subagent"
	| "user-input"
	| "error-message"
	| "checkpoint"
	/** agy's own notes and its messages to the model: not for a person. */
	| "bookkeeping"
	/** Nothing of these, or not yet: a tool's row may be there before its call. */
	| "other";

/** 10 is in no source. */
const STATUSES: Readonly<Record<number, readonly [name: string, state: StepState]>> = {
	0: ["unspecified", "active"],
	1: ["pending", "active"],
	2: ["running", "active"],
	3: ["done", "done"],
	4: ["invalid", "error"],
	5: ["cleared", "error"],
	6: ["canceled", "error"],
	7: ["error", "error"],
	8: ["generating", "active"],
	9: ["waiting", "active"],
	11: ["queued", "active"],
	12: ["interrupted", "error"],
};

const USER_INPUT = 14;
const PLANNER = 15;
const INVOKE_SUBAGENT = 127;
/** Kinds that the type alone decides, when the step executes no call. */
const KINDS: Readonly<Record<number, StepKind>> = {
	17: "error-message",
	23: "checkpoint",
	90: "bookkeeping",
	98: "bookkeeping",
	99: "bookkeeping",
	101: "bookkeeping",
	[INVOKE_SUBAGENT]: "subagent",
	139: "bookkeeping",
};

const TYPE_NAMES: Readonly<Record<number, string>> = {
	2: "finish",
	3: "plan_input",
	5: "code_action",
	6: "git_commit",
	7: "grep_search",
	8: "view_file",
	9: "list_directory",
	13: "view_code_item",
	14: "user_input",
	15: "planner_response",
	17: "error_message",
	21: "run_command",
	23: "checkpoint",
	24: "propose_code",
	25: "find",
	27: "suggested_responses",
	28: "command_status",
	29: "memory",
	31: "read_url_content",
	32: "view_content_chunk",
	33: "search_web",
	38: "mcp_tool",
	47: "view_file_outline",
	51: "list_resources",
	52: "read_resource",
	53: "lint_diff",
	65: "read_terminal",
	81: "task_boundary",
	82: "notify_user",
	86: "file_change",
	87: "move",
	90: "ephemeral_message",
	91: "generate_image",
	92: "delete_directory",
	98: "conversation_history",
	99: "knowledge_artifacts",
	100: "send_command_input",
	101: "system_message",
	102: "wait",
	103: "agency_tool_call",
	112: "shell_exec",
	126: "notebook_edit",
	127: "invoke_subagent",
	129: "notebook_read",
	131: "start_code_review",
	132: "generic",
	134: "notebook_execute",
	136: "rpc_action",
	138: "ask_question",
	139: "directory_rules",
	140: "tool_search",
};

/** The kind of a step of this type. A tool is known by the call that it executes, not by its type. */
export function toKind(type: number, callName: string | null): StepKind {
	if (type === PLANNER) return "planner";
	if (type === USER_INPUT) return "user-input";
	if (callName !== null && (type === INVOKE_SUBAGENT || callName === "invoke_subagent")) return "subagent";
	return callName === null ? (KINDS[type] ?? "other") : "tool";
}

/** agy's name of the type in lower case, or `type-<n>`. */
export function toTypeName(type: number): string {
	return TYPE_NAMES[type] ?? `type-${type}`;
}

/**
 * Everything terminal but DONE is an error: a step that was canceled, cleared, invalid or interrupted did not do what it
 * was for. A status that is not known counts as active; the end of agy ends it.
 */
export function toStatus(status: number): {
	readonly name: string;
	readonly state: StepState;
	readonly isKnown: boolean;
} {
	const [name, state] = STATUSES[status] ?? [`status-${status}`, "active"];
	return { name, state, isKnown: status in STATUSES };
}
