/**
 * One turn from prompt to result: the frame (user_input first, result last) around the steps of the script.
 * Story: 1. a dropped or dead conversation ends it before it begins; 2. frame and steps play; 3. a stop from outside or a
 * step's own ending cuts them short; 4. exactly one result follows, unless the script says otherwise.
 */
import type { Step } from "../scenario/step.ts";
import { hang } from "./hang.ts";
import { pickTurn } from "./pick-turn.ts";
import { runPlan } from "./plan-mode.ts";
import { playStep } from "./play-step.ts";
import type { Session } from "./session.ts";
import { endDropped, endStopped, endTurn, type TurnEnd } from "./turn-end.ts";
import { TurnRun } from "./turn-run.ts";
import { TurnStop } from "./turn-stop.ts";

const CHECKPOINT_USAGE = { inputTokens: 400, outputTokens: 8 };

/** Plays one turn. The signal stops it; its reason must be a TurnStop. */
export async function runTurn(session: Session, prompt: string, signal: AbortSignal): Promise<TurnEnd> {
	const { conversation, simulation } = session;
	const { behaviour, scenario } = simulation;
	const run = new TurnRun(session, prompt, signal);
	const script = pickTurn(scenario.turns, prompt, conversation.record.turnsBegun);
	const wasDead = conversation.record.dead;
	conversation.beginTurn(behaviour.stepIndex === "resets");
	try {
		if (script.userInput !== false) await sendUserInput(run);
		if (wasDead) await hang(signal);
		const limit = behaviour.promptLimitBytes;
		if (limit > 0 && Buffer.byteLength(prompt) > limit) return await endDropped(run);
		await playSteps(run, script.steps);
		if (behaviour.sendsCheckpoint && conversation.record.numTurns === 0) {
			await playStep(run, { kind: "step", stepType: "checkpoint", usage: CHECKPOINT_USAGE, durationSeconds: 0.5 });
		}
		return await endTurn(run, script.result ?? {});
	} catch (error) {
		if (error instanceof TurnStop) return await endStopped(run, error);
		throw error;
	}
}

async function sendUserInput(run: TurnRun): Promise<void> {
	const stepIndex = run.takeStepIndex();
	await run.step({ stepIndex, state: "DONE", stepType: "user_input" });
	run.transcribe(stepIndex, { source: "USER_EXPLICIT", type: "USER_INPUT", content: run.prompt });
}

/** The script, after what may stand between it and the user's input. */
async function playSteps(run: TurnRun, steps: readonly Step[]): Promise<void> {
	await run.session.announce();
	if (run.session.takeSystemMessage()) {
		await playStep(run, { kind: "step", stepType: "system_message", durationSeconds: 0.000151 });
	}
	if ((await runPlan(run)) === "end-turn") return;
	for (const step of steps) {
		if ((await playStep(run, step)) === "end-turn") return;
	}
}
