/** Which recorders there are, and what is said when none of them records. */

import { describe, expect, it, test } from "vitest";
import type { CommandResult } from "../../../src/main/processes/run.ts";
import {
	classify,
	findRecorders,
	lastLine,
	parseDevices,
	parseMicrophones,
	toRecordingError,
} from "../../../src/main/voice/recorders.ts";

const DEVICES = [
	"Devices:",
	" D. = Demuxing supported",
	" .E = Muxing supported",
	" --",
	" DE alsa            ALSA audio output",
	" D  lavfi           Libavfilter virtual input device",
	"  E sdl,sdl2        SDL2 output device",
	" DE pulse           Pulse audio output",
].join("\n");
const DSHOW = [
	'[dshow @ 000001] "Integrated Camera" (video)',
	'[dshow @ 000001]   Alternative name "@device_pnp_x"',
	'[dshow @ 000001] "Microphone (USB Audio)" (audio)',
	'[dshow @ 000001]   Alternative name "@device_cm_y"',
	'[dshow @ 000001] "Line In" (audio)',
].join("\r\n");
const OLD_DSHOW = [
	"[dshow @ 02] DirectShow video devices",
	'[dshow @ 02]  "Integrated Camera"',
	"[dshow @ 02] DirectShow audio devices",
	'[dshow @ 02]  "Microphone (Realtek)"',
].join("\n");

const NOTHING_SET = { input: [], recorder: [], output: [] };

function answering(stdout: string, stderr = "") {
	return async (): Promise<CommandResult> => ({ ok: true, code: 0, stdout, stderr });
}

describe("the recorders of a system, in the order they are tried", () => {
	test.each([
		["linux", DEVICES, "", ["PulseAudio or PipeWire", "ALSA"]],
		["linux", DEVICES.replace(/^.*pulse.*$/m, ""), "", ["ALSA"]],
		["freebsd", DEVICES, "", ["PulseAudio or PipeWire", "ALSA"]],
		["darwin", " D  avfoundation    AVFoundation input device", "", ["AVFoundation"]],
		[
			"win32",
			" D  dshow           DirectShow capture",
			DSHOW,
			["DirectShow, Microphone (USB Audio)", "DirectShow, Line In"],
		],
	] as const)("%s", async (platform, stdout, stderr, names) => {
		const found = await findRecorders(NOTHING_SET, platform, answering(stdout, stderr));
		expect(found.map(({ name }) => name)).toEqual(names);
	});

	it("are ffmpeg's default devices", async () => {
		const found = await findRecorders(NOTHING_SET, "linux", answering(DEVICES));
		expect(found.map(({ input, output }) => [input.join(" "), output?.join(" ")])).toEqual([
			["-f pulse -i default", "-f pulse pi"],
			["-f alsa -i default", "-f alsa default"],
		]);
	});

	test.each(["linux", "darwin", "win32"] as const)("none on %s: what to do", async (platform) => {
		const finding = findRecorders(NOTHING_SET, platform, answering(" D  lavfi   x"));
		await expect(finding).rejects.toMatchObject({
			code: "recording-failed",
			message: expect.stringContaining("set voiceRecorder"),
		});
	});

	it("are not looked for where one is configured", async () => {
		const refuse = () => Promise.reject(new Error("asked"));
		const input = ["-f", "lavfi", "-i", "sine"];
		expect(await findRecorders({ ...NOTHING_SET, input }, "linux", refuse)).toMatchObject([{ input, program: [] }]);
		const recorder = ["arecord", "-t", "wav"];
		const output = ["-f", "wav", "x.wav"];
		expect(await findRecorders({ input, recorder, output }, "linux", refuse)).toMatchObject([
			{ input: ["-analyzeduration", "500000", "-i", "pipe:0"], program: recorder, output },
		]);
	});
});

test("ffmpeg's list of devices: what can be read, by every name", () => {
	const result = { ok: true as const, code: 0, stdout: `${DEVICES}\n D  a,b   two names`, stderr: "" };
	expect([...parseDevices(result)].sort()).toEqual(["a", "alsa", "b", "lavfi", "pulse"]);
	expect([...parseDevices({ ok: false, reason: "timeout", error: new Error("late") })]).toEqual([]);
});

test.each([
	["the newer form", DSHOW, ["Microphone (USB Audio)", "Line In"]],
	["the older form", OLD_DSHOW, ["Microphone (Realtek)"]],
	["nothing", "dummy: Immediate exit requested", []],
])("DirectShow's microphones in %s", (_what, stderr, names) => {
	expect(parseMicrophones(stderr)).toEqual(names);
});

test.each<[what: string, lines: readonly string[], reason: string]>([
	["one line", ["default: Connection refused"], "default: Connection refused"],
	["nothing", [], ""],
	[
		"only what is harmless",
		["Press [q] to stop, [?] for help", "size=  12kB time=00:00:01.02 bitrate=96.0kbits/s"],
		"",
	],
	[
		"the guess at a lay-out behind the reason",
		["default: Permission denied", "Guessed Channel Layout for Input Stream #0.0 : mono"],
		"default: Permission denied",
	],
	[
		"keys and sizes behind the reason",
		["[alsa @ 0x1] read error", "Press [q] to stop, [?] for help", "size=N/A time=00:00:00.10 bitrate=N/A speed=1x"],
		"[alsa @ 0x1] read error",
	],
	[
		"sizes that overwrite each other",
		["[pulse @ 0x1] Connection terminated", "size= 1kB time=00:00:01\rsize= 2kB time=00:00:02\r"],
		"[pulse @ 0x1] Connection terminated",
	],
	[
		"the end of an ordinary run",
		[
			"[pulse @ 0x1] Connection terminated",
			"[out#0/s16le @ 0x1] video:0kB audio:4kB subtitle:0kB other streams:0kB",
			"Exiting normally, received signal 2.",
		],
		"[pulse @ 0x1] Connection terminated",
	],
	[
		"ALSA of ffmpeg 4.1",
		["[alsa @ 0x1] cannot open audio device hw:9 (No such device)", "hw:9: Input/output error"],
		"[alsa @ 0x1] cannot open audio device hw:9 (No such device)",
	],
	[
		"a file without sound, ffmpeg 4.1",
		["Stream map '0:a:0' matches no streams.", "To ignore this, add a trailing '?' to the map."],
		"Stream map '0:a:0' matches no streams",
	],
	[
		"the same, ffmpeg 7",
		[
			"[out#0/s16le @ 0x1] Stream map '' matches no streams.",
			"Stream map '0:a:0' matches no streams.",
			"To ignore this, add a trailing '?' to the map.",
			"Failed to set value '0:a:0' for option 'map': Invalid argument",
			"Error parsing options for output file pipe:1.",
			"Error opening output files: Invalid argument",
		],
		"Stream map '0:a:0' matches no streams",
	],
	[
		"a missing file, ffmpeg 7",
		[
			"[in#0 @ 0x1] Error opening input: No such file or directory",
			"Error opening input file x.wav.",
			"Error opening input files: No such file or directory",
		],
		"[in#0 @ 0x1] Error opening input: No such file or directory",
	],
	[
		"nothing but the vague",
		["x.wav: Invalid data found when processing input"],
		"x.wav: Invalid data found when processing input",
	],
	[
		"the encoder's remark in front of the vague",
		["[libopus @ 0x1] No bit rate set. Defaulting to 64000 bps.", "Conversion failed!"],
		"Conversion failed!",
	],
	[
		"arecord's title and end",
		[
			"arecord: pcm_read:2221: read error: No such device",
			"Recording WAVE 'stdin' : Signed 16 bit Little Endian",
			"Aborted by signal Interrupt...",
		],
		"arecord: pcm_read:2221: read error: No such device",
	],
	[
		"sox's counter",
		["sox FAIL formats: can't open input", "In:0.00% 00:00:01.11 [00:00:00.00]"],
		"sox FAIL formats: can't open input",
	],
])("the reason in %s", (_what, lines, reason) => {
	expect(lastLine(lines.join("\n"))).toBe(reason);
});

describe("a failed recorder says why", () => {
	test.each([
		["[alsa @ 0x1] cannot open audio device hw:0 (Device or resource busy)", "busy"],
		["[avfoundation @ 0x1] Failed to create AV capture input device: Operation not permitted", "refused"],
		["default: Permission denied", "refused"],
		["[pulse @ 0x1] Connection refused\ndefault: Input/output error", "missing"],
		["ALSA lib confmisc.c:855:(parse_card) cannot find card '0'", "missing"],
		["[alsa @ 0x1] cannot open audio device default (No such file or directory)", "missing"],
		["Conversion failed!", "other"],
		["", "other"],
	] as const)("%s", (stderr, failure) => {
		expect(classify(stderr)).toBe(failure);
	});

	const pulse = { name: "PulseAudio or PipeWire", stderr: "[pulse @ 0x1] Connection refused" };
	test.each([
		["busy", "Device or resource busy", /in use by another program \(ALSA\)\. Close that program/],
		["refused", "Permission denied", /may not use the microphone \(ALSA\)\. Allow it/],
		["missing", "No such device", /No microphone was found \(tried PulseAudio or PipeWire, ALSA\)\. Connect one/],
		["other", "Conversion failed!", /Recording failed \(ALSA\): Conversion failed!\. Check the microphone/],
		["silent", "", /nothing was heard and nothing was said why/],
	])("the one that came closest is told: %s", (_what, stderr, message) => {
		const error = toRecordingError([pulse, { name: "ALSA", stderr }]);
		expect(error.code).toBe("recording-failed");
		expect(error.message).toMatch(message);
	});

	it("without a secret in its words", () => {
		const stderr = "https://host/stream?token=abcdef0123456789abcdef failed";
		expect(toRecordingError([{ name: "x", stderr }]).message).not.toContain("abcdef0123456789");
	});
});
