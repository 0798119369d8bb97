import { mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lastLines } from "../../src/main/file-tail.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();

test.each<[string, string, readonly string[]]>([
	["a whole file", "a\nb\n", ["a", "b"]],
	["a line that is being written", "a\nb", ["a", "b"]],
	["blank lines", "a\n\n\n", ["a", "", ""]],
	["nothing", "", []],
	["a file that is longer", "first line\nsecond\nthird\n", ["second", "third"]],
	["one line that is longer", `${"x".repeat(30)}end\n`, [`${"x".repeat(12)}end`]],
])("%s", async (_name, content, expected) => {
	writeFileSync(folder.at("log"), content);
	expect(await lastLines(folder.at("log"), 16)).toEqual(expected);
});

test("what is no file is refused", async () => {
	mkdirSync(folder.at("directory"));
	await expect(lastLines(folder.at("directory"), 16)).rejects.toThrow("no regular file");
	await expect(lastLines(folder.at("missing"), 16)).rejects.toThrow("ENOENT");
});
