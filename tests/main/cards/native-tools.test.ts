import * as pi from "@earendil-works/pi-coding-agent";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { mayRunAgain, NATIVE_TOOL_NAMES, toNativeCall } from "../../../src/main/cards/native-tools.ts";
import type { JsonObject } from "../../../src/shared/events.ts";

const CWD = "/srv/demo";

type Row = readonly [what: string, tool: string, args: JsonObject, call: readonly [string, object] | null];

const ROWS: readonly Row[] = [
	["a file", "view_file", { AbsolutePath: "/a.ts" }, ["read", { path: "/a.ts" }]],
	["a relative path", "view_file", { AbsolutePath: "src/a.ts" }, ["read", { path: "/srv/demo/src/a.ts" }]],
	["a name that pi would expand", "view_file", { path: "~/a" }, ["read", { path: "/srv/demo/~/a" }]],
	["a name that pi would shorten", "view_file", { path: "@a" }, ["read", { path: "/srv/demo/@a" }]],
	["a file address", "view_file", { path: "file:///a%20b" }, ["read", { path: "/a b" }]],
	["a foreign address", "view_file", { path: "file://host/a" }, null],
	...["path", "TargetFile", "FilePath", "file_path", "absolute_path", "absolutePath", "File"].map(
		(name): Row => [`the spelling ${name}`, "view_file", { [name]: "/a" }, ["read", { path: "/a" }]],
	),
	["a range", "view_file", { path: "/a", StartLine: 3, EndLine: 7 }, ["read", { path: "/a", offset: 3, limit: 5 }]],
	[
		"one in text",
		"view_file",
		{ path: "/a", StartLine: "3", EndLine: "3" },
		["read", { path: "/a", offset: 3, limit: 1 }],
	],
	["another spelling of it", "view_file", { path: "/a", start_line: 3 }, ["read", { path: "/a", offset: 3 }]],
	["an end alone", "view_file", { path: "/a", EndLine: 7 }, null],
	["an end before its start", "view_file", { path: "/a", StartLine: 7, EndLine: 3 }, null],
	["a line 0", "view_file", { path: "/a", StartLine: 0, EndLine: 3 }, null],
	["half a line", "view_file", { path: "/a", StartLine: 1.5 }, null],
	["a line that is no number", "view_file", { path: "/a", StartLine: "x" }, null],
	["no path", "view_file", {}, null],
	["an empty path", "view_file", { path: "" }, null],
	["a path that is no text", "view_file", { path: ["/a"] }, null],
	["a path no system takes", "view_file", { path: "/a\0" }, null],
	["two paths", "view_file", { path: "/a", AbsolutePath: "/b" }, null],
	["an argument nobody knows", "view_file", { path: "/a", IsSkillFile: true }, null],
	["an argument named like a part of every object", "view_file", { path: "/a", constructor: 1 }, null],
	["an argument without a value", "view_file", { path: "/a", StartLine: null }, ["read", { path: "/a" }]],
	["agy's remarks", "view_file", { path: "/a", toolAction: "Viewing", toolSummary: "x" }, ["read", { path: "/a" }]],
	["a folder", "list_dir", { DirectoryPath: "/a" }, ["ls", { path: "/a" }]],
	["its old name", "list_directory", { Directory: "/a" }, ["ls", { path: "/a" }]],
	["a folder with more", "list_dir", { DirectoryPath: "/a", Recursive: true }, null],
	[
		"a search",
		"grep_search",
		{ SearchPath: "/a", Query: "TODO" },
		["grep", { pattern: "TODO", path: "/a", literal: true }],
	],
	["one that may be an expression", "grep_search", { SearchPath: "/a", Query: "a.*b" }, null],
	[
		"one that is",
		"grep_search",
		{ SearchPath: "/a", Query: "a.*b", IsRegex: true },
		["grep", { pattern: "a.*b", path: "/a" }],
	],
	[
		"one that is none",
		"grep_search",
		{
			search_path: "/a",
			pattern: "a.*b",
			IsRegex: "false",
			CaseInsensitive: true,
			MatchPerLine: true,
			Includes: ["*.ts"],
		},
		["grep", { pattern: "a.*b", path: "/a", literal: true, ignoreCase: true, glob: "*.ts" }],
	],
	[
		"a search in all files",
		"grep_search",
		{ path: "/a", query: "x", Includes: [] },
		["grep", { pattern: "x", path: "/a", literal: true }],
	],
	["a search for names of files alone", "grep_search", { path: "/a", Query: "x", MatchPerLine: false }, null],
	["a search in several kinds of files", "grep_search", { path: "/a", Query: "x", Includes: ["*.ts", "*.js"] }, null],
	["a search without a place", "grep_search", { Query: "x" }, null],
	["a search for nothing", "grep_search", { path: "/a", Query: "" }, null],
	["a flag that is none", "grep_search", { path: "/a", Query: "x", IsRegex: "perhaps" }, null],
	["a name", "find_by_name", { SearchDirectory: "/a", Pattern: "*.ts" }, ["find", { pattern: "*.ts", path: "/a" }]],
	[
		"a name in another spelling",
		"find_by_name",
		{ directory: "/a", glob: "*" },
		["find", { pattern: "*", path: "/a" }],
	],
	["a name with a depth", "find_by_name", { SearchDirectory: "/a", Pattern: "*", MaxDepth: 2 }, null],
	["a command", "run_command", { CommandLine: "cat /a" }, null],
	["an edit", "write_to_file", { TargetFile: "/a" }, null],
	["a tool nobody knows", "constructor", { path: "/a" }, null],
];

describe("a step", () => {
	test.each(ROWS)("with %s: %s %j", (_what, tool, args, call) => {
		expect(toNativeCall(tool, args, CWD)).toStrictEqual(call && { name: call[0], arguments: call[1] });
	});

	test.each([
		["view_file", true],
		["find_by_name", true],
		["run_command", false],
		["constructor", false],
	])("of %s may be run again: %s", (tool, may) => {
		expect(mayRunAgain(tool)).toBe(may);
	});
});

test("pi takes every call", () => {
	const tools = {
		read: pi.createReadToolDefinition(CWD),
		ls: pi.createLsToolDefinition(CWD),
		grep: pi.createGrepToolDefinition(CWD),
		find: pi.createFindToolDefinition(CWD),
	};
	expect(Object.keys(tools)).toStrictEqual([...NATIVE_TOOL_NAMES]);
	for (const [, , , call] of ROWS) {
		if (call === null) continue;
		const { parameters } = tools[call[0] as keyof typeof tools];
		expect(Value.Check(parameters, call[1])).toBe(true);
		expect(Object.keys(call[1]).filter((name) => !(name in parameters.properties))).toStrictEqual([]);
	}
});
