/** Thread entry of a decode lane: agy's stream-json output becomes events here. */

import type { LaneEnd, LaneStart } from "../../shared/lane-control.ts";
import { MAX_LINE_BYTES } from "../../shared/limits.ts";
import { runLane } from "../lane.ts";
import type { DecoderFactory } from "../link.ts";
import { StreamJsonDecoder } from "./stream-json-decoder.ts";
import { TranscriptWatch } from "./transcript.ts";

export default function runDecodeLane(start: LaneStart): Promise<LaneEnd> {
	return runLane(start, createDecoder);
}

const createDecoder: DecoderFactory = (sink) => {
	const decoder = new StreamJsonDecoder(sink, MAX_LINE_BYTES);
	let watch: TranscriptWatch | null = null;
	const unwatchTranscript = () => {
		watch?.stop();
		watch = null;
	};
	return {
		push: (chunk) => decoder.push(chunk),
		end: () => decoder.end(),
		watchTranscript(path, afterStep) {
			unwatchTranscript();
			watch = new TranscriptWatch(path, afterStep, ({ step, text }) => {
				sink.event({ kind: "withheld-answer", step, text });
				sink.flush();
			});
		},
		unwatchTranscript,
	};
};
