/**
 * A sound file that a person names. ffmpeg also takes files that only name others (playlists of HLS, ffconcat, session
 * descriptions): it would read any file of this machine, or the network, in their place, and some have no end.
 *
 * Three gates: such a file is refused by its first bytes, with a sentence; ffmpeg is allowed the formats that hold their
 * sound themselves; and it may open files alone.
 */

import { open } from "node:fs/promises";
import { AgyError, toError } from "../../shared/errors.ts";
import { toPlainText } from "../plain-text.ts";

/** Comments may stand in front of what tells a list. */
const HEAD_BYTES = 4_096;

/** By ffmpeg's names, from 4.1 on. It also finds a list behind a tag of MP3, where the first bytes do not tell. */
const FORMATS = [
	...["aac", "ac3", "aiff", "amr", "amrnb", "amrwb", "ape", "asf", "au", "avi", "caf", "dts", "eac3", "flac", "flv"],
	...["loas", "matroska", "mov", "mp3", "mpc", "mpc8", "mpeg", "mpegts", "ogg", "rm", "tta", "voc", "w64", "wav", "wv"],
];
const REFUSED_FORMAT = /^\[(\S+) @ [^\]]*\] Format not on whitelist/m;

/** How a text begins that stands for other files. */
const LISTS: readonly (readonly [what: string, head: RegExp])[] = [
	["a playlist", /^#EXT(M3U|INF|-X-)/i],
	["a playlist", /^(ffconcat\b|\[playlist\]|\[reference\]|RTSPtext\b|[a-z]+:\/\/)/i],
	["a session description", /^v=0\s*$/m],
	["a session description", /^c=IN IP[46] /m],
	["XML", /^<[?!a-z]/i],
];

/** What no text holds: sound may spell anything. */
const BINARY = /(?![\t\n\f\v])\p{Cc}/u;

/** ffmpeg's options for the file, and the file itself. */
export function soundFileInput(path: string): readonly string[] {
	// `file:` keeps a name from being taken for another protocol.
	return ["-protocol_whitelist", "file", "-format_whitelist", FORMATS.join(","), "-i", `file:${path}`];
}

/** Throws `recording-failed` for what is no sound file by its first bytes. `path` is absolute. */
export async function checkSoundFile(path: string): Promise<void> {
	const shown = toPlainText(path);
	const handle = await open(path).catch((error: unknown) => {
		const why = toError(error).message;
		throw failed(`The sound file ${shown} cannot be read: ${toPlainText(why)}.`, error);
	});
	try {
		const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
		const what = listIn(buffer.subarray(0, bytesRead));
		if (what !== null) throw refused(shown, `${what}, which names other files and holds no sound`);
	} finally {
		await handle.close();
	}
}

/** What ffmpeg said of a file whose format is not among those; null when it said no such thing. */
export function refusedFormat(path: string, stderr: string): AgyError | null {
	const [, format] = REFUSED_FORMAT.exec(toPlainText(stderr)) ?? [];
	return format === undefined ? null : refused(toPlainText(path), `of a kind that is not read (${format})`);
}

/** What the head of a file shows it to be a list of; null when nothing does. */
export function listIn(head: Uint8Array): string | null {
	// A byte order mark, of UTF-16 too, whose other bytes are zero in what is looked for.
	const text = Buffer.from(head)
		.toString("latin1")
		.replace(/^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, "")
		.replaceAll("\0", "")
		.replaceAll("\r", "\n")
		.trimStart();
	const isText = !BINARY.test(text);
	return isText ? (LISTS.find(([, pattern]) => pattern.test(text))?.[0] ?? null) : null;
}

function refused(shownPath: string, why: string): AgyError {
	return failed(`${shownPath} is ${why}. Give the sound file itself, as WAV, MP3, Ogg, FLAC or M4A.`);
}

function failed(message: string, cause?: unknown): AgyError {
	return new AgyError("recording-failed", message, { cause });
}
