/** Thread entry of a decode lane: agy's stream-json output becomes events here. */

import type { LaneEnd, LaneStart } from "../../shared/lane-control.ts";
import { MAX_LINE_BYTES } from "../../shared/limits.ts";
import { runLane } from "../lane.ts";
import { StreamJsonDecoder } from "./stream-json-decoder.ts";

export default function runDecodeLane(start: LaneStart): Promise<LaneEnd> {
	return runLane(start, (sink) => new StreamJsonDecoder(sink, MAX_LINE_BYTES));
}
