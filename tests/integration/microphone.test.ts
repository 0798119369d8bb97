/** One microphone for all sessions of the process; real lane, real ffmpeg. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { loadConfig, type VoiceConfig } from "../../src/main/config.ts";
import { type ListenOptions, Microphone } from "../../src/main/voice/microphone.ts";
import { until } from "../support/condition.ts";
import { ffmpegPath } from "../support/ffmpeg.ts";
import { LaneRig } from "../support/lane-rig.ts";
import { processesWithVariable } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";

const SPEAKING = ["-re", "-f", "lavfi", "-i", "sine=frequency=440"];

let sandbox: Sandbox;
let rig: LaneRig;
let microphone: Microphone;
let levels: number;
const logged: string[] = [];

beforeEach(() => {
	sandbox = new Sandbox();
	rig = new LaneRig(sandbox);
	levels = 0;
	logged.length = 0;
	microphone = new Microphone({
		lanes: rig.lanes,
		registry: rig.registry,
		directory: sandbox.tempDir,
		log: (_level, text) => logged.push(text),
	});
});
afterEach(async () => {
	await microphone.close();
	await rig.close();
	await sandbox.close();
});

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

it("a lane that crashes ends the recording and its ffmpeg, and the next one records", async () => {
	const listening = await microphone.listen(options());
	const thread = rig.lanes.threads.at(-1);
	await thread?.terminate();
	const { laneError } = await listening.ended;
	expect(laneError?.message).toContain("The worker thread that listens to the recorder crashed");
	expect(ffmpegs()).toEqual([]);
	await listening.discard();
	const next = await microphone.listen(options());
	expect((await next.stop()).result?.encoded.ok).toBe(true);
	expect(readdirSync(join(sandbox.tempDir)).length).toBeGreaterThan(0);
	await next.discard();
});
