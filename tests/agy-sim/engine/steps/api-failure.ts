/**
 * The model API fails: every attempt is a blank error_message step, then the turn ends with an ERROR. Newer versions add
 * the AGY_ERROR line on stderr and leave with code 3; an older one keeps trying until the print timeout.
 */
import type { StepOf } from "../../scenario/step.ts";
import { hang } from "../hang.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";

const API_FAILURE_EXIT_CODE = 3;

export async function failApi(run: TurnRun, step: StepOf<"api-failure">): Promise<StepOutcome> {
	const { simulation } = run.session;
	const { behaviour } = simulation;
	for (let attempt = 0; attempt < (step.attempts ?? 1); attempt++) {
		await run.step({ stepIndex: run.takeStepIndex(), state: "DONE", stepType: "error_message", durationSeconds: 0 });
	}
	const error = run.fill(step.error);
	simulation.log(`agent executor error: ${error}`);
	const isMidTurn = run.response !== "";
	const exits = step.exits ?? (isMidTurn ? behaviour.midTurnFailureExits : behaviour.apiFailureExits);
	run.failure = { error, exitCode: exits ? API_FAILURE_EXIT_CODE : undefined };
	if (step.retriesUntilTimeout) await hang(run.signal);
	if (exits) {
		const line = JSON.stringify({ short_error: step.shortError ?? error, ...step.errorFields });
		await simulation.writeStderr(`AGY_ERROR: ${line}`);
	}
	return "end-turn";
}
