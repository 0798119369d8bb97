import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { EditDiffs, editedFile } from "../../../src/main/cards/edit-diffs.ts";
import { MAX_FILE_BYTES } from "../../../src/main/cards/file-content.ts";
import type { JsonObject } from "../../../src/shared/events.ts";
import { tool } from "../../support/agy-events.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const NO_GIT = { contentOf: async () => null };
/** Later than everything the test writes, or earlier. */
const LATER = Number.MAX_SAFE_INTEGER;
const EARLIER = 0;

function edits(startedMs: number, committed: string | null = null): EditDiffs {
	const head = committed === null ? NO_GIT : { contentOf: async () => committed };
	return new EditDiffs({ cwd: folder.path, head, startedMs });
}

let path: string;

beforeEach(() => {
	path = folder.at("a.ts");
});

/** An edit whose beginning is seen in time. */
async function edit(diffs: EditDiffs, write: () => void) {
	await diffs.seen(path);
	write();
	return diffs.ended(path);
}

describe("an edit", () => {
	test("that was seen in time is the difference between before and after", async () => {
		writeFileSync(path, "one\ntwo\nthree\n");
		expect(await edit(edits(EARLIER), () => writeFileSync(path, "one\n2\nthree\nfour\n"))).toStrictEqual({
			summary: "a.ts: 2 added, 1 removed (lines).",
			diff: " 1 one\n-2 two\n+2 2\n 3 three\n+4 four",
		});
	});

	test("of a file that an edit of the turn has left starts there, even when it is seen too late", async () => {
		writeFileSync(path, "one\n");
		const diffs = edits(EARLIER);
		await edit(diffs, () => writeFileSync(path, "one\ntwo\n"));
		writeFileSync(path, "one\ntwo\nthree\n");
		expect((await diffs.ended(path)).diff).toBe(" 1 one\n 2 two\n+3 three");
		expect((await diffs.ended(path)).summary).toBe("a.ts: no change beyond the diff of the edit before.");
	});

	test.each([
		["what git had", "zero\n", "a.ts: 1 added, 1 removed (lines).", "-1 zero\n+1 one"],
		["what git had, and nothing is changed", "one\n", "a.ts: unchanged.", null],
	])("that was seen too late starts at %s", async (_name, committed, summary, diff) => {
		writeFileSync(path, "one\n");
		expect(await edits(EARLIER, committed).ended(path)).toStrictEqual({ summary, diff });
	});

	test("that was seen too late of a file made within the turn starts at nothing", async () => {
		const startedMs = Date.now() - 1_000;
		writeFileSync(path, "one\n");
		expect(await edits(startedMs).ended(path)).toStrictEqual({
			summary: "a.ts: new file, 1 added, 0 removed (lines).",
			diff: "+1 one",
		});
	});

	test("that was seen too late of an older file says that there is no diff", async () => {
		writeFileSync(path, "one\n");
		const startedMs = Date.now() + 1_000;
		utimesSync(path, startedMs / 1_000 + 10, startedMs / 1_000 + 10); // Written after the turn began, made before.
		expect(await edits(startedMs).ended(path)).toStrictEqual({
			summary: "a.ts: what stood there before the edit is not known, so there is no diff.",
			diff: null,
		});
	});

	type Case = readonly [name: string, before: string | Buffer | null, after: string | Buffer | null, summary: string];
	const HUGE = "x\n".repeat(MAX_FILE_BYTES / 2 + 1);
	const cases: readonly Case[] = [
		["a file nobody touched", "one\n", "one\n", "unchanged."],
		["a new file", null, "one\ntwo\n", "new file, 2 added, 0 removed (lines)."],
		["a file that is gone", "one\n", null, "deleted, 0 added, 1 removed (lines)."],
		["a file that never was", null, null, "there is no such file."],
		["line ends alone", "one\r\n", "one\n", "only line ends changed."],
		["a line among Windows' line ends", "one\r\ntwo\r\n", "one\r\n2\r\n", "1 added, 1 removed (lines)."],
		["binary", Buffer.from([1, 0]), Buffer.from([1, 0, 2]), "binary, 2 bytes before, 3 bytes now."],
		["a text that becomes binary", "one\n", Buffer.from([1, 0, 2]), "binary, 4 bytes before, 3 bytes now."],
		["a new binary", null, Buffer.alloc(2048), "binary, no file before, 2.0 KiB now."],
		["a huge file", "one\n", HUGE, "too large for a diff, 4 bytes before, 256.0 KiB now."],
		["a rewritten file", lines(500, "a"), lines(600, "b"), "500 lines became 600: too many for a diff."],
		["a very long new file", null, lines(6_000, "a"), "new file, 0 lines became 6000: too many for a diff."],
	];
	test.each(cases)("of %s", async (_name, before, after, summary) => {
		if (before !== null) writeFileSync(path, before);
		const view = await edit(edits(LATER), () => {
			if (after === null) rmSync(path, { force: true });
			else writeFileSync(path, after);
		});
		expect(view.summary).toBe(`a.ts: ${summary}`);
		expect(view.diff !== null).toBe(/\(lines\)/.test(summary));
	});

	test("of a long file is shown as far as a card goes", async () => {
		const view = await edit(edits(EARLIER), () => writeFileSync(path, lines(900, "x".repeat(100))));
		expect(view.diff?.length).toBeLessThan(50_100);
		expect(view.diff).toMatch(/\n {5}\.\.\. \d+ more lines are not shown$/);
		const shown = view.diff?.split("\n") ?? [];
		expect(shown.length - 1 + Number(/(\d+) more/.exec(view.diff ?? "")?.[1])).toBe(900);
	});

	test("of what is no file says so", async () => {
		mkdirSync(path);
		expect(await edits(EARLIER).ended(path)).toStrictEqual({
			summary: "a.ts: cannot be read, so there is no diff (it is no regular file).",
			diff: null,
		});
	});

	test("of a file elsewhere names the whole path", async () => {
		const diffs = new EditDiffs({ cwd: folder.at("elsewhere"), head: NO_GIT, startedMs: LATER });
		writeFileSync(path, "one\n");
		expect((await diffs.ended(path)).summary).toBe(`${path}: unchanged.`);
	});
});

function lines(count: number, text: string): string {
	return Array.from({ length: count }, (_, index) => `${text}${index}\n`).join("");
}

test.each<[string, JsonObject, string | null]>([
	["write_to_file", { TargetFile: "/a" }, "/a"],
	["replace_file_content", { TargetFile: "a" }, "/srv/a"],
	["multi_replace_file_content", { target_file: "/a", ReplacementChunks: [] }, "/a"],
	["create_file", { path: "/a" }, "/a"],
	["edit_file", { AbsolutePath: "/a" }, "/a"],
	["delete_file", { FilePath: "/a" }, "/a"],
	["write_to_file", { Text: "x" }, null],
	["view_file", { AbsolutePath: "/a" }, null],
])("%s of %j writes %s", (name, args, file) => {
	expect(editedFile(tool(1, "done", { name, args }), "/srv")).toBe(file);
});
