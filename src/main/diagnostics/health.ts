/** What is wrong, the most important first, each with its remedy. Pure. */

import type { Config } from "../config.ts";
import type { LaneHistory, LaneReport } from "../lanes.ts";
import { inWords } from "./durations.ts";
import type { LifecycleEntry } from "./lifecycle.ts";
import type { Quota } from "./quota.ts";

export type Problem = {
	/** A sentence. */
	readonly what: string;
	/** A sentence; "" where `what` names it. */
	readonly remedy: string;
};

export type Findings = {
	readonly config: Pick<Config, "problems" | "refusal">;
	/** Why no agy can be used, with the remedy; null when one can. */
	readonly agyProblem: string | null;
	readonly agyWarning: string | null;
	readonly dataDirProblem: string | null;
	readonly voiceProblems: readonly string[];
	readonly lanes: readonly LaneReport[];
	readonly kinds: Readonly<Record<string, LaneHistory>>;
	readonly quota: Quota | null;
	readonly events: readonly LifecycleEntry[];
	readonly nowMs: number;
};

export function problemsOf(findings: Findings): readonly Problem[] {
	const { config, agyProblem, agyWarning, dataDirProblem } = findings;
	const refusals = config.problems.filter((text) => text === config.refusal);
	const others = config.problems.filter((text) => text !== config.refusal);
	return [
		...texts(agyProblem),
		...refusals.flatMap(texts),
		...(dataDirProblem === null ? [] : [{ what: dataDirProblem, remedy: "Make the folder writable." }]),
		...laneProblems(findings),
		...texts(agyWarning),
		...quotaProblems(findings),
		...turnProblems(findings),
		...findings.voiceProblems.flatMap(texts),
		// They keep nothing from running.
		...others.flatMap(texts),
	];
}

function laneProblems({ lanes, kinds }: Findings): readonly Problem[] {
	const silent = lanes.filter(({ stats }) => stats === null);
	return [
		...Object.values(kinds).flatMap(({ down }) => texts(down)),
		...silent.map(({ kind, number }) => ({
			what: `The ${kind} lane ${number} does not answer.`,
			remedy: "Wait for its turns or stop them; /reload starts new worker threads.",
		})),
	];
}

function quotaProblems({ quota, nowMs }: Findings): readonly Problem[] {
	return (quota?.groups ?? []).flatMap(({ name, buckets }) =>
		buckets
			.filter(({ remaining, resetsAtMs }) => remaining === 0 && (resetsAtMs === null || resetsAtMs > nowMs))
			.map(({ window, resetsAtMs }) => ({
				what: `The quota of ${name} (${window}) is used up.`,
				remedy: `${resetsAtMs === null ? "Wait" : `It resets in ${inWords(resetsAtMs - nowMs)}`}, or choose a model of another quota.`,
			})),
	);
}

function turnProblems({ events, nowMs }: Findings): readonly Problem[] {
	const last = events.findLast(({ mark }) => ["turn-end", "turn-error", "timeout"].includes(mark.event));
	if (last === undefined || last.mark.event === "turn-end") return [];
	const how = last.mark.kind ?? last.mark.code ?? "an unexpected error";
	const when = inWords(nowMs - last.timeMs);
	return [{ what: `The last turn failed ${when} ago: ${how}.`, remedy: "Its message in the session says what to do." }];
}

function texts(text: string | null): readonly Problem[] {
	return text === null ? [] : [{ what: text, remedy: "" }];
}
