/**
 * A reader of the protobuf wire format: one pass over the bytes, no schema, no copies, nothing known about agy. Every
 * bound is checked and nothing throws. `next` takes a whole field, so whoever does not look at a value cannot lose the
 * place: an unknown field, a group or a value of an unexpected wire type is passed over by what it is.
 * Format: https://protobuf.dev/programming-guides/encoding/
 */

/** How a field's value is stored. Groups (3, 4) are passed over; 6 and 7 do not exist. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** Messages and groups inside one another; a message deeper than that is passed over unread. */
const MAX_DEPTH = 32;
/** Fields of one blob; a reader stops there. No blob of this size is known, and 10,000 search hits have 50,000. */
const MAX_FIELDS = 2 ** 20;
/** A blob is read up to here. SQLite holds blobs of up to 1 GB; texts and tool outputs of some MB are known. */
const MAX_BLOB_BYTES = 64 * 1024 * 1024;
/** A tag has 32 bits: the field number, then three bits of wire type. */
const MAX_TAG_BYTES = 5;
/** So short, ASCII is put together here: a call into the UTF-8 decoder costs more. */
const SHORT_TEXT_BYTES = 8;

const NO_BYTES = new Uint8Array(0);
const TWO_32 = 2 ** 32;

/**
 * `torn`: the blob ends inside a field, as one does that is not written to its end. `corrupt`: it is no protobuf. A text
 * or message that is torn is read as far as it is there.
 */
export type WireFault = "torn" | "corrupt";

export class WireReader {
	/** The field that `next` came to. */
	field = 0;
	/** What ended the blob before its end; null while it is sound. What was read before it holds. */
	fault: WireFault | null = null;
	/** A message inside is broken or too deep, or the blob is above a cap: something of it was passed over. */
	isDamaged = false;
	readonly #bytes: Buffer;
	readonly #isCut: boolean;
	readonly #blobEnd: number;
	/** Where the next field begins, and where the message that is being read ends. */
	#at = 0;
	#end: number;
	/** Of each message around it: its end, the field that was entered, and where that one's value begins. */
	readonly #outer: number[] = [];
	#depth = 0;
	#fieldCount = 0;
	/** The message being read is over before its end. */
	#isBroken = false;
	#wireType = 0;
	/** Where the value is; of a length-delimited one, behind the length. */
	#from = 0;
	#to = 0;
	/** A varint's 64 bits, as two signed halves. */
	#low = 0;
	#high = 0;

	constructor(bytes: Uint8Array) {
		this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.#isCut = bytes.byteLength > MAX_BLOB_BYTES;
		this.#blobEnd = this.#isCut ? MAX_BLOB_BYTES : bytes.byteLength;
		this.#end = this.#blobEnd;
	}

	/** Goes to the next field of the message; false at its end, and where it cannot be read any further. */
	next(): boolean {
		if (this.#at >= this.#end || this.#isBroken) return false;
		if (++this.#fieldCount > MAX_FIELDS) return this.#stop();
		const tag = this.#readTag();
		if (tag === 0) return false;
		this.field = tag >>> 3;
		this.#wireType = tag & 7;
		return this.#takeValue(0);
	}

	/** Goes into the message that the field holds, until `leave`. False, and nothing happened, when it holds none. */
	enter(): boolean {
		if (this.#wireType !== LENGTH_DELIMITED) return false;
		if (this.#depth >= MAX_DEPTH) {
			this.isDamaged = true;
			return false;
		}
		this.#depth++;
		this.#outer.push(this.#end, this.field, this.#from);
		this.#at = this.#from;
		this.#end = this.#to;
		this.#isBroken = this.#fieldCount > MAX_FIELDS;
		return true;
	}

	/** Back to the field that was entered, however much of its message was read. */
	leave(): void {
		this.#depth--;
		this.#at = this.#to = this.#end;
		this.#from = this.#outer.pop() ?? 0;
		this.field = this.#outer.pop() ?? 0;
		this.#end = this.#outer.pop() ?? 0;
		this.#wireType = LENGTH_DELIMITED;
		this.#isBroken = this.#fieldCount > MAX_FIELDS;
	}

	// --- values: each gives what the field holds, or `otherwise` when its wire type is another one -----------------

	/** UTF-8; what is not becomes U+FFFD. A byte order mark stays. */
	text(otherwise: string): string {
		return this.#wireType === LENGTH_DELIMITED ? this.#decode(this.#from, this.#to) : otherwise;
	}

	/** The first `maxBytes` of it, without a character that is cut there. */
	textStart(otherwise: string, maxBytes: number): string {
		if (this.#wireType !== LENGTH_DELIMITED) return otherwise;
		let to = Math.min(this.#to, this.#from + maxBytes);
		if (to < this.#to) while (to > this.#from && ((this.#bytes[to] as number) & 0xc0) === 0x80) to--;
		return this.#decode(this.#from, to);
	}

	/** The text that stands in `field` of the message that the current field holds; the start of it, as above. */
	textIn(field: number, otherwise: string, maxBytes = MAX_BLOB_BYTES): string {
		if (!this.enter()) return otherwise;
		let text = otherwise;
		while (this.next()) if (this.field === field) text = this.textStart(text, maxBytes);
		this.leave();
		return text;
	}

	/** A google.protobuf.Timestamp {1 seconds, 2 nanoseconds}, as Unix time in ms. */
	timestampMs<T>(otherwise: T): number | T {
		if (!this.enter()) return otherwise;
		let seconds = 0;
		let nanos = 0;
		while (this.next()) {
			if (this.field === 1) seconds = this.int(seconds);
			else if (this.field === 2) nanos = this.int32(nanos);
		}
		this.leave();
		return seconds * 1_000 + nanos / 1e6;
	}

	/** A view into the blob, not a copy. */
	bytes(otherwise: Uint8Array): Uint8Array {
		if (this.#wireType !== LENGTH_DELIMITED) return otherwise;
		return this.#from === this.#to ? NO_BYTES : this.#bytes.subarray(this.#from, this.#to);
	}

	/** An int32: also one that was written without its sign extension. */
	int32(otherwise: number): number {
		return this.#wireType === VARINT ? this.#low : otherwise;
	}

	/** An int64 as a number: the nearest one outside of ±2^53. */
	int(otherwise: number): number {
		return this.#wireType === VARINT ? this.#high * TWO_32 + (this.#low >>> 0) : otherwise;
	}

	/** A uint64 as a number: the nearest one from 2^53 on. */
	uint(otherwise: number): number {
		return this.#wireType === VARINT ? (this.#high >>> 0) * TWO_32 + (this.#low >>> 0) : otherwise;
	}

	/** All 64 bits of a varint, signed. */
	bigInt(otherwise: bigint): bigint {
		if (this.#wireType !== VARINT) return otherwise;
		return (BigInt(this.#high) << 32n) | BigInt(this.#low >>> 0);
	}

	bool(otherwise: boolean): boolean {
		return this.#wireType === VARINT ? (this.#low | this.#high) !== 0 : otherwise;
	}

	float(otherwise: number): number {
		return this.#wireType === FIXED32 ? this.#bytes.readFloatLE(this.#from) : otherwise;
	}

	double(otherwise: number): number {
		return this.#wireType === FIXED64 ? this.#bytes.readDoubleLE(this.#from) : otherwise;
	}

	fixed32(otherwise: number): number {
		return this.#wireType === FIXED32 ? this.#bytes.readUInt32LE(this.#from) : otherwise;
	}

	/** Signed. */
	fixed64(otherwise: bigint): bigint {
		return this.#wireType === FIXED64 ? this.#bytes.readBigInt64LE(this.#from) : otherwise;
	}

	/** Adds one value of a repeated scalar, or all of a packed run: up to where that is broken. */
	numbers(into: number[], kind: "int" | "uint" | "float" | "double"): void {
		const wireType = kind === "float" ? FIXED32 : kind === "double" ? FIXED64 : VARINT;
		if (this.#wireType === wireType) {
			into.push(this[kind](0));
			return;
		}
		if (!this.enter()) return;
		while (this.#at < this.#end && !this.#isBroken) {
			this.#wireType = wireType;
			if (this.#takeValue(0)) into.push(this[kind](0));
		}
		this.leave();
	}

	// --- the wire --------------------------------------------------------------------------------------------------

	/** A tag, or 0 where there is none: a tag's field number is not 0. */
	#readTag(): number {
		const bytes = this.#bytes;
		let tag = bytes[this.#at] as number;
		if (tag < 0x80) {
			this.#at++;
			if (tag < 8) this.#fail("corrupt");
			return tag < 8 ? 0 : tag;
		}
		tag &= 0x7f;
		for (let count = 1; count < MAX_TAG_BYTES; count++) {
			const at = this.#at + count;
			if (at >= this.#end) return this.#lacks();
			const byte = bytes[at] as number;
			tag += (byte & 0x7f) * 2 ** (7 * count);
			if (byte >= 0x80) continue;
			if (tag < 8 || tag >= TWO_32) break;
			this.#at = at + 1;
			return tag;
		}
		this.#fail("corrupt");
		return 0;
	}

	/** Passes the value, and notes where it is or what it is. */
	#takeValue(groupDepth: number): boolean {
		switch (this.#wireType) {
			case VARINT:
				return this.#takeVarint();
			case LENGTH_DELIMITED:
				return this.#takeLength();
			case FIXED64:
				return this.#takeFixed(8);
			case FIXED32:
				return this.#takeFixed(4);
			case START_GROUP:
				return this.#passGroup(groupDepth);
			default:
				return this.#fail("corrupt");
		}
	}

	#takeVarint(): boolean {
		const bytes = this.#bytes;
		const end = this.#end;
		let at = this.#at;
		if (at >= end) return this.#lacks() !== 0;
		let byte = bytes[at++] as number;
		if (byte < 0x80) {
			this.#at = at;
			this.#low = byte;
			this.#high = 0;
			return true;
		}
		let low = byte & 0x7f;
		let high = 0;
		for (let shift = 7; byte >= 0x80; shift += 7) {
			if (shift > 63) return this.#fail("corrupt");
			if (at >= end) return this.#lacks() !== 0;
			byte = bytes[at++] as number;
			const bits = byte & 0x7f;
			// A shift counts modulo 32, so each half has its own.
			if (shift < 28) low |= bits << shift;
			else if (shift === 28) {
				low |= bits << 28;
				high = bits >>> 4;
			} else if (shift < 63) high |= bits << (shift - 32);
			else if (byte > 1) return this.#fail("corrupt");
			else high |= bits << 31;
		}
		this.#at = at;
		this.#low = low;
		this.#high = high;
		return true;
	}

	#takeLength(): boolean {
		const byte = this.#at < this.#end ? (this.#bytes[this.#at] as number) : 0x80;
		let length = byte;
		if (byte < 0x80) this.#at++;
		else {
			if (!this.#takeVarint()) return false;
			if (this.#high !== 0 || this.#low < 0) return this.#fail("corrupt");
			length = this.#low;
		}
		return this.#takeFixed(length);
	}

	#takeFixed(length: number): boolean {
		if (length > this.#end - this.#at) {
			if (this.#wireType !== LENGTH_DELIMITED || !this.#isTornOff()) return this.#lacks() !== 0;
			this.#lacks();
			this.#from = this.#at;
			this.#to = this.#at = this.#end;
			return true;
		}
		this.#from = this.#at;
		this.#to = this.#at += length;
		return true;
	}

	/** To behind the end of the group that the current field starts. Afterwards the field is still the current one. */
	#passGroup(depth: number): boolean {
		const field = this.field;
		if (depth >= MAX_DEPTH) return this.#fail("corrupt");
		for (;;) {
			if (this.#at >= this.#end) return this.#lacks() !== 0;
			if (++this.#fieldCount > MAX_FIELDS) return this.#stop();
			const tag = this.#readTag();
			if (tag === 0) return false;
			this.field = tag >>> 3;
			this.#wireType = tag & 7;
			if (this.#wireType === END_GROUP) break;
			if (!this.#takeValue(depth + 1)) return false;
		}
		if (this.field !== field) return this.#fail("corrupt");
		this.#wireType = START_GROUP;
		return true;
	}

	/** The message ends where the blob does and should not: the blob itself, or a message that is torn with it. */
	#isTornOff(): boolean {
		return this.#depth === 0 || (this.#end === this.#blobEnd && (this.fault === "torn" || this.#isCut));
	}

	/** The message ends inside a field. A message within another one has a known length: there it is no cut. */
	#lacks(): 0 {
		if (this.#depth === 0 && this.#isCut) this.#stop();
		else this.#fail("torn");
		return 0;
	}

	#fail(fault: WireFault): false {
		this.#isBroken = true;
		if (this.#depth === 0) this.fault = fault;
		else this.isDamaged = true;
		return false;
	}

	/** A cap is reached. */
	#stop(): false {
		this.#isBroken = true;
		this.isDamaged = true;
		return false;
	}

	/** As UTF-8, by its absence: an encoding that is named is looked up each time. */
	#decode(from: number, to: number): string {
		const bytes = this.#bytes;
		if (to - from > SHORT_TEXT_BYTES) return bytes.toString(undefined, from, to);
		let text = "";
		for (let at = from; at < to; at++) {
			const byte = bytes[at] as number;
			if (byte >= 0x80) return bytes.toString(undefined, from, to);
			text += String.fromCharCode(byte);
		}
		return text;
	}
}
