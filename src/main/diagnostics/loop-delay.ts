/** How late timers of the main thread fire: the time in which pi could neither draw nor answer a key. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { LOOP_DELAY_INTERVAL_MS } from "../../shared/limits.ts";
import { type Timing, toTiming } from "../../shared/timing.ts";

const NS_PER_MS = 1_000_000;

export class LoopDelay {
	readonly #histogram = monitorEventLoopDelay({ resolution: LOOP_DELAY_INTERVAL_MS });

	constructor() {
		this.#histogram.enable();
	}

	get timing(): Timing {
		return toTiming(this.#histogram, NS_PER_MS, LOOP_DELAY_INTERVAL_MS);
	}

	close(): void {
		this.#histogram.disable();
	}
}
