/**
 * The persistent session: user lines in, events out, until stdin ends or something ends the process.
 * Story: 1. start-up; 2. init, at once or with the first line; 3. one turn per user line, strictly in order; 4. at the end
 * of stdin the turns already queued still play, then the process leaves with 0.
 */
import type { RunOptions } from "../command-line/command.ts";
import { hang } from "../engine/hang.ts";
import type { Session } from "../engine/session.ts";
import type { Simulation } from "../engine/simulation.ts";
import { startSession } from "../engine/start-session.ts";
import { runStoppableTurn } from "../engine/stoppable-turn.ts";
import { NO_USAGE } from "../wire/usage.ts";
import { readStdinLine, type StdinMessage } from "../wire/user-message.ts";

const NEVER = new AbortController().signal;

export async function runStreamJson(simulation: Simulation, options: RunOptions): Promise<void> {
	const session = await startSession(simulation, options);
	const initAt = simulation.scenario.start?.init ?? simulation.behaviour.initAt;
	if (initAt === "start") await session.announce();
	if (session.stdin === undefined) return hang(NEVER); // a scenario that never reads its stdin

	let turnCount = 0;
	for (;;) {
		const line = await session.stdin.next(NEVER);
		if (line === undefined) break;
		if (line.trim() === "") continue;
		if (initAt === "first-line") await session.announce();
		turnCount += await answer(session, readStdinLine(line, simulation.behaviour, options.slashCommands));
	}
	await session.announce();
	simulation.log(`Print mode: stream input closed after ${turnCount} turn(s)`);
	if (simulation.scenario.atEof === "hang") await hang(NEVER);
	await simulation.leave(0);
}

/** Returns the number of turns played. */
async function answer(session: Session, message: StdinMessage): Promise<number> {
	const { simulation } = session;
	switch (message.kind) {
		case "ignored":
			await simulation.writeStderr(message.warning);
			return 0;
		case "mistake":
			if (message.hasResult) await sendEmptyResult(session, "ERROR", message.error);
			await simulation.writeError(message.error);
			return simulation.leave(message.exitCode);
		case "empty-turn":
			await sendEmptyResult(session, "SUCCESS", undefined);
			return 1;
		case "prompt": {
			const end = await runStoppableTurn(session, message.prompt);
			if (end.exitCode !== undefined) await simulation.leave(end.exitCode);
			return 1;
		}
	}
}

async function sendEmptyResult(session: Session, status: string, error: string | undefined): Promise<void> {
	await session.reporter.result({
		conversationId: session.conversation.id,
		status,
		response: "",
		error,
		durationSeconds: 0,
		numTurns: 0,
		usage: NO_USAGE,
	});
}
