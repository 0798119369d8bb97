import { readdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { draftOf, sweepDrafts } from "../../src/main/drafts.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();

test("the sweep removes the drafts of processes that are gone, and nothing else", async () => {
	const kept = [
		draftOf(folder.at("sessions.json")),
		folder.at("sessions.json"),
		folder.at("notes.tmp"),
		folder.at("c1.lock.12.tmp"),
	];
	for (const path of [...kept, folder.at(`sessions.json.${2 ** 30}.0123abcd.tmp`)]) writeFileSync(path, "");
	await sweepDrafts(folder.path);
	expect(
		readdirSync(folder.path)
			.map((name) => folder.at(name))
			.toSorted(),
	).toStrictEqual(kept.toSorted());
});

test("no two drafts have the same name", () => {
	expect(draftOf("/x")).not.toBe(draftOf("/x"));
});

test("the sweep of a folder that is not there does nothing", async () => {
	await sweepDrafts(folder.at("nowhere"));
});
