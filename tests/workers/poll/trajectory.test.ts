import { describe, expect, test } from "vitest";
import { decodeTrajectoryMetadata } from "../../../src/workers/poll/trajectory.ts";
import { message, timestamp } from "../../support/protobuf-writer.ts";

const ROOT = "5f3c0000-0000-4000-8000-00000000000a";
const PARENT = "5f3c0000-0000-4000-8000-00000000000b";

describe("a conversation's metadata", () => {
	test("of a root without a workspace", () => {
		const blob = message(
			[2, timestamp(1_782_650_000_500)],
			[3, "init"],
			[6, ROOT],
			[15, Buffer.alloc(364, 0xff)],
			[18, "p"],
		);
		expect(decodeTrajectoryMetadata(blob)).toStrictEqual({
			kind: "ok",
			value: {
				createdMs: 1_782_650_000_500,
				agentName: "",
				parentId: "",
				rootId: ROOT,
				nestingDepth: 0,
				workspaceUris: [],
			},
		});
	});

	test("of a subagent, its workspaces from both places", () => {
		const blob = message(
			[1, message([1, "file:///srv/a"], [4, "main"])],
			[1, message([1, "file:///srv/b"])],
			[4, message([1, "researcher"])],
			[5, PARENT],
			[6, ROOT],
			[7, "file:///srv/b"],
			[7, "file:///srv/c"],
			[17, 1],
		);
		expect(decodeTrajectoryMetadata(blob).value).toMatchObject({
			createdMs: null,
			agentName: "researcher",
			parentId: PARENT,
			rootId: ROOT,
			nestingDepth: 1,
			workspaceUris: ["file:///srv/a", "file:///srv/b", "file:///srv/c"],
		});
	});

	test.each([
		["NULL", null, "ok"],
		["torn", message([5, PARENT]).subarray(0, 20), "torn"],
		["corrupt", Buffer.from([0x07]), "corrupt"],
	])("%s", (_name, blob, kind) => {
		expect(decodeTrajectoryMetadata(blob).kind).toBe(kind);
	});

	test("fields of another wire type are left out", () => {
		expect(decodeTrajectoryMetadata(message([5, 1], [17, "1"], [7, 1], [1, 1], [6, ROOT])).value).toMatchObject({
			parentId: "",
			nestingDepth: 0,
			rootId: ROOT,
			workspaceUris: [],
		});
	});
});
