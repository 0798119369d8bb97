/** What pi's footer says while somebody speaks, or is spoken to. Pure. */

const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
/** Speech lies above it; what is below is drawn as the lowest bar. */
const QUIET_DB = -60;
const SHOWN_LEVELS = 8;

export type VoiceState = "idle" | "recording" | "processing" | "cancelled";

export type FooterView = {
	readonly state: VoiceState;
	/** Since the state began. */
	readonly elapsedMs: number;
	/** RMS in dB of full scale, oldest first. */
	readonly levels: readonly number[];
	/** What it is at, such as "transcribing"; "" while sound is recorded. */
	readonly step: string;
	readonly key: string;
};

/** The line for the footer; undefined when there is none. */
export function renderFooter({ state, elapsedMs, levels, step, key }: FooterView): string | undefined {
	if (state === "idle") return undefined;
	if (state === "cancelled") return "○ cancelled";
	const time = toClock(elapsedMs);
	if (state === "processing" || step !== "") return `◌ ${step} ${time} · Esc cancels`;
	return `● ${time} ${toBars(levels)} · ${keyName(key)} ends, Esc cancels`;
}

/** The line while an answer is read aloud. */
export function renderSpeech(elapsedMs: number): string {
	return `♪ reading aloud ${toClock(elapsedMs)} · Esc stops`;
}

export function toBars(levels: readonly number[]): string {
	const shown = levels.slice(-SHOWN_LEVELS);
	const bars = shown.map((db) => {
		const share = Math.min(1, Math.max(0, (db - QUIET_DB) / -QUIET_DB));
		return BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? BARS[0];
	});
	return bars.join("").padStart(SHOWN_LEVELS, BARS[0]);
}

function toClock(ms: number): string {
	const seconds = Math.floor(ms / 1_000);
	return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** pi writes keys in lower case; people know F12. */
export function keyName(key: string): string {
	return key.replace(/(^|\+)([a-z])/g, (_match, plus: string, letter: string) => plus + letter.toUpperCase());
}
