/** Files that name other files, told by their first bytes. What ffmpeg does with them: tests/integration/microphone.test.ts. */

import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { checkSoundFile, listIn, refusedFormat } from "../../../src/main/voice/sound-file.ts";
import { runFfmpeg, toneInput } from "../../support/ffmpeg.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const HLS = "#EXTM3U\n#EXTINF:1,\na.ts\n";
const SDP = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\n";

test.each<[what: string, head: string | Buffer, found: string | null]>([
	["HLS", HLS, "a playlist"],
	["HLS in small letters", HLS.toLowerCase(), "a playlist"],
	["HLS behind a byte order mark", `\ufeff${HLS}`, "a playlist"],
	["HLS behind empty lines", ` \r\n\t\n${HLS}`, "a playlist"],
	["HLS behind both", `\ufeff\n${HLS}`, "a playlist"],
	["HLS in UTF-16", Buffer.from(`\ufeff${HLS}`, "utf16le"), "a playlist"],
	["HLS with the line ends of old", HLS.replaceAll("\n", "\r"), "a playlist"],
	["ffconcat", "ffconcat version 1.0\nfile a.wav\n", "a playlist"],
	["PLS", "[playlist]\nFile1=a.wav\n", "a playlist"],
	["a redirection of ASF", "[Reference]\nRef1=http://x/\n", "a playlist"],
	["addresses", "https://host/a.mp3\n", "a playlist"],
	["SDP", SDP, "a session description"],
	["SDP without its first line", SDP.slice(5), "a session description"],
	["DASH", '<?xml version="1.0"?><MPD/>', "XML"],
	["ASX", '<asx version="3.0">', "XML"],
	["a note that names HLS further on", `see ${HLS}`, null],
	["words of no meaning", "v=0.5 is quiet", null],
	["nothing", "", null],
	["zeroes", Buffer.alloc(64), null],
	["sound that spells a line of SDP", Buffer.from("RIFF\x01\x02\nc=IN IP4 x\n", "latin1"), null],
])("%s", (_what, head, found) => {
	expect(listIn(Buffer.from(head as string))).toBe(found);
});

describe("a file is refused", () => {
	it("as what it is, with what to give", async () => {
		const path = folder.at("list.wav");
		writeFileSync(path, HLS);
		await expect(checkSoundFile(path)).rejects.toMatchObject({
			code: "recording-failed",
			message: `${path} is a playlist, which names other files and holds no sound. Give the sound file itself, as WAV, MP3, Ogg, FLAC or M4A.`,
		});
	});

	it("when it cannot be read", async () => {
		await expect(checkSoundFile(folder.at("missing"))).rejects.toMatchObject({
			code: "recording-failed",
			message: expect.stringContaining("cannot be read: ENOENT"),
		});
	});

	test.each([
		[
			"the older words",
			"[hls,applehttp @ 0x1a6c] Format not on whitelist 'aac,wav'\nx: Invalid argument",
			"(hls,applehttp)",
		],
		["the newer words", "[hls @ 0x1a6c] Format not on whitelist 'aac,wav', not allowed", "(hls)"],
	])("for what ffmpeg says of its format, in %s", (_what, stderr, format) => {
		expect(refusedFormat("/x", stderr)?.message).toContain(format);
	});
});

it("what ffmpeg says of another failure is no refusal", () => {
	expect(refusedFormat("/x", "x.wav: Invalid data found when processing input")).toBeNull();
});

test.each(["wav", "mp3", "ogg", "flac", "m4a", "webm", "aac", "aiff", "au", "caf", "mka", "ts", "w64", "wma"])(
	"a real %s file is none of these",
	async (ending) => {
		const path = folder.at(`tone.${ending}`);
		runFfmpeg([...toneInput(1, [[0, 1]]), "-ac", "1", path]);
		expect(readFileSync(path).length).toBeGreaterThan(1_000);
		await expect(checkSoundFile(path)).resolves.toBeUndefined();
	},
);
