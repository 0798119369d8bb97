/**
 * Whether bytes are one whole stream of Opus in Ogg, and how long it is (RFC 3533, RFC 7845). Every page is proven by its
 * checksum; the packets in it are not decoded.
 *
 * A file that was torn off shows: its last page is incomplete or does not say that it is the last.
 */

import { type ContainerCheck, problem } from "./container-check.ts";

const HEADER_BYTES = 27;
const CAPTURE_PATTERN = 0x4f676753; // "OggS"
const CRC_POLYNOMIAL = 0x04c11db7;
const CRC_OFFSET = 22;
const CRC_BYTES = 4;
const FLAG_FIRST = 0x02;
const FLAG_LAST = 0x04;
/** A packet ends with a lacing value below this one. */
const LACING_GOES_ON = 255;
/** The granule position of a page on which no packet ends. */
const NO_GRANULE = -1n;
const OPUS_HEAD_BYTES = 19;
/** Granule positions count samples at 48 kHz, whatever was recorded. */
const GRANULES_PER_MS = 48;

type Page = {
	readonly isFirst: boolean;
	readonly isLast: boolean;
	readonly granule: bigint;
	readonly serial: number;
	readonly sequence: number;
	readonly endsPacket: boolean;
	readonly body: Buffer;
	/** Where the next one starts. */
	readonly end: number;
};

const CRC_TABLE = makeCrcTable();

export function checkOggOpus(file: Uint8Array): ContainerCheck {
	const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
	if (bytes.length === 0) return problem("The Ogg file is empty.");
	let first: Page | null = null;
	let preSkip = 0;
	let hasTags = false;
	let isEnded = false;
	let granule = NO_GRANULE;
	let index = 0;
	for (let at = 0; at < bytes.length; index++) {
		const page = readPage(bytes, at);
		if (typeof page === "string") return problem(`${page} (at byte ${at}).`);
		if (isEnded) return problem("The Ogg file goes on behind its last page.");
		if (page.isFirst !== (index === 0)) return problem("The Ogg file does not hold exactly one stream.");
		first ??= page;
		if (page.serial !== first.serial) return problem("The Ogg file holds more than one stream.");
		if (page.sequence !== (first.sequence + index) >>> 0) return problem(`Page ${index} of the Ogg file is missing.`);
		if (index === 0) {
			const head = readOpusHead(page.body);
			if (typeof head === "string") return problem(head);
			preSkip = head;
		} else if (!hasTags) {
			if (index === 1 && page.body.toString("latin1", 0, 8) !== "OpusTags")
				return problem("The Ogg file has no Opus comment header.");
			hasTags = page.endsPacket;
		} else if (page.granule !== NO_GRANULE) granule = page.granule;
		isEnded = page.isLast;
		at = page.end;
	}
	// Before the missing end: an encoder that was given nothing leaves the headers alone.
	if (granule === NO_GRANULE) return problem("The Ogg file holds no sound.");
	if (!isEnded) return problem("The Ogg file ends before its last page.");
	const durationMs = (Number(granule) - preSkip) / GRANULES_PER_MS;
	return durationMs > 0 ? { ok: true, durationMs } : problem("The Ogg file holds no sound.");
}

/** A page, or what is wrong with it. */
function readPage(bytes: Buffer, at: number): Page | string {
	if (at + HEADER_BYTES > bytes.length) return "The Ogg file is cut off within a page";
	if (bytes.readUInt32BE(at) !== CAPTURE_PATTERN) return "The file is no Ogg file, or damaged";
	if (bytes[at + 4] !== 0) return "The Ogg file has an unknown version";
	const lacing = bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + (bytes[at + 26] as number));
	const bodyStart = at + HEADER_BYTES + (bytes[at + 26] as number);
	let end = bodyStart;
	let endsPacket = false;
	for (const size of lacing) {
		end += size;
		if (size < LACING_GOES_ON) endsPacket = true;
	}
	if (end > bytes.length || bodyStart > bytes.length) return "The Ogg file is cut off within a page";
	if (checksum(bytes, at, end) !== bytes.readUInt32LE(at + CRC_OFFSET)) return "A page of the Ogg file is damaged";
	const flags = bytes[at + 5] as number;
	return {
		isFirst: (flags & FLAG_FIRST) !== 0,
		isLast: (flags & FLAG_LAST) !== 0,
		granule: bytes.readBigInt64LE(at + 6),
		serial: bytes.readUInt32LE(at + 14),
		sequence: bytes.readUInt32LE(at + 18),
		endsPacket,
		body: bytes.subarray(bodyStart, end),
		end,
	};
}

/** The pre-skip, or what is wrong. */
function readOpusHead(body: Buffer): number | string {
	if (body.toString("latin1", 0, 8) !== "OpusHead" || body.length < OPUS_HEAD_BYTES)
		return "The Ogg file does not hold Opus.";
	const version = body[8] as number;
	if (version >> 4 !== 0) return `The Opus stream has the unknown version ${version}.`;
	if (body[9] === 0) return "The Opus stream has no channel.";
	return body.readUInt16LE(10);
}

/** Over the page with its own checksum taken as 0. */
function checksum(bytes: Buffer, start: number, end: number): number {
	const field = start + CRC_OFFSET;
	const before = addToCrc(0, bytes, start, field);
	let crc = before;
	for (let byte = 0; byte < CRC_BYTES; byte++) crc = (crc << 8) ^ (CRC_TABLE[crc >>> 24] as number);
	return addToCrc(crc, bytes, field + CRC_BYTES, end) >>> 0;
}

function addToCrc(crc: number, bytes: Buffer, start: number, end: number): number {
	let sum = crc;
	for (let at = start; at < end; at++) sum = (sum << 8) ^ (CRC_TABLE[(sum >>> 24) ^ (bytes[at] as number)] as number);
	return sum;
}

/** Unreflected, without inversions, as RFC 3533 has it. */
function makeCrcTable(): Int32Array {
	return Int32Array.from({ length: 256 }, (_, byte) => {
		let crc = byte << 24;
		for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ CRC_POLYNOMIAL : crc << 1;
		return crc;
	});
}
