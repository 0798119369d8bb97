/**
 * What a conversation database says about its conversation beside the steps: whose it is and where it comes from. Pure;
 * nothing throws. Fields 2, 3 and 6 were seen in databases of agy 1.0.10, the others are known from descriptors (1.2.0).
 */

import { WireReader } from "../decode/protobuf.ts";
import { type ColumnBlob, type Decoded, toBytes } from "../decode/step-payload.ts";

/** Table `trajectory_metadata_blob`. */
export type TrajectoryMetadata = {
	/** Unix time, ms. */
	readonly createdMs: number | null;
	readonly agentName: string;
	/** Of a subagent: the conversation that started it. "" otherwise. */
	readonly parentId: string;
	readonly rootId: string;
	/** 0 of a root conversation. */
	readonly nestingDepth: number;
	/** file: URIs; none when agy runs without `--add-dir`. */
	readonly workspaceUris: readonly string[];
};

const MAX_WORKSPACES = 1_000;

export function decodeTrajectoryMetadata(blob: ColumnBlob): Decoded<TrajectoryMetadata> {
	const reader = new WireReader(toBytes(blob));
	const uris = new Set<string>();
	const add = (uri: string) => uri !== "" && uris.size < MAX_WORKSPACES && uris.add(uri);
	const found = { createdMs: null as number | null, agentName: "", parentId: "", rootId: "", nestingDepth: 0 };
	while (reader.next()) {
		switch (reader.field) {
			case 1:
				add(reader.textIn(1, ""));
				break;
			case 2:
				found.createdMs = reader.timestampMs(found.createdMs);
				break;
			case 4:
				found.agentName = reader.textIn(1, found.agentName);
				break;
			case 5:
				found.parentId = reader.text(found.parentId);
				break;
			case 6:
				found.rootId = reader.text(found.rootId);
				break;
			case 7:
				add(reader.text(""));
				break;
			case 17:
				found.nestingDepth = reader.uint(found.nestingDepth);
				break;
		}
	}
	return { kind: reader.fault ?? "ok", value: { ...found, workspaceUris: [...uris] } };
}
