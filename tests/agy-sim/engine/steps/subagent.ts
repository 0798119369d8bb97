/**
 * A sub-agent: launched with one step pair whose DONE means "started"; its report comes later as a system_message. The
 * sub-agent's own steps are never in this stream.
 */
import { transcriptPath } from "../../process/home.ts";
import type { StepOf } from "../../scenario/step.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";

const LAUNCH_SECONDS = 0.021;
const REPORT_SECONDS = 0.00015;

export async function launchSubagent(run: TurnRun, step: StepOf<"subagent">): Promise<StepOutcome> {
	const { session } = run;
	const { home } = session.simulation;
	const frame = { stepIndex: run.takeStepIndex(), stepType: "subagent", toolName: "invoke_subagent" };
	const asked = {
		type_name: step.typeName ?? "researcher",
		role: step.role ?? "Looks things up",
		initial_prompt: run.fill(step.prompt),
	};
	const { database } = session;
	await database?.beginTool(frame.stepIndex, {
		name: frame.toolName,
		parameters: {},
		arguments: { Subagents: [{ Prompt: asked.initial_prompt, Role: asked.role, TypeName: asked.type_name }] },
		script: {},
		permission: { action: "subagent", target: asked.type_name },
	});
	await run.step({ ...frame, state: "ACTIVE", subagentInfo: { subagents: [asked] } });

	const childId = childConversationId(session.conversation.id, frame.stepIndex);
	const answer = run.fill(step.answer ?? "The sub-agent is done.\n");
	await database?.addChild(childId, asked.type_name, asked.initial_prompt, answer);
	await database?.endTool(frame.stepIndex, { kind: "done", output: `Created subagent ${childId}` });
	const started = { conversation_id: childId, log_uri: `file://${transcriptPath(home, childId)}` };
	const subagent = { ...asked, ...started, workspace_uris: [`file://${session.workspace}`] };
	const subagentInfo = step.flat ? { subagents: [asked], ...started } : { subagents: [subagent] };
	await run.step({ ...frame, state: "DONE", durationSeconds: LAUNCH_SECONDS, subagentInfo });
	if (step.silent) return "go-on";
	const report = {
		stepIndex: run.takeStepIndex(),
		state: "DONE",
		stepType: "system_message",
		durationSeconds: REPORT_SECONDS,
	};
	await run.step(report, { text: `[Message] timestamp=2030-01-01T00:00:00Z sender=${childId}\n${answer}` });
	return "go-on";
}

/** The parent's id with the step in its fourth group: valid, unique, and readable in a log. */
export function childConversationId(parentId: string, stepIndex: number): string {
	const group = (0x8000 + (stepIndex % 0x1000) + 1).toString(16);
	return parentId.replace(/-[0-9a-f]{4}-([0-9a-f]{12})$/, `-${group}-$1`);
}
