/**
 * One round of a soak: every slot plays session after session until the time is over, faults come as planned, and then
 * everything is closed and nothing may be left.
 */
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../support/condition.ts";
import { guardiansOf } from "../support/process-table.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { FaultLog } from "./fault-log.ts";
import { killPis } from "./killed-pi.ts";
import { damagedSessions, findLeftovers, type Holdings } from "./leftovers.ts";
import { PlayedTurn } from "./played-turn.ts";
import type { Report } from "./report.ts";
import { type Fault, planFaults, planSession, type SessionPlan } from "./schedule.ts";
import type { SoakStage } from "./stage.ts";
import { starveProcess } from "./starved-process.ts";
import type { StreamWatch } from "./stream-watch.ts";
import { Weather } from "./weather.ts";

export type RoundOptions = {
	readonly seed: number;
	readonly number: number;
	readonly ms: number;
	/** Next generation of each slot; counted on. */
	readonly generations: number[];
	readonly stage: SoakStage;
	readonly report: Report;
	readonly streams: StreamWatch;
	/** What the process held before the first round. */
	readonly before: Holdings;
};

export class Round {
	readonly #options: RoundOptions;
	readonly #log = new FaultLog();
	readonly #weather: Weather;
	readonly #turns: PlayedTurn[] = [];
	readonly #endMs: number;
	/** Faults of this process that are still to come, or last. */
	#faultsLeft = 0;

	constructor(options: RoundOptions) {
		this.#options = options;
		this.#weather = new Weather(options.stage.disk, options.report, this.#log);
		this.#endMs = performance.now() + options.ms;
	}

	/** The number of turns that were played. */
	async run(): Promise<number> {
		const { generations, stage, report, streams, before } = this.#options;
		const faults = this.#bringFaults();
		await Promise.all(generations.map((_generation, slot) => this.#playSlot(slot)));
		await faults;
		this.#judgeTurns();
		await until("all streams end", () => streams.open === 0, 5_000).catch(() => {}); // Told by the check.
		report.check("no pi stream is open", streams.open === 0 ? "" : `${streams.open} of ${streams.count} are`);
		const secondEnds = streams.takeSecondEnds();
		report.check("no pi stream ends twice", secondEnds === 0 ? "" : `${secondEnds} ends after an end`);
		for (const { name, problem } of await findLeftovers(stage.sandbox, before))
			report.check(name, problem === "" ? "" : `round ${this.#options.number}: ${problem}`);
		const damaged = damagedSessions(stage.sandbox);
		report.check("session files of pi are whole", damaged.join("; ").slice(0, 500));
		return this.#turns.length;
	}

	/** A fault that is late still finds turns to hit, and the last session is not closed on a disk that fails. */
	get #isOver(): boolean {
		return performance.now() >= this.#endMs && this.#faultsLeft === 0;
	}

	async #playSlot(slot: number): Promise<void> {
		const { seed, generations, stage, report } = this.#options;
		while (!this.#isOver) {
			const generation = generations[slot] ?? 0;
			generations[slot] = generation + 1;
			const plan = planSession(seed, slot, generation);
			try {
				const session = await stage.open(plan);
				try {
					await this.#playSession(plan, session);
				} finally {
					await session.close();
				}
			} catch (error) {
				report.check("sessions open and close", `session ${plan.name}: ${(error as Error).stack}`);
			}
		}
	}

	async #playSession(plan: SessionPlan, session: SdkSession): Promise<void> {
		for (const [number, turnPlan] of plan.turns.entries()) {
			if (this.#isOver && !isOwed(plan, number)) return;
			if (turnPlan.pauseMs > 0) await delay(turnPlan.pauseMs);
			const turn = new PlayedTurn(plan, turnPlan, number, this.#log);
			this.#turns.push(turn);
			await turn.play(session);
		}
	}

	async #bringFaults(): Promise<void> {
		const { seed, number, ms, stage } = this.#options;
		const startMs = performance.now();
		const faults = planFaults(seed, number, ms);
		this.#faultsLeft = faults.filter(({ kind }) => kind !== "killed-pi" && kind !== "few-descriptors").length;
		await Promise.all(
			faults.map(async (fault) => {
				await delay(Math.max(0, startMs + fault.atMs - performance.now()));
				stage.sandbox.noteGuardians(guardiansOf(process.pid));
				await this.#bring(fault).catch((error: Error) =>
					this.#options.report.check("faults come as planned", `${fault.kind} in round ${number}: ${error.stack}`),
				);
			}),
		);
	}

	#bring(fault: Fault): Promise<void> {
		const { report, number } = this.#options;
		if (fault.kind === "killed-pi") return killPis(report, number, fault.variant === 1);
		if (fault.kind === "few-descriptors") return starveProcess(report, number);
		return this.#weather.bring(fault).finally(() => this.#faultsLeft--);
	}

	#judgeTurns(): void {
		const { stage, report } = this.#options;
		const notes = stage.readNotes();
		for (const turn of this.#turns) {
			turn.compare(notes);
			report.turn(turn.description, turn.name, turn.outcome, turn.problems);
		}
	}
}

/** The first turns of the first sessions are of every kind: each is played, however slow the machine is. */
function isOwed({ name }: SessionPlan, number: number): boolean {
	return number === 0 && name.endsWith(".0");
}
