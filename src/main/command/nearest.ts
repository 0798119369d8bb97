/** What was probably meant by a word that is not known. Pure. */

/** The candidate with the fewest changed letters, if they are few for its length; null when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
	let best: { readonly candidate: string; readonly distance: number } | null = null;
	for (const candidate of candidates) {
		const distance = candidate.startsWith(word) && word.length > 1 ? 1 : distanceOf(word, candidate);
		if (best === null || distance < best.distance) best = { candidate, distance };
	}
	return best !== null && best.distance <= Math.max(1, Math.floor(best.candidate.length / 3)) ? best.candidate : null;
}

/** Insertions, deletions, replacements and swaps of neighbours between two words. */
function distanceOf(a: string, b: string): number {
	let beforeLast: readonly number[] = [];
	let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
	for (let i = 1; i <= a.length; i++) {
		const row = [i];
		for (let j = 1; j <= b.length; j++) {
			const cost = a[i - 1] === b[j - 1] ? 0 : 1;
			let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
				least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1);
			row.push(least);
		}
		beforeLast = last;
		last = row;
	}
	return last[b.length] ?? 0;
}
