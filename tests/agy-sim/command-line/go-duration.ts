/** Go's duration notation: `0`, `30s`, `1h30m`, `1.5h`, `200ms`. */

const UNIT_MS: Readonly<Record<string, number>> = {
	ns: 1e-6,
	us: 1e-3,
	µs: 1e-3,
	ms: 1,
	s: 1000,
	m: 60_000,
	h: 3_600_000,
};

/** Milliseconds, or undefined when the text is no duration. */
export function parseGoDuration(text: string): number | undefined {
	if (text === "0") return 0;
	if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
	let sumMs = 0;
	for (const [, amount, , unit] of text.matchAll(/(\d+(\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
		sumMs += Number(amount) * (UNIT_MS[unit ?? ""] ?? 0);
	}
	return sumMs;
}

/** The way Go prints it, whole units only as far as the simulator needs them. */
export function formatGoDuration(durationMs: number): string {
	if (durationMs < 1000) return `${durationMs}ms`;
	const hours = Math.floor(durationMs / 3_600_000);
	const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
	const seconds = (durationMs % 60_000) / 1000;
	return `${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`;
}
