/**
 * Which turn script answers a prompt: the first whose `match` fits, else the scripts without `match` in order, by the
 * number of turns this conversation has begun; the last one repeats.
 */
import type { Turn } from "../scenario/scenario.ts";

const SILENT_TURN: Turn = { steps: [] };

export function pickTurn(turns: readonly Turn[], prompt: string, turnsBegun: number): Turn {
	const matching = turns.find((turn) => turn.match !== undefined && new RegExp(turn.match, "i").test(prompt));
	if (matching !== undefined) return matching;
	const inOrder = turns.filter((turn) => turn.match === undefined);
	return inOrder[Math.min(turnsBegun, inOrder.length - 1)] ?? SILENT_TURN;
}
