/** What a soak has found: counts by name, the first failures in full, what could not be tried here. Prints all of it. */

export type Outcome = "done" | "error" | "aborted";

type Count = { passed: number; failed: number };

/** More of one kind say nothing new. */
const SHOWN_FAILURES = 8;

export class Report {
	readonly #seed: number;
	readonly #checks = new Map<string, Count>();
	readonly #turns = new Map<string, Record<Outcome, number>>();
	readonly #faults = new Map<string, number>();
	readonly #skipped = new Map<string, string>();
	readonly #startMs = performance.now();
	turnCount = 0;
	failedTurns = 0;

	constructor(seed: number) {
		this.#seed = seed;
	}

	get failed(): number {
		return this.failedTurns + [...this.#checks.values()].reduce((sum, { failed }) => sum + failed, 0);
	}

	get passed(): number {
		const checks = [...this.#checks.values()].reduce((sum, { passed }) => sum + passed, 0);
		return this.turnCount - this.failedTurns + checks;
	}

	say(text: string): void {
		console.log(`[${((performance.now() - this.#startMs) / 1000).toFixed(1).padStart(6)} s] ${text}`);
	}

	/** `problem` is "" when the invariant holds. */
	check(name: string, problem: string): void {
		const count = this.#checks.get(name) ?? { passed: 0, failed: 0 };
		this.#checks.set(name, count);
		if (problem === "") {
			count.passed++;
			return;
		}
		if (++count.failed <= SHOWN_FAILURES) this.say(`FAILED ${name} (seed ${this.#seed}): ${problem}`);
	}

	/** A turn that is over, or should be. `what` says which one; it passes when there are no problems. */
	turn(what: string, name: string, outcome: Outcome | null, problems: readonly string[]): void {
		this.turnCount++;
		const outcomes = this.#turns.get(name) ?? { done: 0, error: 0, aborted: 0 };
		this.#turns.set(name, outcomes);
		if (outcome !== null) outcomes[outcome]++;
		if (problems.length === 0) return;
		if (++this.failedTurns <= SHOWN_FAILURES)
			this.say(`FAILED ${what} (seed ${this.#seed}):\n${problems.map((problem) => `    ${problem}`).join("\n")}`);
	}

	fault(name: string): void {
		this.#faults.set(name, (this.#faults.get(name) ?? 0) + 1);
	}

	/** Something that cannot be done on this machine. */
	skip(name: string, reason: string): void {
		if (!this.#skipped.has(name)) this.say(`SKIPPED ${name}: ${reason}`);
		this.#skipped.set(name, reason);
	}

	/** What the run has to have had, or it proves less than it says. */
	checkCoverage(turns: readonly string[], faults: readonly string[]): void {
		for (const name of turns)
			this.check("every kind of turn was played", this.#turns.has(name) ? "" : `no turn ${name}`);
		for (const name of faults) {
			if (this.#skipped.has(name)) continue;
			this.check("every kind of fault came", this.#faults.has(name) ? "" : `no fault ${name}`);
		}
	}

	print(): void {
		const row = (name: string, ...cells: readonly (string | number)[]) =>
			console.log(`${name.padEnd(52)}${cells.map((cell) => String(cell).padStart(10)).join("")}`);
		console.log("");
		row("turns", "done", "error", "aborted");
		for (const [name, { done, error, aborted }] of [...this.#turns].sort()) row(`  ${name}`, done, error, aborted);
		row("faults", "times");
		for (const [name, times] of [...this.#faults].sort()) row(`  ${name}`, times);
		for (const [name, reason] of this.#skipped) row(`  ${name}`, "SKIPPED", ` ${reason}`);
		row("invariants", "passed", "failed");
		row("  a turn has one outcome and its own text", this.turnCount - this.failedTurns, this.failedTurns);
		for (const [name, { passed, failed }] of this.#checks) row(`  ${name}`, passed, failed);
		console.log(`\nseed ${this.#seed}, ${((performance.now() - this.#startMs) / 1000).toFixed(0)} s`);
		console.log(`${this.passed} passed, ${this.failed} failed`);
	}
}
