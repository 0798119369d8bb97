/**
 * What was done to this process and when: the only excuse of a turn that did not go as planned. Times are in ms of
 * `performance.now()`.
 */
import type { LaneKind } from "../../src/shared/lane-control.ts";

export type DiskFault = "read-only" | "full";

/** A thread that was ended. */
export type LaneHit = {
	readonly kind: "lane";
	/** Null for one that was just starting. */
	readonly lane: LaneKind | null;
	/** pi's ids of the sessions that had a link on it. */
	readonly sessions: ReadonlySet<string>;
	/** Those whose turn ran on another one. */
	readonly spared: ReadonlySet<string>;
};

type Hit = LaneHit | { readonly kind: DiskFault | "few-descriptors" };
type Entry = { readonly hit: Hit; readonly fromMs: number; toMs: number };

/** The turn that asks to be excused. */
export type Victim = {
	readonly sessionId: string;
	readonly lane: LaneKind;
	readonly fromMs: number;
	readonly toMs: number;
};

/** How pi-agy tells what went wrong, by what was done. Nothing else is excused. */
const WORDS: Readonly<Record<Hit["kind"], RegExp>> = {
	lane: /^(The worker thread that reads agy's output crashed \(|agy was not started: the lane does not accept its pipes)/,
	// Node says ENOENT when it can make none of the folders of a path.
	"read-only": /EROFS|ENOTDIR|EEXIST|ENOENT: no such file or directory, mkdir/,
	full: /ENOSPC/,
	// The lane takes descriptors too, and closes the connection that there is none for: agy is not started, or ends by SIGPIPE.
	"few-descriptors":
		/EMFILE|too many files are open|^agy was not started: the lane does not accept its pipes|^agy exited with code 141 /,
};

export class FaultLog {
	readonly #entries: Entry[] = [];

	/** It begins now. Returns its end, to be called when it can do no harm any more. */
	begin(hit: Hit): () => void {
		const entry: Entry = { hit, fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
		this.#entries.push(entry);
		return () => {
			entry.toMs = performance.now();
		};
	}

	/** Whether a fault that hit this very turn explains these words of pi-agy's. */
	explains(words: string, victim: Victim): boolean {
		return this.#hitsOf(victim).some(({ kind }) => WORDS[kind].test(words));
	}

	/** Whether the disk failed within this time. */
	isDiskBad(fromMs: number, toMs = performance.now()): boolean {
		return this.#during(fromMs, toMs).some(({ kind }) => kind === "read-only" || kind === "full");
	}

	/** For a person. */
	describe(victim: Victim): string {
		return this.#hitsOf(victim)
			.map((hit) => (hit.kind === "lane" ? `lane (${hit.lane})` : hit.kind))
			.join(", ");
	}

	/** A lane hits who had a link on it, and who was just being given one of its kind. */
	#hitsOf({ sessionId, lane, fromMs, toMs }: Victim): readonly Hit[] {
		return this.#during(fromMs, toMs).filter((hit) => {
			if (hit.kind !== "lane") return true;
			return hit.sessions.has(sessionId) || (!hit.spared.has(sessionId) && (hit.lane ?? lane) === lane);
		});
	}

	#during(fromMs: number, toMs: number): readonly Hit[] {
		return this.#entries.filter((entry) => entry.fromMs <= toMs && entry.toMs >= fromMs).map(({ hit }) => hit);
	}
}
