import { describe, expect, test } from "vitest";
import { toPath } from "../../../src/main/command/path-argument.ts";

const PLACE = { cwd: "/home/ada/project", home: "/home/ada", platform: "linux" } as const;

test.each([
	["a name", "a.wav", "/home/ada/project/a.wav"],
	["a folder up", "../a.wav", "/home/ada/a.wav"],
	["an absolute path", "/tmp/a.wav", "/tmp/a.wav"],
	["nothing", "  ", ""],
	["the home directory", "~", "/home/ada"],
	["a file of it", "~/a.wav", "/home/ada/a.wav"],
	["a file of it with an escaped space", String.raw`~/My\ file.wav`, "/home/ada/My file.wav"],
	["a quoted tilde, which is a name", "'~/a.wav'", "/home/ada/project/~/a.wav"],
	["an escaped tilde", String.raw`\~/a.wav`, "/home/ada/project/~/a.wav"],
	["a tilde within", "a~/b.wav", "/home/ada/project/a~/b.wav"],
	["a name that begins with a tilde", "~a.wav", "/home/ada/project/~a.wav"],
	["escaped spaces", String.raw`/tmp/My\ long\ file.wav`, "/tmp/My long file.wav"],
	["what a drop escapes", String.raw`/tmp/a\(1\)\&\'b\'\"c\"\$d\[e\]\\f.wav`, String.raw`/tmp/a(1)&'b'"c"$d[e]\f.wav`],
	["spaces as they are", "My file.wav", "/home/ada/project/My file.wav"],
	["space around", "  a.wav  ", "/home/ada/project/a.wav"],
	["single quotes", "'/tmp/My file.wav'", "/tmp/My file.wav"],
	["a backslash in single quotes", String.raw`'/tmp/a\ b.wav'`, String.raw`/tmp/a\ b.wav`],
	["a single quote as a shell quotes it", String.raw`'/tmp/it'\''s.wav'`, "/tmp/it's.wav"],
	["double quotes", '"/tmp/My file.wav"', "/tmp/My file.wav"],
	["escapes in double quotes", String.raw`"/tmp/a\"b\$c\ d\\e.wav"`, String.raw`/tmp/a"b$c\ d\e.wav`],
	["quotes within", "/tmp/'a b'/c.wav", "/tmp/a b/c.wav"],
	["two parts in quotes", `"/tmp/a b"'/c d'.wav`, "/tmp/a b/c d.wav"],
	["a quote without its pair", "it's.wav", "/home/ada/project/it's.wav"],
	["a backslash at the end", "a.wav\\", "/home/ada/project/a.wav\\"],
	["an empty quoted text", "''", "/home/ada/project"],
])("%s", (_what, typed, path) => {
	expect(toPath(typed, PLACE)).toBe(path);
});

describe("on Windows", () => {
	const WINDOWS = { cwd: "C:\\work", home: "C:\\Users\\ada", platform: "win32" } as const;

	test.each([
		["backslashes are part of it", String.raw`C:\My files\a.wav`, String.raw`C:\My files\a.wav`],
		["quotes are not", String.raw`"C:\My files\a.wav"`, String.raw`C:\My files\a.wav`],
		["a name", "a.wav", String.raw`C:\work\a.wav`],
		["the home directory", "~\\a.wav", String.raw`C:\Users\ada\a.wav`],
		["the same with a slash", "~/a.wav", String.raw`C:\Users\ada\a.wav`],
	])("%s", (_what, typed, path) => {
		expect(toPath(typed, WINDOWS)).toBe(path);
	});
});
