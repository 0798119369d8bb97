/** What the load source and its readers agree on. */

/** What a source is asked to print; travels as the text of the prompt. */
export type Load = {
	/** 0: as fast as the pipe takes it. */
	readonly eventsPerSecond: number;
	readonly forMs: number;
	/** Flat out for this long first, so that readers reach the state of a process that has been up for a while. */
	readonly floodMs: number;
	/** Each event may be late by up to this much, at random. Default 0. */
	readonly jitterMs?: number;
};

/** What a source says it printed; travels as the text of the result. */
export type Account = { readonly events: number; readonly sha1: string };

/** Microseconds on the clock that all processes of a machine share (CLOCK_MONOTONIC). */
export function nowUs(): number {
	return Math.round(Number(process.hrtime.bigint() / 1000n));
}
