/** A hook run that does not come with a tool. A Stop hook that answers "continue" keeps the script going. */
import type { StepOf } from "../../scenario/step.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";

export async function runHookStep(run: TurnRun, step: StepOf<"hook">): Promise<StepOutcome> {
	const decision = await run.session.hooks.aroundInvocation(run.session, step.event);
	return step.event === "Stop" && decision !== "continue" ? "end-turn" : "go-on";
}
