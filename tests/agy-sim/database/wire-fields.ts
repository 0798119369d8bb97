/**
 * Takes a message apart into its fields as they lie on the wire, for the rewrites agy does to old rows: a status changed in
 * place, a large part left out. Only for bytes this simulator wrote; what it cannot read is returned as undefined.
 */
import { joinFields, varintField, WIRE } from "./protobuf-writer.ts";

type WireField = {
	readonly field: number;
	/** Tag, length and content. */
	readonly whole: Buffer;
	/** Content of a length-delimited field, else empty. */
	readonly content: Buffer;
};

export function splitFields(message: Buffer): readonly WireField[] | undefined {
	const fields: WireField[] = [];
	for (let at = 0; at < message.length; ) {
		const key = readVarint(message, at);
		if (key === undefined) return undefined;
		const end = fieldEnd(message, key.end, key.value % 8);
		if (end === undefined || end.at > message.length) return undefined;
		fields.push({
			field: Math.floor(key.value / 8),
			whole: message.subarray(at, end.at),
			content: message.subarray(end.contentAt, end.at),
		});
		at = end.at;
	}
	return fields;
}

/** The same step with another status (field 4); unreadable ones stay as they are. */
export function withStatus(payload: Buffer, status: number): Buffer {
	const fields = splitFields(payload);
	if (fields === undefined) return payload;
	return joinFields(...fields.map(({ field, whole }) => (field === 4 ? varintField(4, status) : whole)));
}

/** The same message without the given fields. */
export function withoutFields(message: Buffer, left: readonly number[]): Buffer {
	const fields = splitFields(message);
	if (fields === undefined) return message;
	return joinFields(...fields.filter(({ field }) => !left.includes(field)).map(({ whole }) => whole));
}

function fieldEnd(message: Buffer, at: number, wire: number) {
	switch (wire) {
		case WIRE.varint: {
			const value = readVarint(message, at);
			return value === undefined ? undefined : { contentAt: value.end, at: value.end };
		}
		case WIRE.fixed64:
			return { contentAt: at + 8, at: at + 8 };
		case WIRE.fixed32:
			return { contentAt: at + 4, at: at + 4 };
		case WIRE.delimited: {
			const length = readVarint(message, at);
			return length === undefined ? undefined : { contentAt: length.end, at: length.end + length.value };
		}
		default:
			return undefined; // groups, which only hazards have
	}
}

function readVarint(message: Buffer, start: number): { readonly value: number; readonly end: number } | undefined {
	let value = 0;
	for (let at = start; at < message.length; at++) {
		const byte = message[at] ?? 0;
		value += (byte & 0x7f) * 2 ** (7 * (at - start));
		if (byte < 0x80) return { value, end: at + 1 };
	}
	return undefined;
}
