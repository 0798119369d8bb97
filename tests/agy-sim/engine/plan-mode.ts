/**
 * --mode plan. It is not read-only: the agent writes a plan into its own folder, which is approved without anybody being
 * asked, and goes on with the turn. Older versions stop after the plan.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brainPath } from "../process/home.ts";
import { playStep } from "./play-step.ts";
import type { StepOutcome, TurnRun } from "./turn-run.ts";

export async function runPlan(run: TurnRun): Promise<StepOutcome> {
	const { session } = run;
	const { options, simulation } = session;
	const isEffective = options.slashCommands && !options.skipPermissions && simulation.behaviour.modeFlagHonoured;
	if (options.mode !== "plan" || !isEffective) return "go-on";

	simulation.log("Print mode: applying agent mode plan");
	const folder = brainPath(simulation.home, session.conversation.id);
	const path = join(folder, "implementation_plan.md");
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	writeFileSync(path, `# Plan (simulated)\n\n1. ${run.prompt.split("\n", 1)[0]}\n`, { mode: 0o600 });
	await playStep(run, { kind: "think" });
	await playStep(run, {
		kind: "tool",
		name: "write_to_file",
		active: 0,
		permission: "allowed",
		parameters: { TargetFile: path },
		durationSeconds: 0.03,
	});
	if (simulation.behaviour.planReview === "stops") {
		await playStep(run, { kind: "text", text: "The plan is ready for review.\n", deltaChars: 0 });
		return "end-turn";
	}
	return playStep(run, { kind: "step", stepType: "system_message", durationSeconds: 0.0002 });
}
