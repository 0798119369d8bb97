/** How long a lane's work takes: recorded where it happens (some 50 ns), summed up when somebody asks. */

import { createHistogram } from "node:perf_hooks";
import { type Timing, toTiming } from "../shared/timing.ts";

/** In microseconds: longer than anything a thread that still answers can take. */
const HIGHEST_US = 60_000_000;
const US_PER_MS = 1_000;

export class Meter {
	readonly #histogram = createHistogram({ lowest: 1, highest: HIGHEST_US, figures: 2 });

	record(ms: number): void {
		this.#histogram.record(Math.max(1, Math.round(ms * US_PER_MS))); // It takes whole numbers from 1.
	}

	get timing(): Timing {
		return toTiming(this.#histogram, US_PER_MS);
	}
}
