/**
 * One turn from prompt to result: the frame (user_input first, result last) around the steps of the script.
 * Story: 1. a dropped or dead conversation ends it before it begins; 2. frame and steps play; 3. a stop from outside or a
 * step's own ending cuts them short; 4. exactly one result follows, unless the script says otherwise.
 * What the script has before and after all this shows in no stream.
 */
import type { RecordedTool } from "../database/tool-rows.ts";
import type { Step } from "../scenario/step.ts";
import { hang } from "./hang.ts";
import { pickTurn } from "./pick-turn.ts";
import { runPlan } from "./plan-mode.ts";
import { playStep } from "./play-step.ts";
import type { Session } from "./session.ts";
import { toRecordedTool } from "./steps/tool.ts";
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
	let end: TurnEnd | undefined;
	try {
		await playAll(run, script.before ?? []);
		await session.database?.beginTurn(prompt, conversation.record.turnsBegun, signal);
		if (script.userInput !== false) await sendUserInput(run);
		if (wasDead) await hang(signal);
		const limit = behaviour.promptLimitBytes;
		if (limit > 0 && Buffer.byteLength(prompt) > limit) return await endDropped(run);
		await playSteps(run, script.steps);
		if (behaviour.sendsCheckpoint && conversation.record.numTurns === 0) {
			await playStep(run, { kind: "step", stepType: "checkpoint", usage: CHECKPOINT_USAGE, durationSeconds: 0.5 });
		}
		if (run.failure === undefined) await session.database?.endTurn();
		end = await endTurn(run, script.result ?? {});
		await playAll(run, script.after ?? []);
		return end;
	} catch (error) {
		if (!(error instanceof TurnStop)) throw error;
		await session.database?.stopTurn();
		return end ?? (await endStopped(run, error));
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
	for (const [position, step] of steps.entries()) {
		run.session.database?.plan(announcedTools(run, steps.slice(position + 1)));
		if ((await playStep(run, step)) === "end-turn") return;
	}
}

async function playAll(run: TurnRun, steps: readonly Step[]): Promise<void> {
	for (const step of steps) await playStep(run, step);
}

/** The tools that come next: the database has them in the answer before, as the model declares them. */
function announcedTools(run: TurnRun, steps: readonly Step[]): readonly RecordedTool[] {
	const next = steps.find(({ kind }) => kind !== "touch" && kind !== "wait");
	const scripts = next?.kind === "tool" ? [next] : next?.kind === "parallel" ? next.tools : [];
	return scripts.filter(({ end }) => end !== "rejected").map((script) => toRecordedTool(run.fill(script)));
}
