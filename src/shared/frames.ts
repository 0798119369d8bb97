/**
 * msgpack encoding of everything that crosses a thread. Plain MessagePack: no records, no extensions, JSON-like values
 * and byte arrays only, so that any other tool can read a captured frame. The only msgpackr import.
 */

// Not the main entry: that one loads a native string extractor, which is slower on frames that carry text beyond ASCII.
import { Packr } from "msgpackr/pack";

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, moreTypes: false, variableMapSize: true });

/**
 * Encodes into an exact-size array of its own, which the caller may transfer. msgpackr answers with a view on a pooled
 * buffer; this is the one copy.
 */
export function encode(value: unknown): Uint8Array<ArrayBuffer> {
	return new Uint8Array(packr.pack(value));
}

/** Decodes one value. Throws on torn or foreign bytes; the caller names the port they came from. */
export function decode(bytes: Uint8Array): unknown {
	return packr.unpack(bytes);
}
