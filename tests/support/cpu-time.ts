/** Milliseconds of processor time that `work` takes: what else the machine does is not in it, as it is in the time that passes. */
export function cpuMsOf(work: () => unknown): number {
	const before = process.cpuUsage();
	work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1_000;
}
