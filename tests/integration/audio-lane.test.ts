/** Captures with a real audio lane, which the cases share, and a real ffmpeg, which records from its own signal sources. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { captureArguments, chimeArguments } from "../../src/main/voice/ffmpeg-arguments.ts";
import { type AudioContainer, type CaptureResult, FLOOR_DB } from "../../src/shared/audio.ts";
import { LEVEL_INTERVAL_MS } from "../../src/shared/limits.ts";
import { FEED_HIGH_WATER_BYTES } from "../../src/workers/audio/capture.ts";
import { AudioProcess } from "../support/audio-process.ts";
import { until } from "../support/condition.ts";
import { decodeToPcm, ffmpegPath, runFfmpeg, spectralPeakHz, speechInput, toneInput } from "../support/ffmpeg.ts";
import { LaneRig } from "../support/lane-rig.ts";
import { childrenOf, guardiansOf, untilReaped } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";

const MAX_SECONDS = 300;
const LIVE_TONE = ["-re", "-f", "lavfi", "-i", "sine=frequency=440"];

let sandbox: Sandbox;
let rig: LaneRig;
let running: AudioProcess[];
/** Of the case that runs. */
let folder: string;
let caseCount = 0;
/** A link of the lane is one recording's, and never comes again. */
let linkCount = 0;

beforeAll(() => {
	sandbox = new Sandbox();
	rig = new LaneRig(sandbox);
});
beforeEach(() => {
	folder = join(sandbox.path, `case-${++caseCount}`);
	mkdirSync(folder);
	running = [];
});
afterEach(async () => {
	await Promise.all(running.map((process) => process.close()));
	await untilReaped(process.pid);
	expect(childrenOf(process.pid).filter((row) => row.command.includes("ffmpeg"))).toEqual([]);
});
afterAll(async () => {
	sandbox.noteGuardians(guardiansOf(process.pid));
	await rig.close().finally(() => sandbox.close());
	await untilReaped(process.pid);
});

type Recording = { readonly acknowledges?: boolean; readonly maxSeconds?: number };

function pathOf(container: AudioContainer): string {
	return join(folder, `recording.${container}`);
}

async function record(
	input: readonly string[],
	container: AudioContainer,
	{ acknowledges = true, maxSeconds = MAX_SECONDS }: Recording = {},
): Promise<AudioProcess> {
	const path = pathOf(container);
	const audio = await AudioProcess.start(await rig.lanes.acquire("audio"), rig.registry, {
		link: ++linkCount,
		bin: ffmpegPath(),
		args: captureArguments({ input, container, path, maxSeconds }),
		cwd: sandbox.workspace,
		subject: { kind: "capture", path, container },
		acknowledges,
	});
	running.push(audio);
	return audio;
}

async function recorded(input: readonly string[], container: AudioContainer, how?: Recording): Promise<CaptureResult> {
	const result = await (await record(input, container, how)).over();
	if (!result) throw new Error("nothing was captured");
	return result;
}

/** What arrived in base64, written to a file and decoded; a WAV stays where it is. */
function samplesOf(result: CaptureResult): Int16Array {
	if (!result.encoded.ok) throw new Error(result.encoded.problem);
	const { base64 } = result.encoded;
	if (base64 === null) return decodeToPcm(pathOf("wav"));
	const path = join(folder, "arrived");
	writeFileSync(path, Buffer.from(Buffer.from(base64).toString("latin1"), "base64"));
	return decodeToPcm(path);
}

function msOf(samples: Int16Array): number {
	return samples.length / 16;
}

describe.each(["ogg", "wav"] as const)("a capture into %s", (container) => {
	it("holds the tone that was recorded, in full", async () => {
		const result = await recorded(["-f", "lavfi", "-i", "sine=frequency=440:duration=3"], container);
		expect(result.encoded).toMatchObject({ ok: true, mimeType: `audio/${container}` });
		expect(result.capturedMs).toBeCloseTo(3_000, -1);
		expect(result.loudestDb).toBeCloseTo(-21.07, 0);
		const samples = samplesOf(result);
		expect(Math.abs(msOf(samples) - 3_000)).toBeLessThan(50);
		expect(result.encoded.ok && Math.abs(result.encoded.durationMs - 3_000)).toBeLessThan(50);
		expect(Math.abs(spectralPeakHz(samples, 300, 600) - 440)).toBeLessThan(5);
	});

	it("leaves the silence out and the tones whole", async () => {
		const tones = [
			[1, 3],
			[7, 9],
		] as const;
		const result = await recorded(toneInput(12, tones), container);
		expect(result.capturedMs).toBeCloseTo(12_000, -1);
		const samples = samplesOf(result);
		// Of the 8 s of silence what stays around words: less than 1.6 s for each pause, by the version of ffmpeg.
		expect(msOf(samples)).toBeGreaterThan(4_300);
		expect(msOf(samples)).toBeLessThan(7_200);
		const loud = samples.filter((sample) => Math.abs(sample) > 1_000).length;
		const loudOfTone = decodeToPcmOf(4).filter((sample) => Math.abs(sample) > 1_000).length;
		expect(loud / loudOfTone).toBeGreaterThan(0.98);
		expect(loud / loudOfTone).toBeLessThan(1.02);
	});

	it("of digital silence reports that there was none to hear", async () => {
		const result = await recorded(["-f", "lavfi", "-i", "anullsrc=r=48000:cl=mono"], container, { maxSeconds: 2 });
		expect(result.capturedMs).toBeCloseTo(2_000, -1);
		expect(result.loudestDb).toBe(FLOOR_DB);
		expect(result.encoded).toMatchObject({ ok: false });
	});

	it("is finished by SIGINT, and levels come while it runs", async () => {
		const audio = await record(LIVE_TONE, container);
		await until("a second of levels", () => (audio.levels.at(-1)?.capturedMs ?? 0) > 1_000);
		expect(audio.isOver).toBe(false);
		audio.interrupt();
		const result = await audio.over();
		expect(result?.encoded.ok).toBe(true);
		expect(Math.abs(msOf(samplesOf(result as CaptureResult)) - (result as CaptureResult).capturedMs)).toBeLessThan(200);
		expect(audio.kinds.slice(-2)).toEqual(["captured", "output-ended"]);
	});

	it("that is killed is reported as torn", async () => {
		const audio = await record(LIVE_TONE, container);
		await until("levels", () => audio.levels.length > 5);
		audio.kill();
		const result = await audio.over();
		expect(result?.encoded).toEqual({ ok: false, problem: expect.stringContaining("ffmpeg was ended by SIGKILL.") });
		expect(result?.capturedMs).toBeGreaterThan(200);
	});

	it("takes what another program records", async () => {
		const capture = await record(["-i", "pipe:0"], container);
		const feed = await AudioProcess.start(await rig.lanes.acquire("audio"), rig.registry, {
			link: ++linkCount,
			bin: ffmpegPath(),
			args: [..."-nostdin -loglevel error -f lavfi -i sine=frequency=440:duration=2 -f wav pipe:1".split(" ")],
			cwd: sandbox.workspace,
			subject: { kind: "feed", into: capture.link },
		});
		running.push(feed);
		await feed.over();
		expect(feed.kinds.at(-1)).toBe("output-ended");
		const samples = samplesOf((await capture.over()) as CaptureResult);
		expect(Math.abs(msOf(samples) - 2_000)).toBeLessThan(50);
		expect(Math.abs(spectralPeakHz(samples, 300, 600) - 440)).toBeLessThan(5);
	});
});

/** As long a tone, decoded from a file that no lane has seen. */
function decodeToPcmOf(seconds: number): Int16Array {
	const path = join(folder, "reference.wav");
	runFfmpeg([...toneInput(seconds, [[0, seconds]]), path]);
	return decodeToPcm(path);
}

describe("levels", () => {
	it("are those of the sound, at most 20 a second, live from a silent start on", async () => {
		const input = toneInput(60, [[1.5, 60]]);
		const audio = await record(["-re", ...input], "ogg");
		await until("silence", () => audio.levels.some(({ rmsDb }) => rmsDb === FLOOR_DB));
		expect(audio.levels.every(({ rmsDb }) => rmsDb === FLOOR_DB)).toBe(true);
		await until("a second of the tone", () => (audio.levels.at(-1)?.capturedMs ?? 0) > 2_500);
		audio.interrupt();
		await audio.over();
		const levels = audio.levels.filter(({ capturedMs }) => capturedMs > 1_700 && capturedMs < 2_500);
		for (const { rmsDb, peakDb } of levels) {
			expect(peakDb).toBeCloseTo(-18.06, 0);
			expect(rmsDb - peakDb).toBeCloseTo(-3.01, 0);
		}
		// What was reported in time may arrive late, so the whole is looked at.
		const [first] = audio.levels;
		const spanMs = (audio.levels.at(-1)?.atMs ?? 0) - (first?.atMs ?? 0);
		expect(audio.levels.length).toBeLessThanOrEqual(spanMs / LEVEL_INTERVAL_MS + 2);
	});

	it("of a main that does not acknowledge do not hold the recording back", async () => {
		const pauses = async () => (await (await rig.lanes.acquire("audio")).control.stats()).pauses;
		const before = await pauses();
		const audio = await record(["-f", "lavfi", "-i", "sine=frequency=440:duration=60"], "wav", { acknowledges: false });
		const result = await audio.over();
		expect(result?.capturedMs).toBeCloseTo(60_000, -1);
		expect(await pauses()).toBe(before);
	});
});

it("a recorder that floods is held back by an ffmpeg that does not read, and goes on with it", async () => {
	const capture = await record(["-f", "s16le", "-ar", "16000", "-ac", "1", "-i", "pipe:0"], "wav");
	capture.signal("SIGSTOP");
	const lane = await rig.lanes.acquire("audio");
	const readBefore = (await lane.control.stats()).bytesIn;
	const feed = await AudioProcess.start(lane, rig.registry, {
		link: ++linkCount,
		bin: "yes",
		args: ["a fairly long line that says nothing"],
		cwd: sandbox.workspace,
		subject: { kind: "feed", into: capture.link },
	});
	running.push(feed);
	const bytesIn = async () => (await lane.control.stats()).bytesIn - readBefore;
	let before = 0;
	let heldBytes = 0;
	await until("the flood stands still", async () => {
		[before, heldBytes] = [heldBytes, await bytesIn()];
		return heldBytes >= FEED_HIGH_WATER_BYTES && heldBytes === before;
	});
	// What the system's pipes hold is not the lane's.
	expect(heldBytes).toBeLessThan(FEED_HIGH_WATER_BYTES + 1024 * 1024);
	capture.signal("SIGCONT");
	await until("ten times as much", async () => (await bytesIn()) > 10 * heldBytes);
	capture.signal("SIGSTOP");
	await feed.close(); // Though nobody reads what it has printed.
	capture.kill();
	expect((await capture.over())?.encoded).toMatchObject({ ok: false });
});

it("ends by itself after the longest time", async () => {
	const result = await recorded(["-f", "lavfi", "-i", "sine=frequency=440"], "ogg", { maxSeconds: 2 });
	expect(result.capturedMs).toBeCloseTo(2_000, -1);
	expect(result.encoded).toMatchObject({ ok: true });
});

it("keeps nearly all of something like speech", async () => {
	const result = await recorded(speechInput(4, join(folder, "speech.wav")), "ogg");
	expect(result.encoded.ok && result.encoded.durationMs / result.capturedMs).toBeGreaterThan(0.95);
	expect(result.loudestDb).toBeGreaterThan(-40);
});

it("an ffmpeg that cannot record says so and has no file", async () => {
	const audio = await record(["-f", "lavfi", "-i", "nonsense"], "ogg");
	const result = await audio.over();
	expect(result).toMatchObject({ capturedMs: 0, loudestDb: FLOOR_DB });
	expect(result?.encoded).toMatchObject({ ok: false, problem: expect.stringContaining("ffmpeg ended with code") });
	expect(audio.stderr).toContain("nonsense");
});

it.each([
	["start", 660, 880],
	["stop", 880, 660],
] as const)("the chime at the %s is two tones of a tenth of a second that do not click", (which, first, second) => {
	const path = join(folder, "chime.wav");
	runFfmpeg(chimeArguments({ output: ["-f", "wav", path], which }));
	const samples = decodeToPcm(path);
	expect(Math.abs(msOf(samples) - 100)).toBeLessThan(5);
	expect(Math.abs(spectralPeakHz(samples.subarray(0, 800), 500, 1_000) - first)).toBeLessThan(15);
	expect(Math.abs(spectralPeakHz(samples.subarray(800), 500, 1_000) - second)).toBeLessThan(15);
	for (const index of [0, 1, 799, 800, samples.length - 1]) expect(Math.abs(samples[index] ?? 0)).toBeLessThan(900);
});
