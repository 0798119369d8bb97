/**
 * What happens in a soak, decided by the seed alone: what each session is and does, and which faults come when. How far a
 * session gets in its list before the round is over depends on the machine; the list does not.
 */
import { createHash } from "node:crypto";
import { Random } from "./random.ts";
import { ENDLESS, TURN_KINDS, type TurnKind } from "./scenario.ts";

export type TurnPlan = {
	readonly kind: TurnKind;
	/** Rest before the turn, in ms. */
	readonly pauseMs: number;
	/** When the user aborts, in ms after the prompt; null: never. */
	readonly abortMs: number | null;
	/** For how long a reader of the session blocks the thread at each of these events of the turn, in ms. */
	readonly stalls: readonly { readonly atEvent: number; readonly ms: number }[];
};

export type SessionPlan = {
	/** Slot and generation; names the session in all it says. */
	readonly name: string;
	readonly engine: "stream-json" | "legacy-sqlite";
	/** How fast agy speaks; 0 is as fast as possible. */
	readonly tokensPerSecond: number;
	/** pi's tool is offered to agy. */
	readonly hasTool: boolean;
	readonly turns: readonly TurnPlan[];
};

export type FaultKind = "lane" | "clock" | "read-only" | "full" | "killed-pi" | "few-descriptors";
export const FAULT_KINDS: readonly FaultKind[] = ["lane", "clock", "read-only", "full", "killed-pi", "few-descriptors"];

export type Fault = {
	readonly kind: FaultKind;
	/** After the beginning of the round, in ms. */
	readonly atMs: number;
	/** How long it lasts, in ms; 0 for what happens once. */
	readonly forMs: number;
	/** What varies: a thread, a number of hours, whether the guardian is killed too. */
	readonly variant: number;
};

const WEIGHTS: Readonly<Record<TurnKind, number>> = {
	...{ short: 24, medium: 16, long: 8, big: 4, cards: 14, tool: 0 },
	...{ crash: 5, killed: 3, silent: 3, hang: 5, deaf: 3 },
};
/** Each agy connects to the bridge of every session that has one: not all of them. */
const SLOTS_PER_TOOL = 6;
/** After three crashes of lanes within a minute pi-agy gives up by design. A round has lanes of its own. */
const LANE_CRASHES = 2;

export function planSession(seed: number, slot: number, generation: number): SessionPlan {
	const random = new Random(seed, `session ${slot} ${generation}`);
	const hasTool = slot % SLOTS_PER_TOOL === 1;
	const weights = hasTool ? { ...WEIGHTS, tool: 40 } : WEIGHTS;
	const isFirst = generation === 0;
	return {
		name: `${slot}.${generation}`,
		engine: !isFirst && random.chance(0.35) ? "legacy-sqlite" : "stream-json",
		tokensPerSecond: random.pick([0, 0, 1_500, 4_000]),
		hasTool,
		turns: Array.from({ length: random.whole(2, 10) }, (_, number) =>
			planTurn(random, isFirst && number === 0 ? { [firstKindOf(slot, hasTool)]: 1 } : weights),
		),
	};
}

/** The first turns of twelve slots are of every kind, so that also a slow machine plays each. */
function firstKindOf(slot: number, hasTool: boolean): TurnKind {
	if (hasTool) return "tool";
	const others = TURN_KINDS.filter((kind) => kind !== "tool");
	const toolSlotsBefore = Math.floor((slot + SLOTS_PER_TOOL - 2) / SLOTS_PER_TOOL);
	return others[(slot - toolSlotsBefore) % others.length] as TurnKind;
}

function planTurn(random: Random, weights: Readonly<Partial<Record<TurnKind, number>>>): TurnPlan {
	const kind = random.weighted<TurnKind>(weights);
	const isAborted = ENDLESS.has(kind) || random.chance(0.12);
	const isStalled = random.chance(0.04);
	return {
		kind,
		pauseMs: random.chance(0.3) ? random.whole(0, 400) : 0,
		abortMs: isAborted ? random.whole(0, 1_500) : null,
		stalls: isStalled ? [{ atEvent: random.whole(1, 20), ms: random.whole(50, 300) }] : [],
	};
}

/** Disk faults do not overlap, or nobody could say which it was. */
export function planFaults(seed: number, round: number, roundMs: number): readonly Fault[] {
	const random = new Random(seed, `faults ${round}`);
	const at = (from: number, to: number) => Math.round(roundMs * (from + random.fraction() * (to - from)));
	const forMs = () => random.whole(800, 2_000);
	const disks: readonly FaultKind[] = random.chance(0.5) ? ["read-only", "full"] : ["full", "read-only"];
	return [
		...Array.from(
			{ length: LANE_CRASHES },
			(): Fault => ({ kind: "lane", atMs: at(0.15, 0.9), forMs: 0, variant: random.whole(0, 7) }),
		),
		{ kind: "clock" as const, atMs: at(0.05, 0.7), forMs: forMs(), variant: random.pick([-30, -2, 3, 26]) },
		{ kind: disks[0] as FaultKind, atMs: at(0.15, 0.3), forMs: forMs(), variant: 0 },
		{ kind: disks[1] as FaultKind, atMs: at(0.55, 0.7), forMs: forMs(), variant: 0 },
		{ kind: "killed-pi" as const, atMs: at(0.1, 0.3), forMs: 0, variant: round % 2 },
		...(round % 4 === 1 ? [{ kind: "few-descriptors" as const, atMs: at(0, 0.2), forMs: 0, variant: 0 }] : []),
	].sort((a, b) => a.atMs - b.atMs);
}

/** Tells two schedules apart: sessions of the first generations and faults of the first rounds. */
export function digestOf(seed: number, slots: number, roundMs: number): string {
	const hash = createHash("sha256");
	for (let slot = 0; slot < slots; slot++)
		for (let generation = 0; generation < 8; generation++)
			hash.update(JSON.stringify(planSession(seed, slot, generation)));
	for (let round = 0; round < 8; round++) hash.update(JSON.stringify(planFaults(seed, round, roundMs)));
	return hash.digest("hex").slice(0, 12);
}
