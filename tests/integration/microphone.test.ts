/**
 * One microphone for all sessions of the process; real lane, real ffmpeg. The cases share lane and sandbox and have a
 * microphone each; nothing of one may be left for the next.
 */
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { loadConfig, type VoiceConfig } from "../../src/main/config.ts";
import { type ListenOptions, Microphone, type MicrophoneOptions } from "../../src/main/voice/microphone.ts";
import { until } from "../support/condition.ts";
import { ffmpegPath, runFfmpeg, toneInput } from "../support/ffmpeg.ts";
import { LaneRig } from "../support/lane-rig.ts";
import { processesWithVariable } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";

const SPEAKING = ["-re", "-f", "lavfi", "-i", "sine=frequency=440"];

let sandbox: Sandbox;
let rig: LaneRig;
let microphone: Microphone;
let levels: number;
const logged: string[] = [];

beforeAll(() => {
	sandbox = new Sandbox();
	rig = new LaneRig(sandbox);
});
beforeEach(() => {
	levels = 0;
	logged.length = 0;
	microphone = newMicrophone();
});
afterEach(async () => {
	await microphone.close();
	await nothingIsLeft();
});
afterAll(async () => {
	await rig.close();
	await sandbox.close();
});

function newMicrophone(limits: Partial<MicrophoneOptions> = {}): Microphone {
	return new Microphone({
		lanes: rig.lanes,
		registry: rig.registry,
		directory: sandbox.tempDir,
		log: (_level, text) => logged.push(text),
		...limits,
	});
}

function options(voice: Partial<VoiceConfig> = {}, signal = new AbortController().signal): ListenOptions {
	const base = loadConfig(sandbox.env).voice;
	return {
		voice: { ...base, ffmpeg: ffmpegPath(), input: SPEAKING, ...voice },
		searchPath: [],
		container: "ogg",
		signal,
		onLevel: () => {
			levels++;
		},
	};
}

const ffmpegs = () => processesWithVariable("HOME", sandbox.path).filter(({ command }) => command.includes("ffmpeg"));
const folders = () => readdirSync(sandbox.tempDir).filter((name) => name.startsWith("voice-"));

describe("one microphone", () => {
	it("never records twice, and is free again when a recording has ended", async () => {
		const first = await microphone.listen(options());
		await expect(microphone.listen(options())).rejects.toMatchObject({
			code: "recording-failed",
			message: "Another session of this pi is recording. Stop that recording first.",
		});
		expect(ffmpegs()).toHaveLength(1);
		const { result } = await first.stop();
		expect(result?.encoded.ok).toBe(true);
		const second = await microphone.listen(options());
		await Promise.all([first.discard(), second.discard()]);
		expect(folders()).toEqual([]);
	});

	it("is not taken by two that ask at the same moment", async () => {
		const asked = await Promise.allSettled([microphone.listen(options()), microphone.listen(options())]);
		expect(asked.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
		expect(ffmpegs()).toHaveLength(1);
	});

	it("is free again after a recording that could not begin", async () => {
		await expect(microphone.listen(options({ ffmpeg: "/nowhere/ffmpeg" }))).rejects.toThrow("does not exist");
		await (await microphone.listen(options())).discard();
	});

	it("leaves nothing when it is given up while it starts", async () => {
		const controller = new AbortController();
		const reason = new Error("given up");
		const never = ["/bin/sh", "-c", "exec sleep 1000"];
		const listening = microphone.listen(options({ recorder: never }, controller.signal));
		await until("ffmpeg runs", () => ffmpegs().length > 0);
		controller.abort(reason);
		await expect(listening).rejects.toBe(reason);
		await until("nothing runs", () => processesWithVariable("HOME", sandbox.path).length === 0);
		expect(folders()).toEqual([]);
	});

	it("ends everything when it is closed", async () => {
		const listening = await microphone.listen(options());
		await until("levels", () => levels > 3);
		await microphone.close();
		await listening.ended;
		expect([ffmpegs(), folders()]).toEqual([[], []]);
	});

	it("names what recorded, and tries that first", async () => {
		expect(microphone.recorder).toBeNull();
		await (await microphone.listen(options())).discard();
		expect(microphone.recorder).toBe("the input of voiceInput");
	});
});

/** A recorder that says this and fails. */
function failing(words: string): readonly string[] {
	return ["/bin/sh", "-c", `echo "${words}" >&2; exit 1`];
}

test.each([
	["a busy device", { recorder: failing("audio open error: Device or resource busy") }, /in use by another program/],
	["no device", { recorder: failing("cannot find card '0'") }, /No microphone was found .*Connect one/],
	["no permission", { recorder: failing("Permission denied") }, /may not use the microphone/],
	["no recorder", { recorder: ["/nowhere/recorder"] }, /\/nowhere\/recorder was not found\. Check voiceRecorder/],
	["no ffmpeg on PATH", { ffmpeg: null }, /ffmpeg was not found\. Install ffmpeg .*apt install ffmpeg/],
	["no ffmpeg where it is set to be", { ffmpeg: "/nowhere/ffmpeg" }, /\/nowhere\/ffmpeg, which does not exist\./],
	["an ffmpeg that is no program", { ffmpeg: import.meta.filename }, /which is not executable/],
	[
		"a source that ffmpeg does not know",
		{ input: ["-f", "nonsense", "-i", "x"] },
		/No microphone was found|Recording failed/,
	],
])("%s: one sentence and the remedy, and nothing is left", async (_what, voice, message) => {
	await expect(microphone.listen(options(voice))).rejects.toMatchObject({
		code: "recording-failed",
		message: expect.stringMatching(message),
	});
	expect([ffmpegs(), folders()]).toEqual([[], []]);
});

/** All of this test's, ffmpeg or not. */
const processes = () => processesWithVariable("HOME", sandbox.path);
async function nothingIsLeft(): Promise<void> {
	await until(
		() => `nothing is left; ${JSON.stringify(processes())} ${sandbox.leftInTemp()}`,
		() => processes().length === 0 && sandbox.leftInTemp().length === 0,
	);
}

describe("a sound file", () => {
	const KINDS = ["wav", "mp3", "ogg", "flac", "m4a", "webm", "aac", "aiff", "au", "caf", "mka", "ts", "w64", "wma"];
	const HLS = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1,\n";
	const ID3 = "ID3\x03\0\0\0\0\0\0";

	const toneAs = (kind: string) => join(sandbox.path, `100% "tone": a.${kind}`);

	/** A second of tone as each kind, and under the names that the lists below give, by one ffmpeg. */
	beforeAll(() => {
		const paths = [...KINDS.map(toneAs), join(sandbox.path, "a.ts")];
		runFfmpeg([...toneInput(1, [[0, 1]]), ...paths.flatMap((path) => ["-ac", "1", `file:${path}`])]);
	});

	function write(name: string, content: string): string {
		const path = join(sandbox.path, name);
		writeFileSync(path, content, "latin1");
		return path;
	}

	async function readToEnd(path: string) {
		const listening = await microphone.read(path, options());
		const end = await listening.ended;
		await listening.discard();
		await nothingIsLeft();
		return end;
	}

	test.each(KINDS)("as %s is read", async (kind) => {
		const { result, failure } = await readToEnd(toneAs(kind));
		expect(failure).toBeNull();
		expect(Math.abs((result?.capturedMs ?? 0) - 1_000)).toBeLessThan(150);
	});

	test.each([
		["an HLS list without an end", () => `${HLS}a.ts\n`, /is a playlist, which names other files/],
		["an HLS list behind a byte order mark", () => `\xef\xbb\xbf\n${HLS}a.ts\n`, /is a playlist/],
		["ffconcat", () => "ffconcat version 1.0\nfile a.ts\n", /is a playlist/],
		[
			"SDP",
			() => "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\nc=IN IP4 127.0.0.1\r\nm=audio 5004 RTP/AVP 0\r\n",
			/is a session/,
		],
	])("that is %s is refused, and starts nothing", async (_what, content, message) => {
		const path = write("sound.wav", content());
		await expect(microphone.read(path, options())).rejects.toMatchObject({
			code: "recording-failed",
			message: expect.stringMatching(message),
		});
		await nothingIsLeft();
	});

	it("that hides a list behind a tag ends at ffmpeg, which reads nothing else", async () => {
		let calls = 0;
		const server = createServer((socket) => {
			calls++;
			socket.destroy();
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		try {
			const { port } = server.address() as { port: number };
			for (const entry of ["a.ts", `http://127.0.0.1:${port}/a.ts`]) {
				const { result, failure } = await readToEnd(write("sound.mp3", `${ID3}${HLS}${entry}\n`));
				expect(failure?.message).toMatch(
					/sound\.mp3 is of a kind that is not read \(hls[^)]*\)\. Give the sound file itself/,
				);
				expect(result?.capturedMs).toBe(0);
			}
			expect(calls).toBe(0);
		} finally {
			server.close();
		}
	});

	it("that is not read in time is given up, though ffmpeg does not answer", async () => {
		const path = toneAs("wav");
		const stopped = sandbox.write("ffmpeg-stopped", `#!/bin/sh\nkill -STOP $$\nexec ${ffmpegPath()} "$@"\n`, 0o700);
		microphone = newMicrophone({ fileTimeoutMs: 500 });
		const listening = await microphone.read(path, options({ ffmpeg: stopped }));
		const { failure } = await listening.ended;
		expect(failure).toMatchObject({
			code: "recording-failed",
			message: expect.stringMatching(/"tone": a\.wav took longer than 0\.5 s and was given up\. /),
		});
		await listening.discard();
		await nothingIsLeft();
	});
});

describe("a device that stalls", () => {
	const TWENTY_SECONDS = toneInput(20, [[0, 20]])
		.map((arg) => `'${arg.replaceAll("'", "'\\''")}'`)
		.join(" ");

	it("is given up with its name and what to do", async () => {
		microphone = newMicrophone({ stallTimeoutMs: 1_000 });
		const script = `${ffmpegPath()} -nostdin -v error ${TWENTY_SECONDS} -f wav pipe:1; exec sleep 1000`;
		const listening = await microphone.listen(options({ recorder: ["/bin/sh", "-c", script] }));
		const { failure } = await listening.ended;
		expect(failure).toMatchObject({
			code: "recording-failed",
			message: expect.stringMatching(
				/no sound has come from the program \/bin\/sh for 1 s\. Run that program .* change voiceRecorder, then record again\.$/,
			),
		});
		await listening.discard();
		await nothingIsLeft();
		await (await microphone.listen(options())).discard(); // It is free again.
	});

	it("is given up when it is ffmpeg itself that hangs", async () => {
		microphone = newMicrophone({ stallTimeoutMs: 1_000 });
		const listening = await microphone.listen(options());
		for (const { pid } of ffmpegs()) process.kill(pid, "SIGSTOP");
		const { failure } = await listening.ended;
		expect(failure?.message).toMatch(
			/from the input of voiceInput for 1 s\. Check that the microphone is still connected/,
		);
		await listening.discard();
		await nothingIsLeft();
	});

	it("is not one that gives silence", async () => {
		microphone = newMicrophone({ stallTimeoutMs: 1_000 });
		const silence = ["-re", "-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono"];
		let capturedMs = 0;
		const onLevel: ListenOptions["onLevel"] = (_level, ms) => {
			capturedMs = ms;
		};
		const listening = await microphone.listen({ ...options({ input: silence }), onLevel });
		await until("three seconds", () => capturedMs > 3_000);
		expect((await listening.stop()).failure).toBeNull();
		await listening.discard();
	});

	it("or is slower than time ends with what it gave when the longest time is over", async () => {
		// A second of sound takes two, and none is a stall.
		const slow = "-re -f lavfi -i sine=frequency=440:sample_rate=24000 -af asetrate=48000 -ac 2 -f wav -".split(" ");
		const recorder = [ffmpegPath(), "-nostdin", "-v", "error", ...slow];
		const listening = await microphone.listen(options({ recorder, maxSeconds: 1 }));
		const { failure, result } = await listening.ended;
		expect(failure).toBeNull();
		expect(result?.encoded.ok).toBe(true);
		expect(result?.capturedMs).toBeLessThan(5_500);
		expect(logged).toContainEqual(expect.stringContaining("gives less sound than time passes"));
		await listening.discard();
	});
});

describe("a recorder that is a pipeline", () => {
	const SOURCE = `${ffmpegPath()} -nostdin -v error -re -f lavfi -i sine=frequency=440 -f wav -`;

	test.each([
		["of programs", `${SOURCE} | cat | cat`],
		["whose shell waits for it", `trap '' INT; ${SOURCE} | cat; true`],
		["with a program that heeds no signal but the last", `${SOURCE} | sh -c 'trap "" INT TERM; cat; sleep 1000'`],
		["in the background", `${SOURCE} & wait`],
	])("%s ends as a whole at the stop, with its sound", async (_what, script) => {
		let capturedMs = 0;
		const onLevel: ListenOptions["onLevel"] = (_level, ms) => {
			capturedMs = ms;
		};
		const listening = await microphone.listen({ ...options({ recorder: ["/bin/sh", "-c", script] }), onLevel });
		await until("a second of sound", () => capturedMs > 1_000);
		const { result, failure } = await listening.stop();
		expect(failure).toBeNull();
		expect(result?.encoded.ok).toBe(true);
		expect(result?.capturedMs).toBeGreaterThan(1_000);
		expect(processes()).toEqual([]);
		await listening.discard();
		await nothingIsLeft();
	});
});

it("a program at the end of a pipeline that is stopped hands over what it holds", async () => {
	const held = join(sandbox.path, "held");
	const source = `${ffmpegPath()} -nostdin -v error -re -f lavfi -i sine=frequency=440 -f wav -`;
	const script = `${source} | sh -c 'trap "" INT; head -c 300000; cat > ${held}; cat ${held}'`;
	const listening = await microphone.listen(options({ recorder: ["/bin/sh", "-c", script] }));
	await until("a second is held", () => existsSync(held) && statSync(held).size > 88_200);
	const { result } = await listening.stop();
	expect(result?.capturedMs).toBeGreaterThan((1_000 * (300_000 + 88_200)) / 88_200 - 100);
	await listening.discard();
	await nothingIsLeft();
});

it("a lane that crashes ends the recording and its ffmpeg, and the next one records", async () => {
	const listening = await microphone.listen(options());
	const thread = rig.lanes.threads.at(-1);
	await thread?.terminate();
	const { failure } = await listening.ended;
	expect(failure?.message).toContain("The worker thread that listens to the recorder crashed");
	expect(ffmpegs()).toEqual([]);
	await listening.discard();
	const next = await microphone.listen(options());
	expect((await next.stop()).result?.encoded.ok).toBe(true);
	expect(readdirSync(join(sandbox.tempDir)).length).toBeGreaterThan(0);
	await next.discard();
});
