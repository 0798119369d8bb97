import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { captureArguments } from "../../../src/main/voice/ffmpeg-arguments.ts";
import { checkWav } from "../../../src/workers/audio/wav.ts";
import { runFfmpeg, toneInput } from "../../support/ffmpeg.ts";

let file: Buffer;

beforeAll(() => {
	const folder = mkdtempSync(join(tmpdir(), "pi-agy-test-"));
	const path = join(folder, "tone.wav");
	runFfmpeg(captureArguments({ input: toneInput(2, [[0, 2]]), container: "wav", path, maxSeconds: 60 }));
	file = readFileSync(path);
	rmSync(folder, { recursive: true });
});

function changed(change: (bytes: Buffer) => void): Buffer {
	const copy = Buffer.from(file);
	change(copy);
	return copy;
}

/** A file of the given parts. */
function riff(...parts: readonly (readonly [name: string, body: Buffer])[]): Buffer {
	const body = Buffer.concat(
		parts.map(([name, bytes]) => {
			const head = Buffer.from(`${name}....`, "latin1");
			head.writeUInt32LE(bytes.length, 4);
			return Buffer.concat([head, bytes, Buffer.alloc(bytes.length % 2)]);
		}),
	);
	const head = Buffer.from("RIFF....WAVE", "latin1");
	head.writeUInt32LE(body.length + 4, 4);
	return Buffer.concat([head, body]);
}

function format(tag = 1, channels = 1, rate = 16_000, bits = 16): Buffer {
	const bytes = Buffer.alloc(16);
	bytes.writeUInt16LE(tag, 0);
	bytes.writeUInt16LE(channels, 2);
	bytes.writeUInt32LE(rate, 4);
	bytes.writeUInt32LE((rate * channels * bits) / 8, 8);
	bytes.writeUInt16LE((channels * bits) / 8, 12);
	bytes.writeUInt16LE(bits, 14);
	return bytes;
}

const second = Buffer.alloc(32_000, 3);

test("a file that ffmpeg has finished is whole, and as long as it should be", () => {
	const checked = checkWav(file);
	expect(checked.ok && Math.abs(checked.durationMs - 2_000)).toBeLessThan(25);
	expect(file.includes("LIST")).toBe(true);
});

test("a file that is cut off anywhere is not", () => {
	for (let cut = 0; cut < file.length; cut += cut < 200 ? 1 : 501)
		expect(checkWav(file.subarray(0, cut)).ok, `byte ${cut}`).toBe(false);
});

test("parts of other kinds and of odd lengths are skipped", () => {
	const parts = riff(["JUNK", Buffer.alloc(5)], ["fmt ", format()], ["LIST", Buffer.alloc(31)], ["data", second]);
	expect(checkWav(parts)).toEqual({ ok: true, durationMs: 1_000 });
	expect(checkWav(riff(["fmt ", format(1, 2, 8_000)], ["data", second]))).toEqual({ ok: true, durationMs: 1_000 });
});

describe("what is no whole file is said", () => {
	const cases: readonly (readonly [string, () => Buffer, string])[] = [
		["nothing", () => Buffer.alloc(0), "is empty"],
		["something else", () => Buffer.from("OggS".repeat(40)), "no WAV file"],
		["sizes never written", () => changed((bytes) => bytes.writeUInt32LE(0xffffffff, 4)), "not as long as it says"],
		["something behind the end", () => Buffer.concat([file, Buffer.alloc(2)]), "not as long as it says"],
		["a part that is too long", () => changed((bytes) => bytes.writeUInt32LE(0xffffff00, 16)), "is cut off"],
		["no format", () => riff(["data", second]), "how its sound is stored"],
		["a short format", () => riff(["fmt ", Buffer.alloc(4)], ["data", second]), "how its sound is stored"],
		["another codec", () => riff(["fmt ", format(3)], ["data", second]), "no 16-bit PCM"],
		["other samples", () => riff(["fmt ", format(1, 1, 16_000, 8)], ["data", second]), "no 16-bit PCM"],
		["no channel", () => riff(["fmt ", format(1, 0)], ["data", second]), "contradicts"],
		["no rate", () => riff(["fmt ", format(1, 1, 0)], ["data", second]), "contradicts"],
		["no sound", () => riff(["fmt ", format()]), "holds no sound"],
		["empty sound", () => riff(["fmt ", format()], ["data", Buffer.alloc(0)]), "holds no sound"],
		["half a sample", () => riff(["fmt ", format()], ["data", Buffer.alloc(33)]), "within a sample"],
	];
	test.each(cases)("%s", (_name, make, expected) => {
		expect(checkWav(make())).toMatchObject({ ok: false, problem: expect.stringContaining(expected) });
	});
});
