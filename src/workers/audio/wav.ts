/**
 * Whether bytes are one whole RIFF/WAVE file of 16-bit PCM, and how long it is. The sizes it names must fit the file: a
 * recorder writes them last, so a file that was torn off shows.
 */

import { type ContainerCheck, problem } from "./container-check.ts";

const RIFF_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
const FORMAT_BYTES = 16;
const FORMAT_PCM = 1;
const BITS_PER_SAMPLE = 16;

export function checkWav(file: Uint8Array): ContainerCheck {
	const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
	if (bytes.length === 0) return problem("The WAV file is empty.");
	const isWave = bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, RIFF_HEADER_BYTES) === "WAVE";
	if (!isWave) return problem("The file is no WAV file, or damaged.");
	if (bytes.readUInt32LE(4) + CHUNK_HEADER_BYTES !== bytes.length)
		return problem("The WAV file is not as long as it says.");
	let format: { readonly bytesPerSecond: number; readonly blockBytes: number } | null = null;
	for (let at = RIFF_HEADER_BYTES; at + CHUNK_HEADER_BYTES <= bytes.length; ) {
		const name = bytes.toString("latin1", at, at + 4);
		const size = bytes.readUInt32LE(at + 4);
		const start = at + CHUNK_HEADER_BYTES;
		if (start + size > bytes.length) return problem(`The part "${printable(name)}" of the WAV file is cut off.`);
		if (name === "fmt ") {
			const found = readFormat(bytes.subarray(start, start + size));
			if (typeof found === "string") return problem(found);
			format = found;
		} else if (name === "data") {
			if (format === null) return problem("The WAV file does not say how its sound is stored.");
			if (size === 0) return problem("The WAV file holds no sound.");
			if (size % format.blockBytes !== 0) return problem("The sound of the WAV file ends within a sample.");
			return { ok: true, durationMs: (size / format.bytesPerSecond) * 1000 };
		}
		at = start + size + (size % 2); // Parts start at even places.
	}
	return problem("The WAV file holds no sound.");
}

function readFormat(part: Buffer): { readonly bytesPerSecond: number; readonly blockBytes: number } | string {
	if (part.length < FORMAT_BYTES) return "The WAV file does not say how its sound is stored.";
	const channels = part.readUInt16LE(2);
	const rate = part.readUInt32LE(4);
	const bytesPerSecond = part.readUInt32LE(8);
	const blockBytes = part.readUInt16LE(12);
	const isPcm = part.readUInt16LE(0) === FORMAT_PCM && part.readUInt16LE(14) === BITS_PER_SAMPLE;
	if (!isPcm) return "The WAV file holds no 16-bit PCM.";
	const isSound = channels > 0 && rate > 0;
	const isConsistent = blockBytes === (channels * BITS_PER_SAMPLE) / 8 && bytesPerSecond === rate * blockBytes;
	return isSound && isConsistent ? { bytesPerSecond, blockBytes } : "The WAV file contradicts itself about its format.";
}

function printable(name: string): string {
	return name.replaceAll(/[^ -~]/g, "?");
}
