/**
 * One text of a step that grows in its row: what of a new version was not said yet. Works on UTF-8 bytes, so that an
 * append costs a comparison and the decoding of what is new, however long the text is. Pure.
 */

export type TextChange = {
	readonly text: string;
	/** It is the whole text, and what was said before does not hold. */
	readonly replaces?: true;
};

const NO_BYTES = new Uint8Array(0);

export class GrowingText {
	/** What was said: ends at the end of a character, unless it is ragged. A view into the newest version. */
	#said: Uint8Array = NO_BYTES;
	/** What was said last ended in bytes that are no character. */
	#isRagged = false;

	get isEmpty(): boolean {
		return this.#said.length === 0;
	}

	/**
	 * What there is to say after the version `now`; null when nothing. Until it is final, an end that may be half a
	 * character is held back: agy writes one as U+FFFD and corrects it with the next version.
	 */
	advance(now: Uint8Array, isFinal: boolean): TextChange | null {
		const soundEnd = endOfCharacters(now);
		const end = isFinal ? now.length : soundEnd;
		const said = this.#said;
		const visible = end === now.length ? now : now.subarray(0, end);
		if (startsWith(visible, said)) {
			if (visible.length === said.length) {
				this.#keep(visible, isFinal, this.#isRagged);
				return null;
			}
			if (!this.#isRagged) {
				this.#keep(visible, isFinal, end > soundEnd);
				return { text: decode(visible, said.length) };
			}
		} else if (end < now.length && startsWith(said, visible)) {
			return null; // The held end may bring back what is missing.
		}
		this.#keep(visible, isFinal, end > soundEnd);
		return said.length === 0 ? { text: decode(visible, 0) } : { text: decode(visible, 0), replaces: true };
	}

	/** The same for a version that is not whole: it only adds, and never takes back. */
	extend(now: Uint8Array): TextChange | null {
		const visible = now.subarray(0, endOfCharacters(now));
		return startsWith(visible, this.#said) && !this.#isRagged ? this.advance(visible, false) : null;
	}

	/** A view keeps its whole row alive; a final text may stay for long. */
	#keep(said: Uint8Array, isFinal: boolean, isRagged: boolean): void {
		this.#said = isFinal && said.buffer.byteLength > said.length ? said.slice() : said;
		this.#isRagged = isRagged;
	}
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
	return bytes.length >= start.length && Buffer.compare(bytes.subarray(0, start.length), start) === 0;
}

function decode(bytes: Uint8Array, from: number): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8", from);
}

/** Where the last whole character ends that is no U+FFFD (EF BF BD) and no half of a surrogate pair (ED A0..BF xx). */
function endOfCharacters(bytes: Uint8Array): number {
	let end = bytes.length;
	for (;;) {
		const start = startOfLastCharacter(bytes, end);
		if (start < 0) return end;
		const lead = bytes[start] as number;
		const second = bytes[start + 1] ?? 0;
		const isReplacement = lead === 0xef && second === 0xbf && bytes[start + 2] === 0xbd;
		const isHalf = lead === 0xed && second >= 0xa0;
		if (end - start >= lengthOf(lead) && !isReplacement && !isHalf) return end;
		end = start;
	}
}

/** Where the character begins whose bytes are the last before `end`; -1 when these are no character's. */
function startOfLastCharacter(bytes: Uint8Array, end: number): number {
	for (let at = end - 1; at >= Math.max(0, end - 4); at--) {
		const byte = bytes[at] as number;
		if (byte >= 0xc0) return at;
		if (byte < 0x80) return -1;
	}
	return -1;
}

function lengthOf(lead: number): number {
	if (lead >= 0xf0) return 4;
	return lead >= 0xe0 ? 3 : 2;
}
