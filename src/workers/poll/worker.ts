/** Thread entry of a poll lane: runs of agy are followed through the conversation databases that they write. */

import type { LaneEnd, LaneStart } from "../../shared/lane-control.ts";
import { MAX_LINE_BYTES } from "../../shared/limits.ts";
import { StreamJsonDecoder } from "../decode/stream-json-decoder.ts";
import { runLane } from "../lane.ts";
import type { DecoderFactory } from "../link.ts";
import { FollowedRun } from "./run.ts";
import { Scheduler } from "./scheduler.ts";

export default function runPollLane(start: LaneStart): Promise<LaneEnd> {
	const scheduler = new Scheduler();
	return runLane(start, decoderFactory(scheduler)).finally(() => scheduler.close());
}

/** stdout is read for what newer versions say there: which conversation it is, and how the turn ended. */
function decoderFactory(scheduler: Scheduler): DecoderFactory {
	return (sink, spec) => {
		if (spec?.kind !== "run") throw new Error("A poll lane was given a process without a run.");
		const run = new FollowedRun(spec, sink, scheduler);
		const stdout = new StreamJsonDecoder(
			{ event: (event) => run.said(event), reject: () => {}, drift: (what, name) => sink.drift(what, name) },
			MAX_LINE_BYTES,
		);
		return {
			push: (chunk) => stdout.push(chunk),
			end: () => stdout.end(),
			started: (pid) => run.started(pid),
			finish: (exit, onEnd) => run.finish(exit, onEnd),
			close: () => run.close(),
		};
	};
}
