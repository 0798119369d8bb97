/** tinybench for a pair of tasks that do the same work: ours and its control, in one process, one after the other. */

import { Bench } from "tinybench";
import type { Spread } from "./spread.ts";

export type MicroTask = {
	readonly name: string;
	run(): unknown;
};

export type MicroResult = {
	/** One call of `run`, in milliseconds. */
	readonly tickMs: Spread;
	/** CPU of this thread for one call, in microseconds. */
	readonly cpuUs: number;
};

const SHORT_MS = 300;
const FULL_MS = 2_000;

/** Runs each task for the same time; the results are in the order of the tasks. */
export async function measureTasks(tasks: readonly MicroTask[], isShort: boolean): Promise<readonly MicroResult[]> {
	const timeMs = isShort ? SHORT_MS : FULL_MS;
	const bench = new Bench({ time: timeMs, warmupTime: timeMs / 4, iterations: 8, warmupIterations: 2, throws: true });
	const cpuUs = new Map<string, number>();
	for (const { name, run } of tasks) {
		let before = process.threadCpuUsage();
		bench.add(name, run, {
			beforeAll: () => {
				before = process.threadCpuUsage();
			},
			afterAll: () => {
				const { user, system } = process.threadCpuUsage(before);
				cpuUs.set(name, user + system);
			},
		});
	}
	await bench.run();
	return bench.tasks.map((task): MicroResult => {
		const { result } = task;
		if (!("latency" in result)) throw new Error(`${task.name} did not complete: ${result.state}`);
		const { p50, p75, p99, samplesCount } = result.latency;
		return {
			tickMs: { p50, p75, p99, samples: samplesCount },
			cpuUs: (cpuUs.get(task.name) ?? Number.NaN) / samplesCount,
		};
	});
}
