import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test } from "vitest";
import { ConversationDb } from "../../../src/workers/poll/conversation-db.ts";
import { type ConversationContent, putRow, writeConversation } from "../../support/conversation-files.ts";
import { Folder } from "../../support/folder.ts";

const ID = "5f3c0000-0000-4000-8000-000000000001";

const open: { close(): void }[] = [];
// Before the folder is removed.
afterEach(() => {
	for (const handle of open.splice(0)) handle.close();
});
const folder = new Folder();
const path = () => folder.at(`${ID}.db`);

function write(content: ConversationContent = {}): DatabaseSync {
	const writer = writeConversation(folder.path, ID, content);
	open.push(writer);
	return writer;
}

function read(isLive = true): ConversationDb {
	const db = ConversationDb.open(path(), isLive);
	if (!(db instanceof ConversationDb)) throw new Error(db.message);
	open.push(db);
	return db;
}

describe("opening", () => {
	test.each<[string, "not-yet" | "unreadable", () => void]>([
		["is not there", "not-yet", () => {}],
		["is empty", "not-yet", () => writeFileSync(path(), "")],
		["is no database", "unreadable", () => writeFileSync(path(), "no database".repeat(1_000))],
		["is a folder", "unreadable", () => mkdirSync(path())],
	])("a file that %s is a problem: %s", (_what, kind, make) => {
		make();
		expect(ConversationDb.open(path(), false)).toEqual({ kind, message: expect.stringMatching(/./) });
	});

	test("leaves a file without a log alone while it is live", () => {
		writeConversation(folder.path, ID).close();
		expect(ConversationDb.open(path(), true)).toMatchObject({ kind: "not-yet" });
		expect(read(false).readChanged(0)).toHaveLength(1);
	});
});

describe("the rows that changed", () => {
	test("are those whose status or length did, from a number on, in order", () => {
		const writer = write();
		const db = read();
		putRow(writer, 2, 15, 8, Buffer.from("ab"));
		putRow(writer, 1, 98, 3, null);
		const idxOf = (from: number) => db.readChanged(from).map(({ idx }) => idx);
		expect(idxOf(1)).toEqual([1, 2]);
		putRow(writer, 2, 15, 8, Buffer.from("abc"));
		putRow(writer, 1, 98, 3, null);
		expect(idxOf(1)).toEqual([2]);
		putRow(writer, 2, 15, 3, Buffer.from("abc"));
		expect(idxOf(1)).toEqual([2]);
		expect(idxOf(0)).toEqual([]); // nothing was committed since
		expect(db.readChanged(0, true).map(({ idx }) => idx)).toEqual([0, 1, 2]);
	});

	test("come with their columns as they are, NULL and text too", () => {
		const writer = write({ prompt: null });
		putRow(writer, 0, 15, 3, "text");
		putRow(writer, 1, 15, 3, null);
		putRow(writer, 2, 15, 3, Buffer.from([0, 255]));
		const rest = { type: 15, status: 3, errorDetails: null, permissions: null };
		expect(read().readChanged(0)).toEqual([
			{ idx: 0, payload: "text", ...rest },
			{ idx: 1, payload: null, ...rest },
			{ idx: 2, payload: new Uint8Array([0, 255]), ...rest },
		]);
	});

	test("come without the columns that are not there", () => {
		const writer = write({ prompt: null, columns: "status integer, step_payload blob, later blob" });
		writer.exec("INSERT INTO steps (idx, status, step_payload) VALUES (0, 3, x'01')");
		expect(read().readChanged(0)).toEqual([
			{ idx: 0, type: 0, status: 3, payload: new Uint8Array([1]), errorDetails: null, permissions: null },
		]);
	});

	test("are read at the end whatever the version and their heads say", () => {
		write();
		const db = read();
		const rows = db.readChanged(0);
		expect([db.readChanged(0), db.selects]).toEqual([[], 1]);
		expect([db.readChanged(0, true), db.selects]).toEqual([rows, 2]);
	});
});

describe("what a file says", () => {
	test("about itself is there as soon as it is written", () => {
		const writer = write();
		const db = read();
		expect(db.identity()).toEqual({ trajectoryId: "t", cascadeId: ID, metadata: expect.any(Uint8Array) });
		writer.exec("DELETE FROM trajectory_metadata_blob");
		expect(db.identity()).toMatchObject({ metadata: null });
		writer.exec("DELETE FROM trajectory_meta");
		expect(db.identity()).toBeNull();
	});

	test("first and last of a type", () => {
		const writer = write();
		putRow(writer, 1, 15, 3, null);
		putRow(writer, 2, 14, 3, null);
		const db = read();
		expect([db.firstOfType(14)?.idx, db.lastOfType(14)?.idx, db.lastOfType(23)]).toEqual([0, 2, null]);
	});

	test("holds until another file stands at its path", () => {
		write();
		const db = read();
		expect(db.isReplaced).toBe(false);
		renameSync(path(), folder.at("away"));
		expect(db.isReplaced).toBe(true);
		writeFileSync(path(), "");
		expect(db.isReplaced).toBe(true);
		rmSync(path());
		expect(db.isReplaced).toBe(true);
	});
});
