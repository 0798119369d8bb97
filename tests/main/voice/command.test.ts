import { readFile, stat, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonStore } from "../../../src/main/json-store.ts";
import { ProcessRegistry } from "../../../src/main/processes/registry.ts";
import { type CommandOptions, commandTranscriber } from "../../../src/main/voice/command.ts";
import { type Recorded, withRules } from "../../../src/main/voice/transcriber.ts";
import { AgyError } from "../../../src/shared/errors.ts";
import { until, within } from "../../support/condition.ts";
import { writeProgram, writeScript } from "../../support/executables.ts";
import { Folder } from "../../support/folder.ts";
import { isRunning, killQuietly } from "../../support/process-table.ts";

const folder = new Folder();
let registry: ProcessRegistry;
let recorded: Recorded;

beforeEach(async () => {
	registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
		throw error;
	});
	// A name that a shell would take apart.
	const path = folder.at("a $(touch hacked) recording.wav");
	await writeFile(path, "RIFF sound");
	recorded = { mimeType: "audio/wav", durationMs: 0, path, base64: null };
});

afterEach(async () => {
	await registry.close();
	expect(registry.running).toStrictEqual([]);
});

function transcribe(
	command: readonly string[],
	more: Partial<CommandOptions> = {},
	signal = new AbortController().signal,
	timeLimitMs = 30_000,
): Promise<string> {
	const transcriber = commandTranscriber({ command, env: { PATH: "/usr/bin:/bin", SHOWN: "yes" }, registry, ...more });
	const limits = { timeLimitMs, retryWaitMs: 1, maxRetryWaitMs: 1 };
	return within("the transcription", withRules(transcriber, limits).transcribe(recorded, signal));
}

async function failureOf(transcription: Promise<string>): Promise<AgyError> {
	const error = await transcription.catch((thrown: unknown) => thrown);
	return error instanceof AgyError ? error : expect.unreachable(String(error));
}

const script = (content: string) => writeScript(folder.at("whisper"), content);

describe("the program", () => {
	/** Prints each argument on a line. */
	const printing = () => script('for argument; do echo "<$argument>"; done');

	test.each([
		["the file comes last", ["-m", "model.bin"], null, ["-m", "model.bin", "FILE"]],
		["the file comes where it is named", ["-f", "{file}", "-nt"], null, ["-f", "FILE", "-nt"]],
		["the file is a part of an argument", ["--in={file}:{file}"], null, ["--in=FILE:FILE"]],
		["the language is named", ["-l", "{language}", "-f", "{file}"], "it", ["-l", "it", "-f", "FILE"]],
		["the language is not known", ["-l", "{language}"], null, ["-l", "auto", "FILE"]],
		["other braces stay", ["{model}", "{}"], null, ["{model}", "{}", "FILE"]],
	])("gets its arguments without a shell: %s", async (_name, args, language, expected) => {
		const printed = (await transcribe([printing(), ...args], { language })).split("\n");
		expect(printed).toStrictEqual(expected.map((arg) => `<${arg.replaceAll("FILE", recorded.path)}>`));
		await expect(stat(folder.at("hacked"))).rejects.toMatchObject({ code: "ENOENT" });
	});

	test("reads the file itself", async () => {
		expect(await transcribe(["cat"])).toBe("RIFF sound");
	});

	test("is found on the path it is given and sees no other environment", async () => {
		const text = await transcribe(["sh", "-c", "/usr/bin/env"]);
		const names = text.split("\n").map((line) => line.split("=", 1)[0]);
		expect(names.filter((name) => !/^(PWD|SHLVL|_|OLDPWD)$/.test(name ?? "")).toSorted()).toStrictEqual([
			"PATH",
			"SHOWN",
		]);
	});

	test("may be a program of node", async () => {
		const program = writeProgram(
			folder.at("transcribe.mjs"),
			`#!${process.execPath}\nprocess.stdout.write("Grüße " + process.argv.length);\n`,
		);
		expect(await transcribe([program])).toBe("Grüße 3");
	});
});

describe("the text", () => {
	test.each([
		["as it is printed", "One line.\n  Another.\n", "One line.\n  Another."],
		[
			"without the time stamps of whisper.cpp, in one piece",
			"\n[00:00:00.000 --> 00:00:03.120]   Hello there,\n[00:00:03.120 --> 01:00:05.000]  how are\r\n[01:00:05.000 --> 01:00:06.500]  you?\n\n",
			"Hello there, how are you?",
		],
		[
			"without those of openai-whisper",
			"[00:00.000 --> 00:03.000]  One\n[00:03.000 --> 00:04.000]  two.\n",
			"One two.",
		],
		["with brackets that are no time stamps", "[music] I said [00:10] so.", "[music] I said [00:10] so."],
		[
			"without stretches of no speech",
			"[00:00:00.000 --> 00:00:02.000]  [BLANK_AUDIO]\n[00:00:02.000 --> 00:00:03.000]  Yes.",
			"Yes.",
		],
	])("comes %s", async (_name, output, text) => {
		await writeFile(folder.at("output"), output);
		expect(await transcribe([script(`cat ${folder.at("output")}; echo loading >&2`)])).toBe(text);
	});

	test.each([" \n", "[BLANK_AUDIO]\n", "[ Silence ]"])("is missing: %j", async (output) => {
		await writeFile(folder.at("output"), output);
		const error = await failureOf(transcribe([script(`cat ${folder.at("output")}`)]));
		expect(error).toMatchObject({
			code: "transcription-failed",
			message: expect.stringMatching(/^Nothing was understood/),
		});
	});
});

describe("a failure", () => {
	test("of the program is told by the end of what it said, without credentials", async () => {
		const command = [
			script(`echo text; seq 1 1000 >&2; printf 'token: Bearer abc.def\\nno model "x.bin"\\n' >&2; exit 3`),
			"--key",
			"argument-secret",
		];
		const { code, message } = await failureOf(transcribe(command));
		expect(code).toBe("transcription-failed");
		expect(message).toMatch(
			/^\/.*\/whisper ended with code 3: ….* 999 1000 token: Bearer \[secret\] no model "x.bin"\. Run voiceCommand/,
		);
		expect(message).not.toContain("argument-secret");
		expect(message.length).toBeLessThan(500);
	});

	test("without a word is told by its code", async () => {
		const { message } = await failureOf(transcribe([script("exit 1")]));
		expect(message).toMatch(/whisper ended with code 1\. Run voiceCommand/);
	});

	test("by a signal", async () => {
		expect((await failureOf(transcribe([script("kill -9 $$")]))).message).toMatch(/was ended by a signal/);
	});

	test("that it prints without end", async () => {
		expect((await failureOf(transcribe(["yes"]))).message).toMatch(/yes failed: more than \d+ bytes of output/);
	});

	test("that it is missing", async () => {
		expect((await failureOf(transcribe(["no-such-whisper"]))).message).toMatch(
			/^no-such-whisper was not found\. Run voiceCommand/,
		);
	});

	test("that it is no program", async () => {
		const path = writeProgram(folder.at("text"), "text", 0o600);
		expect((await failureOf(transcribe([path]))).message).toMatch(/text may not be run/);
	});

	test.each([[[]], [[""]]])("that none is set: %j", async (command) => {
		expect((await failureOf(transcribe(command))).message).toMatch(/^No program for transcription is set/);
	});
});

describe("the end", () => {
	/** A program with a child of its own, both of which would run on. */
	const waiting = () => script(`sleep 1000 & echo $! > ${folder.at("child")}; wait`);

	afterEach(async () => killQuietly(Number(await readFile(folder.at("child"), "utf8"))));

	async function expectGone(): Promise<void> {
		const child = Number(await readFile(folder.at("child"), "utf8"));
		await until("the program's child is gone", () => !isRunning(child));
		await until("the program is reaped", () => registry.running.length === 0);
	}

	test("by the caller kills it", async () => {
		const controller = new AbortController();
		const failure = failureOf(transcribe([waiting()], {}, controller.signal));
		await until("it runs", () => readFile(folder.at("child"), "utf8").catch(() => ""));
		controller.abort();
		expect((await failure).code).toBe("cancelled");
		await expectGone();
	});

	test("by the time limit kills it", async () => {
		const failure = await failureOf(transcribe([waiting()], {}, undefined, 3_000));
		expect(failure.message).toMatch(/took longer than 3 s.*smaller model/);
		await expectGone();
	});
});
