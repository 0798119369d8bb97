/**
 * Heap and resident size when nothing runs, after a collection: they have to stay where they are. The slope is that of
 * the second half, by least squares, in percent of the mean over ten minutes; it counts only beyond twice its standard error,
 * because the allocator's own rhythm is no leak.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Sample = { readonly atMs: number; readonly heapBytes: number; readonly rssBytes: number };
export type Slope = { readonly percent: number; readonly error: number };

const TEN_MINUTES_MS = 600_000;
const MIN_SAMPLES = 6;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

export class Memory {
	readonly samples: Sample[] = [];

	async sample(): Promise<void> {
		for (let pass = 0; pass < 3; pass++) {
			collect();
			await new Promise((resolve) => setImmediate(resolve)); // Finalizers run between the passes.
		}
		const { heapUsed, rss } = process.memoryUsage();
		this.samples.push({ atMs: performance.now(), heapBytes: heapUsed, rssBytes: rss });
	}

	get last(): string {
		const sample = this.samples.at(-1);
		return sample ? `heap ${toMib(sample.heapBytes)}, rss ${toMib(sample.rssBytes)}` : "";
	}

	/** Null when there are too few samples to tell. */
	slopeOf(what: "heapBytes" | "rssBytes"): Slope | null {
		const half = this.samples.slice(Math.floor(this.samples.length / 2));
		if (half.length < MIN_SAMPLES) return null;
		const meanX = mean(half.map(({ atMs }) => atMs));
		const meanY = mean(half.map((sample) => sample[what]));
		const spreadX = half.reduce((sum, { atMs }) => sum + (atMs - meanX) ** 2, 0);
		const slope = half.reduce((sum, sample) => sum + (sample.atMs - meanX) * (sample[what] - meanY), 0) / spreadX;
		const rest = half.reduce((sum, s) => sum + (s[what] - meanY - slope * (s.atMs - meanX)) ** 2, 0);
		const error = Math.sqrt(rest / (half.length - 2) / spreadX);
		const toPercent = (value: number) => ((value * TEN_MINUTES_MS) / meanY) * 100;
		return { percent: toPercent(slope), error: toPercent(error) };
	}

	/** How many times the first sample the last one is. */
	growthOf(what: "heapBytes" | "rssBytes"): number {
		const [first] = this.samples;
		const last = this.samples.at(-1);
		return first && last ? last[what] / first[what] : 1;
	}
}

function mean(values: readonly number[]): number {
	return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function toMib(bytes: number): string {
	return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
