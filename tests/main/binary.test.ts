import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BinaryProbe } from "../../src/main/binary.ts";
import { type Config, loadConfig } from "../../src/main/config.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { ProcessRegistry } from "../../src/main/processes/registry.ts";
import { MIN_AGY_VERSION, PROBE_FRESH_MS, WARN_AGY_VERSION } from "../../src/shared/limits.ts";
import { writeProgram, writeScript } from "../support/executables.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();
let registry: ProcessRegistry;
let probe: BinaryProbe;
let errors: unknown[];

/** What a pi that has just started asks. */
const openProbe = (...place: readonly string[]) =>
	new BinaryProbe(new JsonStore(folder.at(...place, "binaries.json")), registry, (error) => errors.push(error));

beforeEach(() => {
	registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
		throw error;
	});
	errors = [];
	probe = openProbe();
});

afterEach(async () => {
	vi.useRealTimers();
	await registry.close();
});

function configOf(bin: string | null, searchPath = "/usr/bin:/bin"): Config {
	return loadConfig({ PI_CODING_AGENT_DIR: folder.path, PATH: searchPath, ...(bin !== null && { AGY_BIN: bin }) });
}

/** A program that says its version and its flags, and keeps count of what it was asked. */
function writeAgy(version: string, help = ""): string {
	return writeScript(
		folder.at("agy"),
		`echo "$1" >> ${folder.at("asked")}; [ "$1" = --version ] && echo ${version} || printf '%b' '${help}'`,
	);
}

const asked = () => readFileSync(folder.at("asked"), "utf8").trim().split("\n");

const find = (bin: string | null, searchPath?: string) =>
	probe.find(configOf(bin, searchPath), streamJsonEngine.requires);

describe("which agy", () => {
	test("the one AGY_BIN names", async () => {
		const path = writeScript(folder.at("my agy"), "echo 1.2.9");
		expect(await find(path)).toMatchObject({ path, version: "1.2.9", warning: null });
	});

	test("the first on PATH that can be run", async () => {
		for (const name of ["a", "b", "c"]) mkdirSync(folder.at(name));
		writeProgram(folder.at("a", "agy"), "not executable", 0o644);
		mkdirSync(folder.at("b", "agy"));
		const path = writeScript(folder.at("c", "agy"), "echo 1.2.9");
		const searchPath = ["missing", "a", "b", "c"].map((name) => folder.at(name)).join(":");
		expect(await find(null, searchPath)).toMatchObject({ path });
	});

	test("a bare name in AGY_BIN is looked up on PATH", async () => {
		const path = writeScript(folder.at("agy-next"), "echo 1.2.9");
		expect(await find("agy-next", folder.path)).toMatchObject({ path });
	});
});

describe("an agy that cannot be used", () => {
	test.each<[string, () => string, string, string]>([
		["is missing", () => folder.at("nowhere"), "agy-not-found", "which does not exist"],
		["is a folder", () => folder.path, "agy-not-executable", "which is no file"],
		[
			"is not executable",
			() => writeProgram(folder.at("agy"), "#!/bin/sh\necho 1.2.9", 0o644),
			"agy-not-executable",
			"which is not executable",
		],
		[
			"is for another machine",
			() => writeProgram(folder.at("agy"), "\x7fELF\x02\x01\x01"),
			"agy-not-executable|bad-output",
			"agy",
		],
		[
			"is a web page",
			() => writeProgram(folder.at("agy"), "<!DOCTYPE html>\n<html></html>\n"),
			"agy-not-executable|bad-output",
			"agy",
		],
		[
			"has lost its interpreter",
			() => writeProgram(folder.at("agy"), "#!/nowhere/sh\n"),
			"agy-not-executable",
			"cannot be run",
		],
		[
			"prints something else",
			() => writeScript(folder.at("agy"), "echo 'GNU agy, the silver tool'"),
			"bad-output",
			'it printed "GNU agy, the silver tool"',
		],
		[
			"complains",
			() => writeScript(folder.at("agy"), "echo 'no license' >&2; exit 1"),
			"bad-output",
			'it printed "no license"',
		],
		[
			"prints nothing",
			() => writeScript(folder.at("agy"), "exit 3"),
			"bad-output",
			"printed nothing and exited with code 3",
		],
		["prints without an end", () => writeScript(folder.at("agy"), "exec yes"), "agy-failed", "bytes of output"],
		["is too old", () => writeScript(folder.at("agy"), "echo 1.1.14"), "agy-too-old", "agy 1.1.14 is too old"],
	])("%s", async (_name, make, code, words) => {
		const path = make();
		await expect(find(path)).rejects.toMatchObject({
			name: "AgyError",
			code: expect.stringMatching(`^(${code})$`),
			message: expect.stringContaining(words),
		});
	});

	test("is nowhere on PATH: says how to get it", async () => {
		await expect(find(null, folder.path)).rejects.toMatchObject({
			code: "agy-not-found",
			message: expect.stringMatching(/no `agy` on PATH.*AGY_BIN/),
		});
	});

	test("shows no secret of what it printed", async () => {
		const path = writeScript(folder.at("agy"), "echo 'Authorization: Bearer abcdefgh'");
		await expect(find(path)).rejects.toMatchObject({ message: expect.not.stringContaining("abcdefgh") });
	});

	test("is asked again next time", async () => {
		const path = writeScript(folder.at("agy"), `[ -e ${folder.at("fixed")} ] && echo 1.2.9 || exit 1`);
		await expect(find(path)).rejects.toMatchObject({ code: "bad-output" });
		mkdirSync(folder.at("fixed"));
		expect(await find(path)).toMatchObject({ version: "1.2.9" });
	});
});

describe("an agy that does not work", () => {
	test("fails all that wait for its answer, and is asked again by who comes then", async () => {
		const path = writeScript(folder.at("agy"), `echo "$1" >> ${folder.at("asked")}; exit 1`);
		const first = find(path);
		const waiting = [find(path), find(path)];
		for (const found of [first, ...waiting]) await expect(found).rejects.toMatchObject({ code: "bad-output" });
		expect(asked()).toStrictEqual(["--version"]);
		await expect(find(path)).rejects.toMatchObject({ code: "bad-output" });
		expect(asked()).toStrictEqual(["--version", "--version"]);
	});
});

describe("the version", () => {
	test.each([
		["1.2.12", "1.2.12", null],
		["v1.3.0", "1.3.0", null],
		[`\n ${WARN_AGY_VERSION}-beta (linux)`, WARN_AGY_VERSION, null],
		[MIN_AGY_VERSION, MIN_AGY_VERSION, "has known defects"],
		["1.1.21", "1.1.21", "has known defects"],
	])("%j", async (printed, version, warning) => {
		const path = writeScript(folder.at("agy"), `printf '%s\\n' '${printed}'`);
		expect(await find(path)).toMatchObject({
			version,
			warning: warning === null ? null : expect.stringContaining(warning),
		});
	});

	test.each([
		["1.1.99", false],
		["1.2.0", true],
		["1.2.7", true],
		["2.0.0", true],
	])("%s tells whether agy names itself before it reads a prompt: %s", async (version, namesItselfFirst) => {
		const path = writeScript(folder.at("agy"), `echo ${version}`);
		expect(await find(path)).toMatchObject({ namesItselfFirst });
	});

	test("is asked once while the file is the same, also by several at once and by the next pi", async () => {
		const path = writeAgy("1.2.9");
		await Promise.all([find(path), find(path)]);
		await find(path);
		probe = openProbe();
		expect(await find(path)).toMatchObject({ version: "1.2.9" });
		expect(asked()).toStrictEqual(["--version", "--help"]);
	});

	test("is asked again after an hour: the file may be a script in front of another one", async () => {
		const path = writeAgy("1.2.9");
		await find(path);
		vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + PROBE_FRESH_MS });
		await find(path);
		probe = openProbe();
		await find(path);
		expect(asked().filter((flag) => flag === "--version")).toHaveLength(2);
	});

	test.each([
		["is damaged", "{"],
		["holds something else", '{"binaries":{"PATH":{"version":7}}}'],
		["holds nothing usable", '{"binaries":[1]}'],
	])("is asked again when the record %s", async (_name, record) => {
		const path = writeAgy("1.2.9");
		writeFileSync(folder.at("binaries.json"), record.replace("PATH", path));
		expect(await find(path)).toMatchObject({ version: "1.2.9" });
	});

	test("is used though it cannot be kept", async () => {
		writeFileSync(folder.at("in-the-way"), "");
		probe = openProbe("in-the-way");
		expect(await find(writeAgy("1.2.9"))).toMatchObject({ version: "1.2.9" });
		expect(errors).toHaveLength(1);
	});

	test("is asked again when agy has replaced itself", async () => {
		const path = writeScript(folder.at("agy"), "echo 1.2.7");
		const before = await find(path);
		writeScript(folder.at("agy"), "echo 1.2.9");
		const after = await find(path);
		expect([before.version, after.version]).toStrictEqual(["1.2.7", "1.2.9"]);
		expect(after.fingerprint).not.toBe(before.fingerprint);
	});
});

describe("the flags", () => {
	const HELP =
		"Usage of agy:\\n  --print string\\n  --input-format string\\n  --output-format string\\n  --add-dir value\\n  --model string\\n  --conversation string\\n";

	test("that its help does not list are missing", async () => {
		expect(await find(writeAgy("1.2.9", `${HELP}  --mode string\\n`))).toMatchObject({
			missingFlags: ["agent", "dangerously-skip-permissions", "disable-slash-commands", "print-timeout"],
		});
	});

	test.each([
		["says nothing", ""],
		["says something else", "agy: try `agy help flags`"],
	])("are taken for granted when its help %s", async (_name, help) => {
		expect(await find(writeAgy("1.2.9", help))).toMatchObject({ flags: null, missingFlags: [] });
	});

	test("are taken for granted when its help does not come to an end", async () => {
		const path = writeScript(folder.at("agy"), '[ "$1" = --version ] && echo 1.2.9 || exec yes -- --model');
		expect(await find(path)).toMatchObject({ version: "1.2.9", flags: null });
	});

	test("are read from stderr and from a failure too, as Go prints them", async () => {
		const path = writeScript(
			folder.at("agy"),
			`[ "$1" = --version ] && echo 1.2.9 && exit; printf '${HELP}' >&2; exit 2`,
		);
		expect(await find(path)).toMatchObject({ missingFlags: expect.arrayContaining(["agent"]) });
	});

	test("that no turn can do without are too many to miss", async () => {
		const path = writeAgy("1.2.9", HELP.replace("--input-format", "--in").replace("--conversation", "--conv"));
		await expect(find(path)).rejects.toMatchObject({
			code: "agy-too-old",
			message: "agy 1.2.9 does not offer --input-format, --conversation, which pi-agy needs. Run `agy update`.",
		});
	});
});

describe("agy's own time limit for a turn", () => {
	const help = (line: string) =>
		`--print string\\n  --input-format --output-format --add-dir --model --conversation\\n${line}`;

	test.each([
		["is unlimited from 1.2.6 on", "1.2.6", "", false, null],
		["is 5 minutes before", "1.2.5", "", true, null],
		[
			"is what its help says",
			"1.2.9",
			help("  -print-timeout duration\\n    \\tHow long (default 5m0s)\\n"),
			true,
			"5m0s",
		],
		[
			"is what its help says on one line",
			"1.2.5",
			help("      --print-timeout duration   Limit (default 0s)\\n"),
			false,
			"0s",
		],
	])("%s: agy %s", async (_name, version, text, limitsTurns, printTimeout) => {
		const found = await find(writeAgy(version, text));
		expect(found).toMatchObject({ limitsTurns, printTimeout, warning: null });
		probe = openProbe();
		expect(await find(found.path)).toMatchObject({ limitsTurns, printTimeout });
	});

	test("that cannot be set is warned about", async () => {
		expect(await find(writeAgy("1.2.5", help("  -mode string\\n")))).toMatchObject({
			warning: "agy 1.2.5 ends a turn by itself after 5m, and has no --print-timeout. Run `agy update`.",
		});
	});
});
