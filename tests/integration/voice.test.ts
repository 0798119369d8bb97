/**
 * Voice through the real pi in a real terminal, the real ffmpeg in place of a microphone, and transcribers on this machine.
 * A start of pi is dear, so the cases of a describe share one: each sets up what it needs with `configure` or `anew`, and the
 * last one is the end of that pi.
 */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { until } from "../support/condition.ts";
import { ffmpegPath, runFfmpeg } from "../support/ffmpeg.ts";
import { GeminiServer, refusal, spoken } from "../support/gemini-server.ts";
import { PiProcess, printPi } from "../support/pi-process.ts";
import { isRunning, killQuietly, processesWithVariable } from "../support/process-table.ts";
import { Sandbox, type ScenarioData } from "../support/sandbox.ts";
import { KEY, PiTerminal } from "../support/terminal.ts";

/** A voice-like sound in real time, without an end. */
const SPEAKING = ["-re", "-f", "lavfi", "-i", "aevalsrc=0.3*sin(2*PI*220*t)*(0.6+0.4*sin(2*PI*3*t)):s=16000"];
const SILENT = ["-re", "-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono"];
const KEY_VALUE = "AIzaTestKeyOfNobody0123456789abcdefghi";

/** Transcribes and speaks. */
const PROGRAM = join(import.meta.dirname, "..", "support", "voice-program.mjs");

const ECHO: ScenarioData = { turns: [{ steps: [{ kind: "text", text: "{{prompt}}" }] }] };

let sandbox: Sandbox;
let server: GeminiServer;
let pi: PiTerminal;

beforeAll(async () => {
	server = await GeminiServer.start();
});
afterAll(() => server.close());

type Settings = Readonly<Record<string, unknown>>;

function prepare(settings: Settings = {}): void {
	sandbox = new Sandbox({ scenario: ECHO, env: { GEMINI_API_KEY: KEY_VALUE } });
	sandbox.seedModels();
	writeSettings(settings);
}

function writeSettings(settings: Settings): void {
	const base = { version: 1, voiceFfmpeg: ffmpegPath(), voiceInput: SPEAKING, voiceSounds: false };
	const config = { ...base, voiceGeminiUrl: server.url, ...settings };
	sandbox.write("agent/pi-agy/config.json", JSON.stringify(config));
}

/** One pi for all cases of a describe; whatever a case leaves in the editor is gone before the next one. */
function sharePi(settings: Settings = {}): void {
	beforeAll(async () => {
		prepare(settings);
		sandbox.write("agent/settings.json", JSON.stringify({ compaction: { keepRecentTokens: 1 } }));
		pi = new PiTerminal(sandbox);
		await pi.started();
		await pi.settled(); // It hears keys only some time after it is drawn.
	});
	afterAll(async () => {
		pi.destroy();
		await sandbox.close();
	});
	beforeEach(() => {
		server.requests.splice(0);
		expect(pi.pid).toBeGreaterThan(0); // Throws when a case before has ended it.
	});
	afterEach(async () => {
		await emptyEditor();
		await nothingIsLeft();
	});
}

let configuredCount = 0;

/**
 * These settings, written into the file, and this scenario for every agy that starts from now on. Answers the word on the
 * screen that tells that they hold.
 */
async function configure(settings: Settings, scenario: ScenarioData = ECHO): Promise<string> {
	writeSettings(settings);
	writeFileSync(sandbox.env.AGY_SIM_SCENARIO as string, JSON.stringify(scenario));
	// A setting that no case uses: with any that is changed, pi-agy takes in what a hand has written into the file.
	const mark = `configured-${++configuredCount}`;
	await pi.enter(`/agy set voicePlayer ${mark}`);
	await pi.shows(`-> ${mark}`);
	return mark;
}

/** The same with a new session, whose screen is empty and whose agy is another one. */
async function anew(settings: Settings, scenario?: ScenarioData): Promise<void> {
	const mark = await configure(settings, scenario);
	pi.type("/new");
	await pi.shows("/new");
	pi.type(KEY.enter);
	await pi.hides(mark);
	await pi.shows("New session started");
}

/** ffmpeg and other programs of voice, which do not get agy's variables. */
function recorders() {
	return processesWithVariable("HOME", sandbox.path).filter(({ command }) => /ffmpeg|voice-program/.test(command));
}

function recordings(): readonly string[] {
	return sandbox.leftInTemp().flatMap((folder) => {
		const path = join(sandbox.tempDir, folder);
		return readdirSync(path)
			.filter((name) => name.startsWith("voice-"))
			.map((name) => join(path, name));
	});
}

async function nothingIsLeft(): Promise<void> {
	await until(
		() => `no recorder and no recording; ${JSON.stringify(recorders())} ${recordings()}`,
		() => recorders().length === 0 && recordings().length === 0,
	);
}

/** What follows sooner is the same press to pi-agy, and a double one to pi. */
const BETWEEN_PRESSES_MS = 600;
let pressedMs = 0;

async function press(): Promise<void> {
	await until("the key to count again", () => performance.now() - pressedMs > BETWEEN_PRESSES_MS);
	pressedMs = performance.now();
	pi.type(KEY.f12);
}

let emptiedMs = 0;

/** Ctrl+C twice in a moment would end pi. */
async function emptyEditor(): Promise<void> {
	await until("the next Ctrl+C to be one", () => performance.now() - emptiedMs > BETWEEN_PRESSES_MS);
	emptiedMs = performance.now();
	pi.type(KEY.ctrlC);
}

/** A command whose list of completions closes by itself, so that Enter runs it and no Escape is needed. */
async function run(command: string, offered: string): Promise<void> {
	pi.type(command);
	await pi.shows(command);
	await pi.hides(offered);
	pi.type(KEY.enter);
}

async function record(): Promise<void> {
	await pi.hides("● 0:"); // Of the recording before.
	await press();
	await pi.shows(/● 0:0[1-9]/);
}

describe("one pi, from recording to recording", () => {
	sharePi({ voiceTranscriber: "gemini", voiceCommand: [process.execPath, PROGRAM, "{file}"] });

	it("puts the words into the editor, behind what was typed, and sends nothing", async () => {
		server.answers = [spoken("open the tick module")];
		pi.type("please ");
		await record();
		expect(pi.screen()).toMatch(/● 0:0\d [▁▂▃▄▅▆▇█]{8} · F12 ends, Esc cancels/);
		expect(pi.screen()).toMatch(/[▄▅▆▇]/); // The level is alive.
		const [folder = ""] = recordings();
		expect(statSync(folder).mode & 0o777).toBe(0o700);
		expect(statSync(join(folder, "recording.ogg")).mode & 0o777).toBe(0o600);
		await press();
		await pi.shows("please open the tick module");
		await nothingIsLeft();
		expect(sandbox.prompts()).toEqual([]);
		const [request] = server.requests;
		expect(request?.headers["x-goog-api-key"]).toBe(KEY_VALUE);
		expect(request?.body).toContain(
			`"mimeType":"audio/ogg","data":"${Buffer.from("OggS").toString("base64").slice(0, 5)}`,
		);
	});

	it("Esc while it records gives up: nothing is sent, nothing is left", async () => {
		await record();
		pi.type(KEY.escape);
		await pi.shows("cancelled. Nothing was sent.");
		await nothingIsLeft();
		await pi.hides("Esc cancels");
		expect(server.requests).toHaveLength(0);
		await record(); // And the next one works.
		pi.type(KEY.escape);
		await nothingIsLeft();
	});

	it("Esc while it is transcribed gives up", async () => {
		server.answers = [() => {}];
		await record();
		await press();
		await pi.shows("◌ transcribing");
		await press();
		await pi.shows("still being worked on");
		pi.type(KEY.escape);
		await pi.shows("cancelled. The recording may already have been sent to the Gemini API");
		await nothingIsLeft();
		await run("/agy voice retry", "Try again the recording");
		await pi.shows("No recording is kept");
	});

	it("/agy voice cancel gives up, too", async () => {
		await record();
		await run("/agy voice cancel", "Give up the recording");
		await pi.shows("cancelled. Nothing was sent.");
		await nothingIsLeft();
		await run("/agy voice cancel", "Give up the recording");
		await pi.shows("Nothing is being recorded or transcribed.");
	});

	test.each([
		["401", 401, /Voice: .*(key|401)/i, 1],
		["429", 429, /Voice: .*quota/i, 2],
		["500", 500, /Voice: .*500/i, 2],
	] as const)(
		"the endpoint answers %s: the recording is kept and can be tried again",
		async (_what, status, message, tries) => {
			server.answers = [refusal(status, `status ${status}`)];
			await record();
			await press();
			await until(
				() => `${message} in\n${pi.screen()}`,
				() => message.test(flat(pi.screen())),
			);
			expect(server.requests).toHaveLength(tries);
			expect(pi.screen()).not.toContain(KEY_VALUE);
			expect(flat(pi.screen())).toContain("/agy voice retry tries it again");
			const [folder = "", ...others] = recordings();
			expect(others).toEqual([]);
			expect(statSync(folder).mode & 0o777).toBe(0o700);
			expect(statSync(join(folder, "recording.ogg")).mode & 0o777).toBe(0o600);
			const [first] = server.requests.splice(0);
			server.answers = [spoken(`words after ${status}`)];
			await pi.hides("Esc cancels");
			await run("/agy voice retry", "Try again the recording");
			await pi.shows(`words after ${status}`);
			expect(server.requests.map(({ body }) => body)).toEqual([first?.body]);
			await nothingIsLeft();
			expect(sandbox.read(`agent/pi-agy/logs/pi-agy-${new Date().toISOString().slice(0, 10)}.ndjson`)).not.toContain(
				KEY_VALUE,
			);
		},
	);

	it("keeps a recording through a retry that fails or is given up, until the next recording", async () => {
		server.answers = [refusal(401, "no"), refusal(401, "again no"), () => {}];
		await record();
		await press();
		await pi.shows("tries it again");
		await pi.hides("Esc cancels");
		await run("/agy voice retry", "Try again the recording");
		await pi.shows("again no");
		await pi.hides("Esc cancels");
		await run("/agy voice retry", "Try again the recording");
		await pi.shows("◌ transcribing");
		pi.type(KEY.escape);
		await pi.shows("cancelled. The recording may already have been sent");
		const kept = recordings();
		expect(kept).toHaveLength(1);
		await record();
		expect(recordings()).toHaveLength(1);
		expect(recordings()).not.toEqual(kept);
		pi.type(KEY.escape);
		await nothingIsLeft();
	});

	it("a key that is held is pressed once", async () => {
		await pi.hides("● 0:");
		await press();
		for (const mark of ["a", "b", "c"]) {
			pi.type(KEY.f12 + mark);
			await pi.shows(new RegExp(`^[abc]*${mark} *$`, "m"));
		}
		await pi.shows(/● 0:0[1-9]/);
		expect(recorders()).toHaveLength(1);
		pi.type(KEY.escape);
		await nothingIsLeft();
	});

	it("Enter runs a command that is typed to its end", async () => {
		await pi.hides("● 0:");
		await run("/agy voice", "Start or end a recording");
		await pi.shows(/● 0:0[1-9]/);
		pi.type(KEY.escape);
		await nothingIsLeft();
	});

	it("a sound file is a run like a recording: a footer, a free prompt line, Esc, and words", async () => {
		const path = makeTone(sandbox.write("a tone.wav", ""));
		server.answers = [() => {}, () => {}, spoken("words of the file")];
		const begin = async () => {
			await pi.hides("Esc cancels");
			await run(`/agy voice "${path}"`, "Give up the recording");
			await pi.shows(/◌ transcribing \(gemini\) 0:\d\d · Esc cancels/);
		};
		await begin();
		pi.type("typed meanwhile");
		await pi.shows("typed meanwhile");
		pi.type(KEY.escape);
		await pi.shows("cancelled. The recording may already");
		await until("the dropped request", () => server.requests[0]?.wasDropped === true);
		await emptyEditor();
		await begin();
		await run(`/agy voice "${path}"`, "Give up the recording");
		await pi.shows("still being worked on");
		await run("/agy voice cancel", "Give up the recording");
		await until("the dropped request", () => server.requests[1]?.wasDropped === true);
		await pi.hides("Esc cancels");
		await run(`/agy voice "${path}"`, "Give up the recording");
		await pi.shows("words of the file");
		await nothingIsLeft();
	});

	it("tries a recording again with another transcriber, which takes another kind of file", async () => {
		server.answers = [refusal(401, "no key")];
		await record();
		await press();
		await pi.shows("no key");
		await pi.enter("/agy set voiceTranscriber command");
		await pi.shows("voiceTranscriber: gemini -> command");
		await run("/agy voice retry", "Try again the recording");
		await pi.shows(/RIFF, \d+ bytes/);
		expect(server.requests).toHaveLength(1);
		await nothingIsLeft();
		await emptyEditor();
		await pi.enter("/agy set voiceTranscriber gemini");
		await pi.shows("voiceTranscriber: command -> gemini");
	});

	it("a program that is missing is told before anybody speaks", async () => {
		await pi.enter("/agy set voiceTranscriber command");
		await pi.shows("voiceTranscriber: gemini -> command");
		await pi.enter("/agy set voiceCommand no-such-whisper {file}");
		await pi.shows("voiceCommand: ");
		await press();
		await pi.shows("voiceCommand starts no-such-whisper");
		expect(recorders()).toEqual([]);
		await pi.enter("/agy set voiceTranscriber gemini");
		await pi.shows("voiceTranscriber: command -> gemini");
	});

	it("a dialog keeps its Esc, F12 ends a recording behind it, and the words wait until it has closed", async () => {
		server.answers = [spoken("words behind a dialog")];
		await record();
		await pi.enter("/agy");
		await pi.shows("Antigravity settings");
		await press();
		await until("the recording is on its way", () => server.requests.length === 1);
		await nothingIsLeft();
		await pi.hides("transcribing");
		pi.type(KEY.escape);
		await pi.shows("words behind a dialog");
		await emptyEditor();
		await record();
		await pi.enter("/agy");
		await pi.shows("Antigravity settings");
		pi.type(KEY.escape);
		await pi.hides("Antigravity settings");
		expect(recorders()).toHaveLength(1);
		pi.type(KEY.escape);
		await pi.shows("cancelled. Nothing was sent.");
	});

	it("says that a recording is dropped with its session, and records in the next", async () => {
		await record();
		pi.type("/new");
		await pi.shows("/new");
		pi.type(KEY.enter);
		await nothingIsLeft();
		const log = () => sandbox.read(`agent/pi-agy/logs/pi-agy-${new Date().toISOString().slice(0, 10)}.ndjson`);
		await until("the log", () => log().includes("the session was left, and what was being said was dropped"));
		await pi.settled();
		server.answers = [spoken("in the next session")];
		await record();
		await press();
		await pi.shows("in the next session");
	});

	it("ffmpeg is killed while it records", async () => {
		await record();
		const [ffmpeg] = recorders();
		killQuietly(ffmpeg?.pid ?? 0);
		await until(
			() => pi.screen(),
			() => /recording is damaged: ffmpeg was ended by SIGKILL/.test(flat(pi.screen())),
		);
		await nothingIsLeft();
	});

	it("leaves nothing when it is left while it records", async () => {
		await record();
		await pi.quit();
		await nothingIsLeft();
		expect(sandbox.leftInTemp()).toEqual([]);
	});
});

describe("one pi, from setting to setting", () => {
	sharePi();

	it("sends the words where that is set", async () => {
		await anew({ voiceSend: true });
		server.answers = [spoken("say hello to everybody")];
		await record();
		await press();
		await until("the prompt", () => sandbox.prompts().length > 0);
		expect(sandbox.prompts()[0]).toContain("say hello to everybody");
		await pi.shows(/say hello to everybody[\s\S]*say hello to everybody/); // The echo.
	});

	it("puts words that pi does not take while it compacts into the editor", async () => {
		const scenario = {
			turns: [
				{
					match: "conversation|summar",
					steps: [
						{ kind: "wait", gate: "summary" },
						{ kind: "text", text: "They talked." },
					],
				},
				...ECHO.turns,
			],
		};
		await anew({ voiceSend: true }, scenario);
		server.answers = [spoken("not to be lost")];
		for (const word of ["alpha", "beta"]) {
			await pi.enter(word);
			await pi.shows(new RegExp(`${word}[\\s\\S]*${word}`));
		}
		await pi.hides("Working");
		await record();
		pi.type("/compact");
		await pi.shows("/compact");
		pi.type(KEY.enter);
		await pi.shows("Compacting");
		await press();
		await pi.shows("not to be lost");
		expect(flat(pi.screen())).toContain("What you said is in the editor: press Enter to send it.");
		sandbox.openGate("summary");
		await pi.hides("Compacting");
		pi.type(KEY.enter);
		await until("the prompt", () => sandbox.prompts().some((prompt) => prompt.includes("not to be lost")));
	});

	it("ends by itself after silence, when something was said", async () => {
		const source = "aevalsrc=0.3*sin(2*PI*220*t)*lt(t\\,1):s=16000";
		await configure({ voiceInput: ["-re", "-f", "lavfi", "-i", source], voiceSilenceSeconds: 1 });
		server.answers = [spoken("that was all")];
		await press();
		await pi.shows("that was all");
		await nothingIsLeft();
	});

	it("ends by itself at the longest length, and says so", async () => {
		await configure({ voiceMaxSeconds: 1 });
		server.answers = [spoken("cut here")];
		await press();
		await pi.shows("cut here");
		expect(pi.screen()).toContain("ended after 1 s");
		await nothingIsLeft();
	});

	it("plays its sounds where there is a sink", async () => {
		await configure({ voiceSounds: true, voiceOutput: ["-f", "wav", join(sandbox.path, "chime.wav")] });
		await press();
		await until("the start sound", () => sandbox.read("chime.wav").startsWith("RIFF"));
		await pi.shows("● 0:0");
		pi.type(KEY.escape);
		await nothingIsLeft();
	});

	it("uses a recorder program that is set", async () => {
		const program = sandboxedRecorder();
		await configure({ voiceInput: undefined, voiceRecorder: program });
		server.answers = [spoken("from the program")];
		await record();
		expect(recorders().length).toBe(2);
		await press();
		await pi.shows("from the program");
		await nothingIsLeft();
	});

	it("says that there was only silence", async () => {
		await configure({ voiceInput: SILENT });
		await record();
		await press();
		const message = /Nothing was heard \(the loudest was -\d+ dB\)\. Check that the right microphone/;
		await until(
			() => pi.screen(),
			() => message.test(flat(pi.screen())),
		);
		expect(server.requests).toHaveLength(0);
		await nothingIsLeft();
	});

	it("says that a device is busy", async () => {
		const busy = "echo 'audio open error: Device or resource busy' >&2; exit 1";
		await configure({ voiceRecorder: ["/bin/sh", "-c", busy] });
		await press();
		await pi.shows("microphone is in use by another program");
		await nothingIsLeft();
	});

	it("has another key where that is set, and /agy voice does the same", async () => {
		await anew({ voiceKey: "ctrl+r" });
		server.answers = [spoken("by another key")];
		pi.type("\x12");
		await pi.shows(/● 0:01 .* Ctrl\+R ends/);
		await pi.enter("/agy voice");
		await pi.shows("by another key");
		await nothingIsLeft();
	});

	it("leaves nothing when it ends by SIGTERM while it records", async () => {
		await anew({}); // The key of the case before holds until a new session.
		await endWhileRecording("SIGTERM");
	});
});

/** ffmpeg itself, writing a WAV to its stdout as arecord does. */
function sandboxedRecorder(): readonly string[] {
	return [ffmpegPath(), "-hide_banner", "-nostdin", "-loglevel", "error", ...SPEAKING, "-f", "wav", "pipe:1"];
}

async function endWhileRecording(signal: NodeJS.Signals): Promise<void> {
	await record();
	pi.noteGuardians();
	const [ffmpeg] = recorders();
	killQuietly(pi.pid, signal);
	await pi.closed;
	await until("ffmpeg and its file are gone", () => !isRunning(ffmpeg?.pid ?? 0) && sandbox.leftInTemp().length === 0);
}

/** The screen with its wrapped lines joined. */
function flat(screen: string): string {
	return screen.replaceAll(/\s*\n\s*/g, " ");
}

describe("one pi that asks agy and reads aloud", () => {
	sharePi();

	const ANSWERS = {
		turns: [
			{ match: "raw transcript", steps: [{ kind: "text", text: "Open src/workers/outbox.ts." }] },
			{ match: "Listen to the sound file", steps: [{ kind: "text", text: "heard by agy" }] },
			...ECHO.turns,
		],
	};
	const appendTo = (file: string) => [process.execPath, PROGRAM, "--append", join(sandbox.path, file)];

	it("turns what was said into what was meant, with the session and the editor before it", async () => {
		await anew({ voiceInterpret: true }, ANSWERS);
		server.answers = [spoken("open the out box file")];
		await pi.enter("we talk about the outbox");
		await pi.shows(/we talk about the outbox[\s\S]*we talk about the outbox/);
		pi.type("Now: ");
		await record();
		await press();
		await pi.shows("Now: Open src/workers/outbox.ts.");
		expect(flat(pi.screen())).toContain('heard "open the out box file"');
		const asked = sandbox.prompts().at(-1) ?? "";
		expect(asked).toContain("we talk about the outbox");
		expect(asked).toContain("Now:");
		const argv = sandbox.runs().at(-1)?.argv ?? [];
		expect(argv).not.toContain("--dangerously-skip-permissions");
	});

	it("falls back to what was said, with a note", async () => {
		const broken = { turns: [{ match: "raw transcript", steps: [{ kind: "exit", code: 1 }] }] };
		await configure({ voiceInterpret: true }, broken);
		server.answers = [spoken("take it as it is")];
		await record();
		await press();
		await pi.shows("take it as it is");
		expect(flat(pi.screen())).toContain("taken as it is, for agy could not interpret it");
		await nothingIsLeft();
	});

	it("listens itself where it is the transcriber", async () => {
		await configure({ voiceTranscriber: "agy" }, ANSWERS);
		await record();
		await press();
		await pi.shows("heard by agy");
		expect(sandbox.prompts().at(-1)).toMatch(/sound file \/\S+\/voice-\w+\/recording\.ogg/);
		await nothingIsLeft();
	});

	it("speaks each answer where that is set, without its code", async () => {
		const scenario = {
			turns: [{ steps: [{ kind: "text", text: "Done.\n\n```js\nconsole.log(1)\n```\n\nAnything else?" }] }],
		};
		await anew({ voiceReadAloud: true, voiceSpeakCommand: appendTo("spoken.txt") }, scenario);
		await pi.enter("do it");
		await until("the spoken answer", () => sandbox.read("spoken.txt").includes("Anything else?"));
		expect(sandbox.read("spoken.txt")).not.toContain("console");
		await until("the answer is spoken again", async () => {
			await until("silence", () => recorders().length === 0);
			await pi.enter("/agy speak"); // Stops it where pi has not heard yet that the first has ended.
			await until("silence", () => recorders().length === 0);
			return sandbox.read("spoken.txt").split("Anything else?").length >= 3;
		});
	});

	it("shows that it speaks, and Esc stops it; Esc is pi's when nothing speaks, and a stopped answer is not read", async () => {
		const scenario = {
			turns: [
				{
					match: "stop me",
					steps: [
						{ kind: "text", text: "Half of it" },
						{ kind: "wait", gate: "never" },
					],
				},
				{ steps: [{ kind: "text", text: "All of it" }] },
			],
		};
		await anew({ voiceReadAloud: true, voiceSpeakCommand: appendTo("whole.txt") }, scenario);
		await pi.enter("stop me");
		await pi.shows("Half of it");
		pi.type(KEY.escape);
		await pi.shows("aborted");
		await pi.enter("and now");
		await until("the whole answer is read", () => sandbox.read("whole.txt").includes("All of it"));
		expect(sandbox.read("whole.txt")).not.toContain("Half");
		await pi.enter("/agy set voiceSpeakCommand sleep 1000");
		await pi.shows("voiceSpeakCommand: ");
		await pi.enter("/agy speak one two three");
		await pi.shows(/♪ reading aloud 0:0[1-9] · Esc stops/);
		const speakers = () =>
			processesWithVariable("HOME", sandbox.path).filter(({ command }) => /sleep 1000/.test(command));
		expect(speakers()).toHaveLength(1);
		pi.type(KEY.escape);
		await until("its end", () => speakers().length === 0);
		await pi.hides("♪");
	});

	it("stops reading at once when asked to", async () => {
		await configure({ voiceSpeakCommand: [process.execPath, PROGRAM, "--hang"] });
		await pi.enter("/agy speak one two three");
		await until("the speaking program", () => recorders().length > 0);
		await pi.enter("/agy speak stop");
		await until("its end", () => recorders().length === 0);
	});

	it("leaves nothing when it ends by SIGKILL while it records", async () => {
		await configure({});
		await endWhileRecording("SIGKILL");
	});
});

describe("a sound file", () => {
	beforeEach(() => server.requests.splice(0));
	afterEach(() => sandbox.close());

	/** With a space in its name. */
	const tone = () => sandbox.write("a tone.wav", "");

	it("goes to a program of this machine as WAV, and in print mode its words to stdout", async () => {
		prepare({ voiceTranscriber: "command", voiceCommand: [process.execPath, PROGRAM, "{file}"] });
		const path = makeTone(tone());
		const pi = await printPi(sandbox, [`/agy voice ${path}`]);
		expect(pi.stdout).toMatch(/^RIFF, \d+ bytes\n$/);
		expect(pi.stderr).toBe("");
		await nothingIsLeft();
	});

	it("over rpc its words go into the editor of the host; what is no sound file is refused", async () => {
		prepare();
		server.answers = [spoken("words of a file")];
		const pi = new PiProcess(sandbox, ["--mode", "rpc"], { openInput: true });
		const answered = async (id: string, message: string) => {
			pi.send({ id, type: "prompt", message });
			const isEntry = (record: { readonly type: string }) => record.type === "entry_appended";
			const from = pi.records.length;
			return JSON.stringify(await pi.record(`the answer to ${message}`, isEntry, from));
		};
		expect(await answered("1", `/agy voice ${makeTone(tone())} --json`)).toContain("words of a file");
		expect(pi.stdout).toContain('"method":"set_editor_text"');
		expect(server.requests).toHaveLength(1);
		expect(await answered("2", "/agy voice")).toContain("Recording needs pi in a terminal");
		expect(await answered("3", "/agy voice /nowhere/x.wav")).toContain("There is no sound file /nowhere/x.wav");
		const text = sandbox.write("README", "no sound in here\n");
		expect(await answered("4", `/agy voice ${text}`)).toContain("holds no sound that ffmpeg can read");
		expect(server.requests).toHaveLength(1);
		server.answers = [() => {}];
		pi.send({ id: "5", type: "prompt", message: `/agy voice ${makeTone(tone())}` });
		await until("the request", () => server.requests.length === 2);
		expect(await answered("6", "/agy voice cancel")).toContain(
			"Voice was cancelled. The recording may already have been sent to the Gemini API",
		);
		pi.endInput();
		await pi.finished();
		await nothingIsLeft();
	});
});

function makeTone(path: string): string {
	runFfmpeg(["-y", "-f", "lavfi", "-i", "sine=frequency=440:duration=2", path]);
	return path;
}
