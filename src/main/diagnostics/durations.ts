/** Spans of time and sizes as a person says them. */

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** Such as "45 s", "3 min", "2 h 19 min", "5 d 3 h"; never negative. */
export function inWords(ms: number): string {
	const seconds = Math.max(0, Math.round(ms / 1000));
	if (seconds < MINUTE_S) return `${seconds} s`;
	if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min`;
	if (seconds < DAY_S) return join(Math.floor(seconds / HOUR_S), "h", Math.floor((seconds % HOUR_S) / MINUTE_S), "min");
	return join(Math.floor(seconds / DAY_S), "d", Math.floor((seconds % DAY_S) / HOUR_S), "h");
}

/** Such as "812 B", "1.4 MB". */
export function sizeInWords(bytes: number): string {
	const units = ["B", "KB", "MB", "GB"];
	const power = Math.min(units.length - 1, bytes < 1_000 ? 0 : Math.floor(Math.log10(bytes) / 3));
	return power === 0 ? `${bytes} B` : `${(bytes / 1_000 ** power).toFixed(1)} ${units[power]}`;
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
	return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
