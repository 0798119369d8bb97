/** One microphone for all sessions of the process; real lane, real ffmpeg. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
