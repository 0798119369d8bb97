import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonStore } from "../../../src/main/json-store.ts";
import { ProcessRegistry } from "../../../src/main/processes/registry.ts";
import { Speaker, type SpeakerOptions } from "../../../src/main/voice/speaker.ts";
import { until, within } from "../../support/condition.ts";
import { writeScript } from "../../support/executables.ts";
import { Folder } from "../../support/folder.ts";
import { isRunning, killQuietly } from "../../support/process-table.ts";

const folder = new Folder();
let registry: ProcessRegistry;
const speakers: Speaker[] = [];

beforeEach(async () => {
	registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
		throw error;
	});
	await mkdir(folder.at("sound"), { mode: 0o700 });
});

afterEach(async () => {
	for (const speaker of speakers.splice(0)) await within("the close", speaker.close());
	expect(registry.running).toStrictEqual([]);
	expect(await readdir(folder.at("sound"))).toStrictEqual([]);
	await registry.close();
});

function speakerOf(options: Partial<SpeakerOptions>): Speaker {
	const speaker = new Speaker({
		command: [],
		player: [],
		directory: async () => folder.at("sound"),
		env: { PATH: "/usr/bin:/bin" },
		registry,
		...options,
	});
	speakers.push(speaker);
	return speaker;
}

const script = (name: string, content: string) => writeScript(folder.at(name), content);
const written = (name: string) => readFile(folder.at(name), "utf8").catch(() => "");
const speaking = (speaker: Speaker, text: string) => within("the utterance", speaker.speak(text));

/** Notes what it gets and its pid, then waits to be ended; the shell's own wait is what a trap interrupts at once. */
const lasting = (name: string, first = "") =>
	script(name, `${first}\ncat >> ${folder.at("said")}; sleep 1000 & echo $$ > ${folder.at(`${name}.pid`)}; wait`);

describe("a program that speaks itself", () => {
	test("gets the text in its stdin, and not in its arguments", async () => {
		const speak = script("say", `cat > ${folder.at("said")}; echo "$@" > ${folder.at("args")}`);
		const text = 'Größe: it\'s "quoted" $(touch hacked)\nSecond line.';
		expect(await speaking(speakerOf({ command: [speak, "--stdin", "{text}"] }), text)).toBe("spoken");
		expect(await written("said")).toBe(text);
		expect(await written("args")).toBe("--stdin {text}\n");
	});

	test("may be given much and read little", async () => {
		const speak = script("say", "head -c 10 > /dev/null");
		expect(await speaking(speakerOf({ command: [speak] }), "x".repeat(1_000_000))).toBe("spoken");
	});

	test("is not started for nothing", async () => {
		const speak = script("say", `touch ${folder.at("started")}`);
		expect(await speaking(speakerOf({ command: [speak] }), " \n ")).toBe("spoken");
		await expect(stat(folder.at("started"))).rejects.toMatchObject({ code: "ENOENT" });
	});
});

describe("a program that writes a sound file", () => {
	const noting = (path: string) => `stat -c '%a %s' "${path}" >> ${folder.at("stat")}`;

	test.each([
		["where the player names it", ["-autoexit", "{file}", "-x"], (path: string) => `-autoexit ${path} -x`],
		["as the player's last argument", ["-autoexit"], (path: string) => `-autoexit ${path}`],
	])("has it played, private and then deleted, %s", async (_name, playerArgs, expected) => {
		const make = script("make", `${noting("$2")}; echo "$2" > ${folder.at("path")}; cat > "$2"`);
		const play = script(
			"play",
			`echo "$@" > ${folder.at("played")}; cat ${folder.at("sound")}/*.wav >> ${folder.at("heard")}; ${noting(`${folder.at("sound")}/*.wav`).replaceAll('"', "")}`,
		);
		const speaker = speakerOf({ command: [make, "-o", "{file}"], player: [play, ...playerArgs] });
		expect(await speaking(speaker, "Hello")).toBe("spoken");
		const path = (await written("path")).trim();
		expect(path.startsWith(folder.at("sound"))).toBe(true);
		expect(await written("played")).toBe(`${expected(path)}\n`);
		expect(await written("heard")).toBe("Hello");
		expect(await written("stat")).toBe("600 0\n600 5\n");
		expect(await readdir(folder.at("sound"))).toStrictEqual([]);
	});

	test("of its own making has it private all the same", async () => {
		const make = script("make", `rm "$1"; umask 0; echo sound > "$1"`);
		const play = script("play", noting("$1"));
		expect(await speaking(speakerOf({ command: [make, "{file}"], player: [play] }), "Hello")).toBe("spoken");
		expect(await written("stat")).toBe("600 6\n");
	});

	test.each([
		["writes nothing", "cat > /dev/null", "cat", /make ended well, but wrote no sound/],
		["takes the file away", 'rm "$1"', "cat", /make ended well, but wrote no sound/],
		[
			"fails",
			'echo sound > "$1"; echo "no voice" >&2; exit 4',
			"cat",
			/make ended with code 4: no voice\. Check voiceSpeakCommand/,
		],
		["has a player that fails", 'echo sound > "$1"', "false", /false ended with code 1/],
		["has a player that is missing", 'echo sound > "$1"', "no-such-player", /no-such-player was not found/],
		["has no player", 'echo sound > "$1"', "", /no player is set/],
	])("that %s is a failure, and the file is deleted", async (_name, content, player, message) => {
		const speaker = speakerOf({ command: [script("make", content), "{file}"], player: [player] });
		await expect(speaking(speaker, "Hello")).rejects.toMatchObject({
			code: "speech-failed",
			message: expect.stringMatching(message),
		});
		expect(await readdir(folder.at("sound"))).toStrictEqual([]);
		expect(speaker.isSpeaking).toBe(false);
	});

	test("needs a directory for it", async () => {
		const directory = async () => folder.at("missing");
		await expect(
			speaking(speakerOf({ command: ["cat", "{file}"], player: ["cat"], directory }), "x"),
		).rejects.toMatchObject({
			code: "speech-failed",
			message: expect.stringMatching(/file for the sound cannot be made \(ENOENT/),
		});
	});
});

describe("a failure is told in a sentence", () => {
	test.each([
		["a missing program", ["no-such-voice"], /^no-such-voice was not found\. Check voiceSpeakCommand/],
		["no program", [], /^No program for reading aloud is set/],
		["a program that prints its sound", ["yes"], /yes failed: more than \d+ bytes/],
	])("%s", async (_name, command, message) => {
		await expect(speaking(speakerOf({ command }), "Hello")).rejects.toMatchObject({
			code: "speech-failed",
			message: expect.stringMatching(message),
		});
	});

	test("and the next text is spoken all the same", async () => {
		const speak = script("say", `[ -e ${folder.at("once")} ] || { touch ${folder.at("once")}; exit 1; }`);
		const speaker = speakerOf({ command: [speak] });
		await expect(speaking(speaker, "Hello")).rejects.toMatchObject({ code: "speech-failed" });
		expect(await speaking(speaker, "Hello")).toBe("spoken");
	});
});

describe("an utterance is interrupted", () => {
	async function started(name: string): Promise<number> {
		return Number(await until(`${name} runs`, () => written(`${name}.pid`)));
	}

	test("by a stop, which tells the program first", async () => {
		const speaker = speakerOf({ command: [lasting("say", `trap 'echo told > ${folder.at("told")}; exit 0' TERM`)] });
		const utterance = speaking(speaker, "Hello");
		const pid = await started("say");
		expect(speaker.isSpeaking).toBe(true);
		await within("the stop", speaker.stop());
		expect(isRunning(pid)).toBe(false);
		expect(await utterance).toBe("interrupted");
		expect(await written("told")).toBe("told\n");
		expect(speaker.isSpeaking).toBe(false);
	});

	test("by a stop that it does not heed", async () => {
		const speaker = speakerOf({ command: [lasting("say", "trap '' TERM")] });
		const utterance = speaking(speaker, "Hello");
		const pid = await started("say");
		await within("the stop", speaker.stop());
		expect(isRunning(pid)).toBe(false);
		expect(await utterance).toBe("interrupted");
	});

	test("with what the program started", async () => {
		const speak = script("say", `sleep 1000 & echo $! > ${folder.at("say.pid")}; wait`);
		const speaker = speakerOf({ command: [speak] });
		const utterance = speaking(speaker, "Hello");
		const child = await started("say");
		try {
			await within("the stop", speaker.stop());
			await until("the child is gone", () => !isRunning(child));
			expect(await utterance).toBe("interrupted");
		} finally {
			killQuietly(child);
		}
	});

	test("while its file is made, and no player is started", async () => {
		const player = script("play", `touch ${folder.at("played")}`);
		const speaker = speakerOf({ command: [lasting("make"), "{file}"], player: [player] });
		const utterance = speaking(speaker, "Hello");
		await started("make");
		await speaker.stop();
		expect(await utterance).toBe("interrupted");
		expect(await readdir(folder.at("sound"))).toStrictEqual([]);
		expect(await written("played")).toBe("");
	});

	test("while it is played", async () => {
		const make = script("make", 'cat > "$1"');
		const speaker = speakerOf({ command: [make, "{file}"], player: [lasting("play")] });
		const utterance = speaking(speaker, "Hello");
		await started("play");
		expect(await readdir(folder.at("sound"))).toHaveLength(1);
		await speaker.stop();
		expect(await utterance).toBe("interrupted");
		expect(await readdir(folder.at("sound"))).toStrictEqual([]);
	});

	test("by the next one, which waits for its end; those between are left out", async () => {
		const pidFile = folder.at("say.pid");
		const before = `[ ! -e ${pidFile} ] || ! kill -0 $(cat ${pidFile}) 2>/dev/null || printf "over " >> ${folder.at("said")}; trap '' TERM`;
		const speaker = speakerOf({ command: [lasting("say", before)] });
		const first = speaking(speaker, "one ");
		await started("say");
		const second = speaking(speaker, "two ");
		const third = speaking(speaker, "three ");
		expect(await first).toBe("interrupted");
		expect(await second).toBe("interrupted");
		await until("the third is spoken", async () => (await written("said")).includes("three "));
		expect(await written("said")).toBe("one three ");
		await speaker.stop();
		expect(await third).toBe("interrupted");
	});

	test("by a close, after which nothing is spoken", async () => {
		const speaker = speakerOf({ command: [lasting("say")] });
		const first = speaking(speaker, "one ");
		await started("say");
		const second = speaking(speaker, "two ");
		await within("the close", speaker.close());
		expect(await first).toBe("interrupted");
		expect(await second).toBe("interrupted");
		expect(await speaking(speaker, "three ")).toBe("interrupted");
		expect(await written("said")).toBe("one ");
		await speaker.close();
	});
});

test("a stop with nothing to stop is no trouble", async () => {
	await within("the stop", speakerOf({}).stop());
});
