/** Numeric order of `1.2.3` versions. */
export function compareVersions(a: string, b: string): number {
	const [left, right] = [a, b].map((version) => version.split(".").map(Number));
	for (let part = 0; part < 3; part++) {
		const difference = (left?.[part] ?? 0) - (right?.[part] ?? 0);
		if (difference !== 0) return difference;
	}
	return 0;
}
