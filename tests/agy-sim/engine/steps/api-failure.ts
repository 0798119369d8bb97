/**
 * The model API fails: every attempt is a blank error_message step, then the turn ends with an ERROR. Newer versions add
 * the AGY_ERROR line on stderr and leave with code 3; an older one keeps trying until the print timeout.
 */
import type { ErrorDetails } from "../../database/step-content.ts";
import type { StepOf } from "../../scenario/step.ts";
import { hang } from "../hang.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";

const API_FAILURE_EXIT_CODE = 3;

export async function failApi(run: TurnRun, step: StepOf<"api-failure">): Promise<StepOutcome> {
	const { simulation } = run.session;
	const { behaviour } = simulation;
	const error = run.fill(step.error);
	const details = errorDetails(error, step);
	let first: number | undefined;
	const attempts = step.attempts ?? 1;
	for (let attempt = 1; attempt <= attempts; attempt++) {
		const stepIndex = run.takeStepIndex();
		const rewrites = first === undefined ? {} : { rewrites: first };
		const row = step.rows === "rewrite" ? { ...rewrites, isOpen: attempt < attempts } : {};
		first ??= stepIndex;
		const frame = { stepIndex, state: "DONE", stepType: "error_message", durationSeconds: 0 };
		await run.step(frame, { error: details, ...row });
	}
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

/** As the database has them: the message for the user, and the provider's answer with what the message says of its kind. */
function errorDetails(error: string, step: StepOf<"api-failure">): ErrorDetails {
	const [, named, code] = /([A-Z_]{6,}) \(code (\d+)\)/.exec(error) ?? [];
	const status = named ?? "INTERNAL";
	const reason = status === "RESOURCE_EXHAUSTED" ? "QUOTA_EXHAUSTED" : "MODEL_FAILURE";
	const answer = { error: { code: Number(code ?? 500), message: error, status, details: [{ reason }] } };
	return { message: step.shortError ?? error, short: status, full: error, json: JSON.stringify(answer) };
}
