/** Thread entry of an audio lane: what ffmpeg records becomes levels and an encoded file. */

import type { LaneEnd, LaneStart } from "../../shared/lane-control.ts";
import type { LinkId } from "../../shared/messages.ts";
import { runLane } from "../lane.ts";
import type { DecoderFactory, DecoderSink } from "../link.ts";
import { Capture, Feed } from "./capture.ts";

export default function runAudioLane(start: LaneStart): Promise<LaneEnd> {
	return runLane(start, decoderFactory(new Map()));
}

/** `captures` are the open ones, by which a feed finds its own. */
function decoderFactory(captures: Map<LinkId, DecoderSink>): DecoderFactory {
	return (sink, subject) => {
		if (subject?.kind === "feed") return new Feed(subject, sink, captures);
		if (subject?.kind !== "capture") throw new Error("An audio lane was given a process that is no recording.");
		captures.set(sink.link, sink);
		return new Capture(subject, sink, () => captures.delete(sink.link));
	};
}
