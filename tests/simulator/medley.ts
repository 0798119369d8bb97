/** One process of the simulator that plays many built-in scenarios, each by its name: see scenario-medley.ts. */
import { medleyOf } from "../support/scenario-medley.ts";
import type { SimulatedAgy } from "./simulated-agy.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { WireResult, WireStep } from "./wire-event.ts";

export type Played = {
	/** Everything written, down to the byte. */
	readonly bytes: Buffer;
	readonly lines: readonly string[];
	readonly steps: readonly WireStep[];
	/** All text deltas, put together. */
	readonly text: string;
	readonly result: WireResult;
};

export class Medley {
	readonly #process: SimulatedProcess;

	private constructor(process: SimulatedProcess) {
		this.#process = process;
	}

	/** Throws for a scenario that is more than a turn. */
	static async start(agy: SimulatedAgy, names: readonly string[]): Promise<Medley> {
		const scenario = await medleyOf(Object.fromEntries(names.map((name) => [name, name])));
		return new Medley(agy.start({ scenario, more: ["--add-dir", agy.workspace] }));
	}

	/** What came of the turn of this scenario alone. Fails when the process has ended. */
	async play(name: string): Promise<Played> {
		const before = {
			bytes: this.#process.bytes.length,
			lines: this.#process.lines.length,
			steps: this.#process.steps.length,
		};
		const result = await this.#process.ask(name);
		const steps = this.#process.steps.slice(before.steps);
		const text = steps.map((step) => step.text_delta ?? "").join("");
		const bytes = this.#process.bytes.subarray(before.bytes);
		return { bytes, lines: this.#process.lines.slice(before.lines), steps, text, result };
	}
}
