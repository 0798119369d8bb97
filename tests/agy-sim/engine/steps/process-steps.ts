/**
 * Steps about the process rather than its output: waits, markers, crashes, hangs, and a grandchild that outlives it.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { touchMarker, waitForGate } from "../../process/gates.ts";
import type { StepOf } from "../../scenario/step.ts";
import { hang } from "../hang.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";

const GRANDCHILD_PATH = join(import.meta.dirname, "..", "..", "process", "grandchild.ts");

export async function waitForThing(run: TurnRun, step: StepOf<"wait">): Promise<StepOutcome> {
	const { simulation, stdin } = run.session;
	if (step.gate !== undefined) await waitForGate(simulation.home, run.fill(step.gate), run.signal);
	if (step.signal !== undefined) await simulation.signals.waitFor(step.signal, run.signal);
	if (step.stdin === "line") await stdin?.waitForLine(run.signal);
	if (step.stdin === "eof") await stdin?.waitForEnd(run.signal);
	return "go-on";
}

export async function touch(run: TurnRun, step: StepOf<"touch">): Promise<StepOutcome> {
	const { home, journal, stdout } = run.session.simulation;
	await stdout.flush(); // what was said before the marker is on the pipe
	touchMarker(home, journal, run.fill(step.marker));
	return "go-on";
}

export async function crash(run: TurnRun, step: StepOf<"crash">): Promise<StepOutcome> {
	const { simulation, reporter } = run.session;
	if (step.cutLine !== undefined) await reporter.raw(step.cutLine);
	if (step.stderr !== undefined) await simulation.writeStderr(step.stderr);
	return step.signal === undefined
		? simulation.leave(step.exitCode ?? 1)
		: simulation.die(step.signal as NodeJS.Signals);
}

export async function hangTurn(run: TurnRun, step: StepOf<"hang">): Promise<StepOutcome> {
	if (step.ignoreSignals !== undefined) run.session.simulation.signals.ignore(step.ignoreSignals);
	if (step.marker !== undefined) await touch(run, { kind: "touch", marker: step.marker });
	return hang(run.signal);
}

/** Own process group, our stdout and stderr: the pipes stay open after we are gone. */
export async function spawnGrandchild(run: TurnRun, step: StepOf<"grandchild">): Promise<StepOutcome> {
	const { home, journal } = run.session.simulation;
	const args = [GRANDCHILD_PATH, join(home.gatesPath, step.gate), ...(step.ignoreSignals ?? [])];
	const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
	await new Promise((resolve) => child.once("message", resolve)); // it has its signal handlers and watches its gate
	child.disconnect();
	child.unref();
	journal.append({ kind: "grandchild", childPid: child.pid ?? 0 });
	return "go-on";
}
