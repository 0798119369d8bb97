import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lastFailedCapture, sweepCaptures } from "../../../src/main/diagnostics/captures.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const directory = () => folder.at("captures");
const nameOf = (turn: number) => `2030-01-01T00-00-00-${String(turn).padStart(3, "0")}Z_1_1_${turn}.ndjson`;

test("the newest 200 are kept, and what is not ours", async () => {
	mkdirSync(directory());
	for (let turn = 0; turn < 203; turn++) writeFileSync(folder.at("captures", nameOf(turn)), "");
	writeFileSync(folder.at("captures", "notes.txt"), "");
	await sweepCaptures(directory());
	const names = readdirSync(directory());
	expect(names).toHaveLength(201);
	expect(names).toContain("notes.txt");
	expect(names).toContain(nameOf(202));
	expect(names).not.toContain(nameOf(2));
});

test("a half is removed when nobody writes it any more", async () => {
	mkdirSync(directory());
	const [old, young] = [`${nameOf(1)}.part`, `${nameOf(2)}.part`];
	for (const name of [old, young]) writeFileSync(folder.at("captures", name), "");
	utimesSync(folder.at("captures", old), 1, 1);
	await sweepCaptures(directory());
	expect(readdirSync(directory())).toStrictEqual([young]);
});

test("without a folder there is nothing to do, and none is made", async () => {
	await sweepCaptures(directory());
	expect(await lastFailedCapture(directory())).toBeNull();
	expect(existsSync(directory())).toBe(false);
});

test("a turn that is cut off did not end well; one too large for a report is passed by", async () => {
	mkdirSync(directory());
	writeFileSync(folder.at("captures", nameOf(1)), '{"capture":1}\n{"t":1,"dir":"ou');
	writeFileSync(folder.at("captures", nameOf(2)), "x".repeat(1024 * 1024 + 1));
	expect((await lastFailedCapture(directory()))?.name).toBe(nameOf(1));
});
