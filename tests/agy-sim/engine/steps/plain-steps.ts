/** Steps that only print or record: steps without text, whole events, raw bytes, stderr lines, transcript rows. */
import type { StepOf } from "../../scenario/step.ts";
import { toUsage } from "../../wire/usage.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";

export async function sendPlainStep(run: TurnRun, step: StepOf<"step">): Promise<StepOutcome> {
	for (let sent = 0; sent < (step.repeat ?? 1); sent++) {
		await run.step({
			stepIndex: run.takeStepIndex(),
			state: step.state ?? "DONE",
			stepType: step.stepType,
			durationSeconds: step.durationSeconds,
			usage: step.usage === undefined ? undefined : run.spend(toUsage(step.usage)),
		});
	}
	return "go-on";
}

export async function printEvent(run: TurnRun, step: StepOf<"event">): Promise<StepOutcome> {
	const payload = step.payload === undefined ? {} : { [step.event]: run.fill(step.payload) };
	await run.session.reporter.event({ event: step.event, ...payload });
	return "go-on";
}

export async function printRaw(run: TurnRun, step: StepOf<"raw">): Promise<StepOutcome> {
	const bytes = step.base64 === undefined ? Buffer.from(run.fill(step.text ?? "")) : Buffer.from(step.base64, "base64");
	await run.session.reporter.raw(step.newline === false ? bytes : Buffer.concat([bytes, Buffer.from("\n")]));
	return "go-on";
}

export async function printStderr(run: TurnRun, step: StepOf<"stderr">): Promise<StepOutcome> {
	await run.session.simulation.writeStderr(run.fill(step.line));
	return "go-on";
}

export async function writeTranscript(run: TurnRun, step: StepOf<"transcript">): Promise<StepOutcome> {
	run.transcribe(run.takeStepIndex(), { source: "MODEL", type: "PLANNER_RESPONSE", content: run.fill(step.text) });
	return "go-on";
}
