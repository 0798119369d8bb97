import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { findConversation } from "../../../src/workers/poll/discovery.ts";
import { type ConversationContent, writeConversation } from "../../support/conversation-files.ts";
import { Folder } from "../../support/folder.ts";

const OURS = "5f3c0000-0000-4000-8000-000000000001";
const OTHER = "5f3c0000-0000-4000-8000-000000000002";
const WORKSPACE = "/srv/some place";

const open: DatabaseSync[] = [];
// Before the folder is removed.
afterEach(() => {
	for (const db of open.splice(0)) db.close();
});
const folder = new Folder();
const startedAtMs = Date.now();
const run = () => ({ conversationsDir: folder.path, prompt: "hi", workspace: WORKSPACE, startedAtMs });

function write(id: string, content: ConversationContent = {}): void {
	open.push(writeConversation(folder.path, id, content));
}

function find(held: readonly string[] | null = null, isLive = true) {
	return findConversation(run(), held && new Set(held), isLive);
}

describe("the conversation of a run", () => {
	test("is the one that proves it, among others", () => {
		write(OURS, { metadata: [[7, pathToFileURL(WORKSPACE).href]] });
		write(OTHER, { prompt: "hi " });
		expect(find()).toEqual({ kind: "found", conversationId: OURS });
	});

	test.each<[string, ConversationContent]>([
		["is about another conversation", { cascadeId: OTHER }],
		["has a parent", { metadata: [[5, OTHER]] }],
		["is nested", { metadata: [[17, 1]] }],
		["was made before the run", { createdMs: startedAtMs - 60_000, promptMs: startedAtMs }],
		["has the prompt of an earlier run", { promptMs: startedAtMs - 60_000 }],
		["is of another workspace", { metadata: [[7, "file:///srv/other"]] }],
		["is of a workspace that is no folder", { metadata: [[7, "vscode-remote://host/srv"]] }],
		["begins with another prompt", { prompt: "HI" }],
		["has no prompt yet", { prompt: null }],
		["has next to no columns", { prompt: null, columns: "step_type integer" }],
	])("is none that %s", (_what, content) => {
		write(OURS, content);
		expect(find()).toEqual({ kind: "none", candidates: 1 });
	});

	test("is none that has no log while the process runs, and may be it afterwards", () => {
		writeConversation(folder.path, OURS).close();
		expect(find(null, true)).toEqual({ kind: "none", candidates: 1 });
		expect(find(null, false)).toEqual({ kind: "found", conversationId: OURS });
	});

	test("is one that was touched since the run began, by another name than a conversation's not at all", () => {
		writeConversation(folder.path, OURS).close();
		utimesSync(folder.at(`${OURS}.db`), 1, 1);
		writeFileSync(folder.at("conversation_summaries.db"), "");
		writeFileSync(folder.at(`${OTHER}.pb`), "");
		expect(find(null, false)).toEqual({ kind: "none", candidates: 0 });
	});

	test("is no file that is empty, is no database, or is a folder", () => {
		writeFileSync(folder.at(`${OURS}.db`), "");
		writeFileSync(folder.at(`${OTHER}.db`), "no database".repeat(1_000));
		mkdirSync(folder.at(`${OTHER.replace(/2$/, "3")}.db`));
		expect(find(null, false)).toEqual({ kind: "none", candidates: 3 });
	});

	test("is not found in a folder that is not there", () => {
		expect(findConversation({ ...run(), conversationsDir: folder.at("none") }, null, true)).toEqual({
			kind: "none",
			candidates: 0,
		});
	});

	test("is told apart by what the process holds open, where two prove it", () => {
		write(OURS);
		write(OTHER);
		expect(find()).toEqual({ kind: "ambiguous", conversationIds: expect.arrayContaining([OURS, OTHER]) });
		expect(find([OURS])).toEqual({ kind: "found", conversationId: OURS });
		expect(find([])).toEqual({ kind: "none", candidates: 2 });
	});
});
