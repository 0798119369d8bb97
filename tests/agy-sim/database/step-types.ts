/**
 * Numbers of step types and statuses, and where a kind of step keeps its own message: the field has no relation to the type.
 */

export const STATUS = {
	pending: 1,
	running: 2,
	done: 3,
	canceled: 6,
	error: 7,
	generating: 8,
	waiting: 9,
	queued: 11,
} as const;

/** Statuses after which a row does not change any more. */
export const TERMINAL_STATUSES: readonly number[] = [3, 4, 5, 6, 7, 12];

export const SOURCE = { model: 2, user: 4, system: 5 } as const;

export type StepKind = {
	readonly type: number;
	/** Payload field of the kind's message; undefined where nobody has published it. */
	readonly field: number | undefined;
};

export const USER_INPUT: StepKind = { type: 14, field: 19 };
export const PLANNER: StepKind = { type: 15, field: 20 };
export const ERROR_MESSAGE: StepKind = { type: 17, field: 24 };
export const CHECKPOINT: StepKind = { type: 23, field: 30 };
export const EPHEMERAL: StepKind = { type: 90, field: 103 };
export const HISTORY: StepKind = { type: 98, field: 111 };
export const SYSTEM_MESSAGE: StepKind = { type: 101, field: 114 };
const GENERIC: StepKind = { type: 132, field: 140 };
const INVOKE_SUBAGENT: StepKind = { type: 127, field: 127 };
/** A type that is in no published list. */
export const UNKNOWN: StepKind = { type: 250, field: undefined };

const FILE_EDIT: StepKind = { type: 5, field: 10 };

const TOOL_KINDS: Readonly<Record<string, StepKind>> = {
	write_to_file: FILE_EDIT,
	replace_file_content: FILE_EDIT,
	multi_replace_file_content: FILE_EDIT,
	grep_search: { type: 7, field: 13 },
	view_file: { type: 8, field: 14 },
	list_dir: { type: 9, field: 15 },
	run_command: { type: 21, field: 28 },
	find_by_name: { type: 25, field: 34 },
	command_status: { type: 28, field: 37 },
	read_url_content: { type: 31, field: 40 },
	search_web: { type: 33, field: 42 },
	call_mcp_tool: { type: 38, field: 47 },
	invoke_subagent: INVOKE_SUBAGENT,
	ask_question: { type: 138, field: undefined },
};

/** `kinds`: a type for each tool, as before 1.2.0; `generic`: the one type that the later CLI wraps every result in. */
export type ToolDialect = "kinds" | "generic";

export function toolKind(toolName: string, dialect: ToolDialect): StepKind {
	return dialect === "generic" ? GENERIC : (TOOL_KINDS[toolName] ?? GENERIC);
}
