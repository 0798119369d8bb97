/** A step whose row says what it is -> the AgyEvent that says it. Pure; the words are those of agy's printed output. */

import type { AgyEvent, JsonObject, StepState, SubagentEvent, ToolEvent } from "../../shared/events.ts";
import { LIVE_OUTPUT_CHARS } from "../../shared/limits.ts";
import type { Step } from "../decode/step-payload.ts";

const SYSTEM_MESSAGE_TYPE = 101;

/** A tool's step, or a subagent's, in the given state. Of a running one the end of its output, as much as a card shows. */
export function toStepEvent(step: Step, state: StepState, name: string, args: JsonObject): ToolEvent | SubagentEvent {
	const duration = state === "active" ? {} : durationOf(step);
	if (step.kind === "subagent") return { kind: "subagent", step: step.idx, state, agents: toAgents(step), ...duration };
	const common = { kind: "tool", step: step.idx, state, name: name || "tool", args, ...duration } as const;
	if (state === "active")
		return step.state === "active" && step.output
			? { ...common, output: step.output.slice(-LIVE_OUTPUT_CHARS) }
			: common;
	const error = toToolError(step);
	return { ...common, ...(step.output !== null && { output: step.output }), ...(error && { error }) };
}

function toAgents(step: Step): SubagentEvent["agents"] {
	return step.agents.map(({ conversationId, ...agent }) => ({ ...agent, ...(conversationId && { conversationId }) }));
}

function toToolError(step: Step): NonNullable<ToolEvent["error"]> | null {
	const type = step.statusName === "error" || step.state !== "error" ? "TOOL_ERROR" : step.statusName.toUpperCase();
	if (step.error) return { type, message: step.error.message };
	if (step.state !== "error") return null;
	return { type, message: type === "TOOL_ERROR" ? "The tool failed." : `The step was ${step.statusName}.` };
}

/** A step without content for a person, under the name that agy prints. */
export function toNotice(step: Step): AgyEvent {
	return { kind: "notice", step: step.idx, type: toNoticeType(step) };
}

function toNoticeType(step: Step): string {
	switch (step.kind) {
		case "user-input":
			return "user_input";
		case "error-message":
			return "error_message";
		case "checkpoint":
			return "checkpoint";
		case "planner":
			return "system_message";
		default:
			return step.type === SYSTEM_MESSAGE_TYPE ? "system_message" : "unknown";
	}
}

/** How long it took, for an event that says so. */
export function durationOf({ createdMs, startedMs, completedMs }: Step): { readonly durationMs?: number } {
	const fromMs = startedMs ?? createdMs;
	return fromMs === null || completedMs === null || completedMs < fromMs ? {} : { durationMs: completedMs - fromMs };
}
