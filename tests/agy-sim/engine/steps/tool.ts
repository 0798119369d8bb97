/**
 * Native tool calls: hooks first, then the permission check, then ACTIVE frames and the end. Nothing is executed; a tool
 * says what its script says, and writes a file when the script has one.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { RecordedTool } from "../../database/tool-rows.ts";
import { brainPath } from "../../process/home.ts";
import type { FileToWrite, StepOf, ToolScript } from "../../scenario/step.ts";
import type { StepFields, ToolInfo } from "../../wire/envelopes.ts";
import { actionOf, isPermitted } from "../permissions.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";
import { touch, waitForThing } from "./process-steps.ts";

const TOOL_SECONDS = 0.02;

/** A call that has begun: its script with the placeholders filled in, and how its frames start. */
export type ToolCall = {
	readonly tool: ToolScript;
	readonly frame: Pick<StepFields, "stepIndex" | "stepType" | "toolName">;
	readonly parameters: ToolInfo["parameters"];
	/** Why it must not run; undefined when it may. */
	readonly refusal: { readonly message: string; readonly isDenial: boolean } | undefined;
};

export async function runTool(run: TurnRun, tool: ToolScript): Promise<StepOutcome> {
	const call = await beginTool(run, tool);
	return call === undefined ? "go-on" : endTool(run, call);
}

export async function runParallelTools(run: TurnRun, step: StepOf<"parallel">): Promise<StepOutcome> {
	const calls: (ToolCall | undefined)[] = [];
	for (const tool of step.tools) calls.push(await beginTool(run, tool));
	let outcome: StepOutcome = "go-on";
	for (const position of step.finishOrder ?? calls.keys()) {
		const call = calls[position];
		if (call !== undefined && (await endTool(run, call)) === "end-turn") outcome = "end-turn";
	}
	return outcome;
}

/** Everything up to the last ACTIVE frame; undefined when the call is turned down before it becomes a step. */
export async function beginTool(run: TurnRun, script: ToolScript): Promise<ToolCall | undefined> {
	const tool = run.fill(script);
	const stepIndex = run.takeStepIndex();
	if (tool.end === "rejected") {
		await run.step({ stepIndex, state: "DONE", stepType: "error_message" });
		return undefined;
	}
	const parameters = sortKeys(tool.parameters ?? {});
	const refusal = await findRefusal(run, tool, stepIndex, parameters);
	const frame = { stepIndex, stepType: "tool", toolName: tool.name };
	await run.session.database?.beginTool(stepIndex, toRecordedTool(tool));
	const actives = refusal === undefined ? (tool.active ?? 1) : 0;
	for (let shown = 0; shown < actives; shown++) {
		await run.step({ ...frame, state: "ACTIVE", toolInfo: { name: tool.name, parameters } });
	}
	for (const output of refusal === undefined ? (tool.progress ?? []) : []) {
		await run.step({ ...frame, state: "ACTIVE", toolInfo: { name: tool.name, parameters, output } });
	}
	return { tool, frame, parameters, refusal };
}

/** A call as the database has it, from a script whose placeholders are filled in. */
export function toRecordedTool(tool: ToolScript): RecordedTool {
	const parameters = sortKeys(tool.parameters ?? {});
	return {
		name: tool.name,
		parameters,
		arguments: sortKeys(tool.arguments ?? parameters),
		script: tool.database ?? {},
		permission: { action: actionOf(tool.name).action, target: targetOf(tool.name, parameters) },
	};
}

export async function endTool(run: TurnRun, call: ToolCall): Promise<StepOutcome> {
	const { tool, frame, parameters, refusal } = call;
	if (refusal !== undefined) return endRefused(run, call, refusal);
	if (tool.marker !== undefined) await touch(run, { kind: "touch", marker: tool.marker });
	if (tool.gate !== undefined) await waitForThing(run, { kind: "wait", gate: tool.gate });
	if (tool.end === "open") {
		await run.session.database?.endTool(frame.stepIndex, { kind: "open" });
		return "go-on";
	}
	if (tool.writes !== undefined) writeToolFile(run, tool.writes);

	const durationSeconds = tool.durationSeconds ?? TOOL_SECONDS;
	const message = tool.error ?? "the simulated tool failed";
	if (tool.end === "error") {
		run.lastToolError = message;
		const toolInfo = { name: tool.name, parameters, error: { type: "TOOL_ERROR", message } };
		await run.session.database?.endTool(frame.stepIndex, { kind: "error", message, isDenial: false });
		await run.step({ ...frame, state: "ERROR", durationSeconds, toolInfo });
		return "go-on";
	}
	const output = outputOf(tool);
	await run.session.database?.endTool(frame.stepIndex, { kind: "done", output });
	const isBeside = run.session.simulation.behaviour.toolOutput === "step";
	const toolInfo = { name: tool.name, parameters, output: isBeside ? undefined : output };
	await run.step({ ...frame, state: "DONE", durationSeconds, toolInfo, output: isBeside ? output : undefined });
	const args = sortKeys(tool.arguments ?? parameters);
	await run.session.hooks.afterTool(run.session, { stepIndex: frame.stepIndex, name: tool.name, args });
	return "go-on";
}

async function endRefused(
	run: TurnRun,
	{ tool, frame, parameters }: ToolCall,
	refusal: { readonly message: string; readonly isDenial: boolean },
): Promise<StepOutcome> {
	await run.session.database?.endTool(frame.stepIndex, { kind: "error", ...refusal });
	const isShownAsDone = refusal.isDenial && run.session.simulation.behaviour.deniedTool === "DONE";
	const error = isShownAsDone ? undefined : { type: "TOOL_ERROR", message: refusal.message };
	await run.step({
		...frame,
		state: isShownAsDone ? "DONE" : "ERROR",
		durationSeconds: TOOL_SECONDS,
		toolInfo: { name: tool.name, parameters, error },
	});
	if (!refusal.isDenial) return "go-on";
	run.deniedActions.push(actionOf(tool.name));
	return tool.afterDenial ?? "end-turn";
}

async function findRefusal(
	run: TurnRun,
	tool: ToolScript,
	stepIndex: number,
	parameters: ToolInfo["parameters"],
): Promise<ToolCall["refusal"]> {
	const args = sortKeys(tool.arguments ?? parameters);
	const reason = await run.session.hooks.beforeTool(run.session, { stepIndex, name: tool.name, args });
	if (reason !== undefined) return { message: `tool call denied by pre-tool hook: ${reason}`, isDenial: false };
	const target = targetOf(tool.name, parameters);
	const isDenied =
		tool.end === "denied" ||
		(tool.permission !== "allowed" && !isPermitted(run.session.permissions, tool.name, target));
	return isDenied ? { message: denialMessage(tool.name, target), isDenial: true } : undefined;
}

function denialMessage(toolName: string, target: string): string {
	const { action } = actionOf(toolName);
	const what =
		action === "command"
			? `user denied permission to run command:\n${target}`
			: `user denied permission for ${action}(${target})`;
	return `permission check failed for ${action} "${target}": ${what}\nDo not try to reach the same end in another way.`;
}

/** What a permission entry is compared with: for MCP `server/tool`, else the first string parameter. */
function targetOf(toolName: string, parameters: ToolInfo["parameters"]): string {
	if (toolName === "call_mcp_tool") return `${parameters.ServerName}/${parameters.ToolName}`;
	return Object.values(parameters).find((value) => typeof value === "string") ?? "";
}

function outputOf(tool: ToolScript): string | undefined {
	if (tool.outputBytes !== undefined)
		return "0123456789abcdef".repeat(tool.outputBytes / 16 + 1).slice(0, tool.outputBytes);
	return tool.output;
}

function writeToolFile(run: TurnRun, file: FileToWrite): void {
	const { session } = run;
	const root = file.in === "brain" ? brainPath(session.simulation.home, session.conversation.id) : session.workspace;
	const path = resolve(root, file.path);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, file.base64 === undefined ? (file.text ?? "") : Buffer.from(file.base64, "base64"));
}

/** Go prints maps with sorted keys. */
function sortKeys(values: ToolInfo["parameters"]): ToolInfo["parameters"] {
	return Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}
