/**
 * Model calls: text in deltas that end with a DONE frame carrying the usage, or thinking of which only the usage shows.
 * All frames of one answer share a step index.
 */

import { Pace } from "../../process/pace.ts";
import type { StepOf } from "../../scenario/step.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";
import { touch, waitForThing } from "./process-steps.ts";

const AGENT_SECONDS = 1.25;
/** Lengths, in code points, of the pieces an answer is cut into by default; they fall anywhere, as agy's do. */
const UNEVEN_PIECES = [5, 11, 3, 17, 8];

export async function sayText(run: TurnRun, step: StepOf<"text">): Promise<StepOutcome> {
	const finish = step.finish ?? "last-delta";
	const pieces = (step.deltas ?? cut(run.fill(step.text), step.deltaChars)).slice();
	const answer = `${pieces.join("")}${finish === "newline" ? "\n" : ""}`;
	const last = finish === "last-delta" ? pieces.pop() : finish === "newline" ? "\n" : undefined;

	const frame = { stepIndex: run.takeStepIndex(), stepType: "agent_response" };
	const key = step.field ?? "text_delta";
	if (step.database !== undefined) await run.session.database?.beginAnswer(frame.stepIndex, step.database);
	let saidBefore = "";
	const textOf = (piece: string) => {
		saidBefore += piece;
		return { key, value: step.cumulative ? saidBefore : piece };
	};
	const isAnswer = key === "text_delta" || key === "response_text";
	const answerIndex = run.answers.length;
	for (const [position, piece] of pieces.entries()) {
		if (position === step.pauseAfter) await pause(run, step);
		const text = textOf(piece);
		await run.step({ ...frame, state: "ACTIVE", text }, { text: saidBefore });
		if (isAnswer) run.answers[answerIndex] = saidBefore; // kept when the turn is stopped half-way
		await run.pace.afterText(piece, run.signal);
	}
	if (step.pauseAfter !== undefined && step.pauseAfter === pieces.length) await pause(run, step);
	if (isAnswer) run.answers[answerIndex] = answer;
	if (finish === "none") return "go-on";
	const done = {
		...frame,
		state: "DONE",
		text: last === undefined ? undefined : textOf(last),
		durationSeconds: step.durationSeconds ?? AGENT_SECONDS,
		usage: run.spendModelCall(answer, step.usage),
	};
	await run.step(done, { text: answer });
	run.transcribe(frame.stepIndex, { source: "MODEL", type: "PLANNER_RESPONSE", content: answer });
	return "go-on";
}

/** Numbered deltas of exact size, at a rate of their own or at the rate of all text. */
export async function saySteady(run: TurnRun, step: StepOf<"steady">): Promise<StepOutcome> {
	const frame = { stepIndex: run.takeStepIndex(), stepType: "agent_response" };
	const ownPace = step.deltasPerSecond === undefined ? undefined : new Pace(step.deltasPerSecond);
	const answer: string[] = [];
	for (let number = 0; number < step.deltas; number++) {
		const piece = `${number} `.padEnd(step.deltaBytes, "lorem ipsum ").slice(0, step.deltaBytes);
		answer.push(piece);
		await run.step({ ...frame, state: "ACTIVE", text: { key: "text_delta", value: piece } });
		await (ownPace?.after(1, run.signal) ?? run.pace.afterText(piece, run.signal));
	}
	const text = answer.join("");
	run.answers.push(text);
	const usage = run.spendModelCall(text, undefined);
	await run.step({ ...frame, state: "DONE", durationSeconds: AGENT_SECONDS, usage });
	return "go-on";
}

export async function think(run: TurnRun, step: StepOf<"think">): Promise<StepOutcome> {
	const stepIndex = run.takeStepIndex();
	if (step.database !== undefined) await run.session.database?.beginAnswer(stepIndex, step.database);
	await run.step({
		stepIndex,
		state: "DONE",
		stepType: "agent_response",
		durationSeconds: step.durationSeconds ?? AGENT_SECONDS,
		usage: run.spendModelCall("", step.usage ?? { outputTokens: 60, thinkingTokens: 60 }),
	});
	return "go-on";
}

async function pause(run: TurnRun, step: StepOf<"text">): Promise<void> {
	if (step.marker !== undefined) await touch(run, { kind: "touch", marker: step.marker });
	if (step.gate !== undefined) await waitForThing(run, { kind: "wait", gate: step.gate });
}

/** Cuts between code points, so also inside what a reader sees as one character. */
function cut(text: string, deltaChars: number | undefined): readonly string[] {
	if (deltaChars === 0 || text === "") return [text];
	const points = Array.from(text);
	const pieces: string[] = [];
	for (let start = 0, turn = 0; start < points.length; turn++) {
		const length = deltaChars ?? UNEVEN_PIECES[turn % UNEVEN_PIECES.length] ?? 1;
		pieces.push(points.slice(start, start + length).join(""));
		start += length;
	}
	return pieces;
}
