/**
 * Runs a turn that signals and the print timeout can stop. While it runs, a stop signal interrupts it; before and after, it
 * ends the idle process.
 */
import { effectivePrintTimeoutMs } from "./print-timeout.ts";
import type { Session } from "./session.ts";
import { runTurn } from "./turn.ts";
import type { TurnEnd } from "./turn-end.ts";
import { TurnStop } from "./turn-stop.ts";

export async function runStoppableTurn(session: Session, prompt: string): Promise<TurnEnd> {
	const { simulation } = session;
	const stop = new AbortController();
	const timeoutMs = effectivePrintTimeoutMs(session);
	const timer =
		timeoutMs > 0
			? setTimeout(() => stop.abort(new TurnStop("print-timeout")), Math.min(timeoutMs, 2 ** 30))
			: undefined;
	simulation.signals.onStop((name) => {
		const isSilent = name !== "SIGINT" && simulation.behaviour.terminateMidTurn === "silent";
		if (isSilent) void simulation.die(name);
		else stop.abort(new TurnStop("interrupted"));
	});
	try {
		return await runTurn(session, prompt, stop.signal);
	} finally {
		clearTimeout(timer);
		simulation.signals.onStop(() => void simulation.leave(0));
	}
}
