/** AgyEvents as short as a test can say them. */
import type {
	AgyEvent,
	StepState,
	SubagentEvent,
	TokenUsage,
	ToolEvent,
	TurnEndEvent,
} from "../../src/shared/events.ts";

export const ready: AgyEvent = { kind: "ready", conversationId: "c1", model: "", permissionMode: "", toolCount: 0 };
export const notice: Extract<AgyEvent, { kind: "notice" }> = { kind: "notice", step: 0, type: "user_input" };
export const unknown: Extract<AgyEvent, { kind: "unknown" }> = { kind: "unknown", what: "event", name: "hologram" };

export function text(piece: string, step = 1): AgyEvent {
	return { kind: "text", step, text: piece };
}

export function thinking(piece: string, step = 1): AgyEvent {
	return { kind: "thinking", step, text: piece };
}

export function modelCall(usage?: TokenUsage, step = 1): AgyEvent {
	return { kind: "model-call", step, ...(usage && { usage }) };
}

export function tool(step: number, state: StepState, more: Partial<ToolEvent> = {}): ToolEvent {
	return { kind: "tool", step, state, name: "run_command", args: { CommandLine: "make" }, ...more };
}

export function failedTool(step: number, message: string): ToolEvent {
	return tool(step, "error", { error: { type: "TOOL_ERROR", message } });
}

export function subagent(step: number, state: StepState, more: Partial<SubagentEvent> = {}): SubagentEvent {
	return { kind: "subagent", step, state, agents: [{ type: "researcher", role: "", prompt: "Find it" }], ...more };
}

export function turnEnd(more: Partial<TurnEndEvent> = {}): TurnEndEvent {
	return {
		kind: "turn-end",
		status: "SUCCESS",
		text: "",
		error: "",
		conversationId: "c0ffee",
		turnCount: 1,
		deniedActions: [],
		...more,
	};
}
