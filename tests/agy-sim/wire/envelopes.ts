/**
 * The three lines agy prints: init, step_update, result. Keys stand in the order of published captures; a field without a
 * value is left out, never null. The conversation id stands beside the payload in init and inside it in the other two.
 */
import type { Usage } from "./usage.ts";

export type InitFields = {
	readonly model?: string | undefined;
	readonly agent?: string | undefined;
	readonly cwd: string;
	readonly tools?: readonly string[] | undefined;
	readonly permissionMode: string;
	readonly jsonSchema?: unknown;
};

export type ToolInfo = {
	readonly name: string;
	readonly parameters: Readonly<Record<string, unknown>>;
	readonly output?: string | undefined;
	readonly error?: { readonly type: string; readonly message: string } | undefined;
};

export type StepFields = {
	readonly stepIndex: number;
	readonly state: string;
	readonly stepType: string;
	readonly toolName?: string | undefined;
	/** Text under any of the keys parsers look for; the real one is text_delta. */
	readonly text?: { readonly key: string; readonly value: string } | undefined;
	readonly durationSeconds?: number | undefined;
	readonly usage?: Usage | undefined;
	readonly toolInfo?: ToolInfo | undefined;
	/** Beside tool_info, as one old fixture has it. */
	readonly output?: string | undefined;
	readonly subagentInfo?: unknown;
};

export type ResultFields = {
	readonly conversationId: string;
	readonly status: string;
	readonly response: string;
	readonly error?: string | undefined;
	readonly durationSeconds: number;
	readonly numTurns: number;
	readonly usage: Usage;
	readonly structuredOutput?: unknown;
	readonly jsonSchema?: unknown;
	readonly deniedActions?: readonly DeniedAction[] | undefined;
	readonly command?: { readonly name: string; readonly data: unknown } | undefined;
	readonly extra?: Readonly<Record<string, unknown>> | undefined;
};

export type DeniedAction = { readonly action: string; readonly display_name: string };

// JSON.stringify leaves out undefined values, which is what makes optional fields vanish below.

export function initEvent(conversationId: string, init: InitFields, idPlace: "beside" | "inside"): unknown {
	return {
		event: "init",
		conversation_id: idPlace === "beside" ? conversationId : undefined,
		init: {
			conversation_id: idPlace === "inside" ? conversationId : undefined,
			model: init.model,
			agent: init.agent,
			cwd: init.cwd,
			tools: init.tools,
			permission_mode: init.permissionMode,
			json_schema: init.jsonSchema,
		},
	};
}

export function stepEvent(conversationId: string, step: StepFields): unknown {
	return {
		event: "step_update",
		step_update: {
			conversation_id: conversationId,
			step_index: step.stepIndex,
			state: step.state,
			step_type: step.stepType,
			tool_name: step.toolName,
			...(step.text === undefined ? {} : { [step.text.key]: step.text.value }),
			duration_seconds: step.durationSeconds,
			usage: step.usage,
			tool_info: step.toolInfo,
			output: step.output,
			subagent_info: step.subagentInfo,
		},
	};
}

/** The payload of a result event, which is also all that `--output-format json` prints. */
export function resultPayload(result: ResultFields): unknown {
	return {
		conversation_id: result.conversationId,
		status: result.status,
		response: result.response,
		error: result.error,
		duration_seconds: result.durationSeconds,
		num_turns: result.numTurns,
		usage: result.usage,
		structured_output: result.structuredOutput,
		json_schema: result.jsonSchema,
		denied_actions: result.deniedActions?.length ? result.deniedActions : undefined,
		command: result.command,
		...result.extra,
	};
}

export function resultEvent(result: ResultFields): unknown {
	return { event: "result", result: resultPayload(result) };
}

/** One line of JSON; with `escapeHtml` the way Go's encoder writes it by default. */
export function toJsonLine(value: unknown, escapeHtml: boolean): string {
	const line = JSON.stringify(value);
	if (!escapeHtml) return line;
	return line.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
