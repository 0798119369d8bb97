import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { captureArguments } from "../../../src/main/voice/ffmpeg-arguments.ts";
import { checkOggOpus } from "../../../src/workers/audio/ogg.ts";
import { runFfmpeg, toneInput } from "../../support/ffmpeg.ts";

let file: Buffer;

beforeAll(() => {
	const folder = mkdtempSync(join(tmpdir(), "pi-agy-test-"));
	const path = join(folder, "tone.ogg");
	runFfmpeg(captureArguments({ input: toneInput(3, [[0, 3]]), container: "ogg", path, maxSeconds: 60 }));
	file = readFileSync(path);
	rmSync(folder, { recursive: true });
});

/** Where each page of a sound file starts, by the pattern alone. */
function pageStarts(bytes: Buffer): readonly number[] {
	const starts: number[] = [];
	for (let at = bytes.indexOf("OggS"); at !== -1; at = bytes.indexOf("OggS", at + 1)) starts.push(at);
	return starts;
}

/** The checksum of RFC 3533, bit by bit, written anew. */
function sealed(page: Buffer): Buffer {
	const copy = Buffer.from(page);
	copy.writeUInt32LE(0, 22);
	let crc = 0n;
	for (const byte of copy) {
		crc ^= BigInt(byte) << 24n;
		for (let bit = 0; bit < 8; bit++) crc = ((crc << 1n) ^ (crc & 0x80000000n ? 0x104c11db7n : 0n)) & 0xffffffffn;
	}
	copy.writeUInt32LE(Number(crc), 22);
	return copy;
}

function pagesOf(bytes: Buffer): Buffer[] {
	const starts = pageStarts(bytes);
	return starts.map((start, index) => bytes.subarray(start, starts[index + 1] ?? bytes.length));
}

/** The file with one page changed and its checksum made right again. */
function withPage(index: number, change: (page: Buffer) => void): Buffer {
	const pages = pagesOf(file);
	const page = Buffer.from(pages.at(index) as Buffer);
	change(page);
	pages[index < 0 ? pages.length + index : index] = sealed(page);
	return Buffer.concat(pages);
}

function problemOf(bytes: Uint8Array): string {
	const checked = checkOggOpus(bytes);
	return checked.ok ? "" : checked.problem;
}

test("a file that ffmpeg has finished is whole, and as long as it should be", () => {
	const checked = checkOggOpus(file);
	expect(checked.ok && Math.abs(checked.durationMs - 3_000)).toBeLessThan(25);
	expect(pageStarts(file).length).toBeGreaterThanOrEqual(4);
});

test("a file that is cut off anywhere is not", () => {
	for (const cut of pageStarts(file)) expect(problemOf(file.subarray(0, cut))).not.toBe("");
	for (let cut = 0; cut < file.length; cut += cut < 400 ? 1 : 37) expect(problemOf(file.subarray(0, cut))).not.toBe("");
	expect(problemOf(file.subarray(0, file.length - 1))).toContain("cut off");
	expect(problemOf(file.subarray(0, pageStarts(file).at(-1)))).toContain("before its last page");
});

test("no flipped bit goes unseen", () => {
	for (let at = 0; at < file.length; at += at < 400 ? 1 : 41) {
		const damaged = Buffer.from(file);
		damaged[at] = (damaged[at] as number) ^ (1 << (at % 8));
		expect(problemOf(damaged), `byte ${at}`).not.toBe("");
	}
});

describe("what is no whole Opus stream is said", () => {
	const cases: readonly (readonly [string, () => Buffer, string])[] = [
		["nothing", () => Buffer.alloc(0), "is empty"],
		["something else", () => Buffer.from("RIFF....WAVEfmt ".repeat(9)), "no Ogg file"],
		["zeros", () => Buffer.alloc(500), "no Ogg file"],
		["a later version", () => withPage(0, (page) => page.writeUInt8(1, 4)), "unknown version"],
		["a stream that does not start", () => withPage(0, (page) => page.writeUInt8(0, 5)), "exactly one stream"],
		["a stream that starts again", () => withPage(1, (page) => page.writeUInt8(2, 5)), "exactly one stream"],
		["another stream's page", () => withPage(2, (page) => page.writeUInt32LE(7, 14)), "more than one stream"],
		["a missing page", () => Buffer.concat(pagesOf(file).filter((_, index) => index !== 2)), "is missing"],
		["more behind the end", () => Buffer.concat([file, pagesOf(file).at(-1) as Buffer]), "goes on behind"],
		["garbage behind the end", () => Buffer.concat([file, Buffer.alloc(40, 1)]), "no Ogg file"],
		["another codec", () => withPage(0, (page) => page.write("OpusHeaf", 28)), "does not hold Opus"],
		["a later Opus", () => withPage(0, (page) => page.writeUInt8(16, 36)), "unknown version"],
		["no channel", () => withPage(0, (page) => page.writeUInt8(0, 37)), "no channel"],
		["no comment header", () => withPage(1, (page) => page.write("OpusTagz", 28)), "comment header"],
		["headers alone", () => Buffer.concat(pagesOf(file).slice(0, 2)), "holds no sound"],
		["a length of nothing", () => withPage(-1, (page) => page.writeBigInt64LE(0n, 6)), "holds no sound"],
	];
	test.each(cases)("%s", (_name, make, expected) => {
		expect(problemOf(make())).toContain(expected);
	});
});

test("a later Opus of the same kind is read", () => {
	expect(checkOggOpus(withPage(0, (page) => page.writeUInt8(15, 36)))).toMatchObject({ ok: true });
});
