/**
 * Protobuf on the wire: every function returns the bytes of one field, tag included. Written apart from any reader of the
 * project, so that the two cannot be wrong in the same way.
 */

export const WIRE = { varint: 0, fixed64: 1, delimited: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

const UINT64_MASK = (1n << 64n) - 1n;

/** Negative numbers become ten bytes, as int32 and int64 do. With `atLeastBytes` longer than needed, which is legal. */
export function varint(value: number | bigint, atLeastBytes = 1): Buffer {
	const bytes: number[] = [];
	let rest = BigInt(value) & UINT64_MASK;
	do {
		bytes.push(Number(rest & 0x7fn));
		rest >>= 7n;
	} while (rest > 0n || bytes.length < atLeastBytes);
	return Buffer.from(bytes.map((byte, index) => (index < bytes.length - 1 ? byte | 0x80 : byte)));
}

export function tag(field: number, wire: number): Buffer {
	return varint((BigInt(field) << 3n) | BigInt(wire));
}

export function varintField(field: number, value: number | bigint | boolean): Buffer {
	return Buffer.concat([tag(field, WIRE.varint), varint(typeof value === "boolean" ? Number(value) : value)]);
}

export function bytesField(field: number, bytes: Uint8Array): Buffer {
	return Buffer.concat([tag(field, WIRE.delimited), varint(bytes.length), bytes]);
}

export function textField(field: number, text: string): Buffer {
	return bytesField(field, Buffer.from(text, "utf8"));
}

/** Parts that are undefined are left out: an absent field is the default. */
export function messageField(field: number, ...parts: readonly (Uint8Array | undefined)[]): Buffer {
	return bytesField(field, joinFields(...parts));
}

export function joinFields(...parts: readonly (Uint8Array | undefined)[]): Buffer {
	return Buffer.concat(parts.filter((part) => part !== undefined));
}

export function packedField(field: number, values: readonly (number | bigint)[]): Buffer {
	return bytesField(field, Buffer.concat(values.map((value) => varint(value))));
}

export function doubleField(field: number, value: number): Buffer {
	const bytes = Buffer.alloc(8);
	bytes.writeDoubleLE(value);
	return Buffer.concat([tag(field, WIRE.fixed64), bytes]);
}

export function fixed64Field(field: number, value: number | bigint): Buffer {
	const bytes = Buffer.alloc(8);
	bytes.writeBigUInt64LE(BigInt(value) & UINT64_MASK);
	return Buffer.concat([tag(field, WIRE.fixed64), bytes]);
}

export function floatField(field: number, value: number): Buffer {
	const bytes = Buffer.alloc(4);
	bytes.writeFloatLE(value);
	return Buffer.concat([tag(field, WIRE.fixed32), bytes]);
}

export function fixed32Field(field: number, value: number): Buffer {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(value >>> 0);
	return Buffer.concat([tag(field, WIRE.fixed32), bytes]);
}

export function groupField(field: number, content: Uint8Array): Buffer {
	return Buffer.concat([tag(field, WIRE.startGroup), content, tag(field, WIRE.endGroup)]);
}

/** google.protobuf.Timestamp; zeros are absent like every default. */
export function timeField(field: number, timeMs: number): Buffer {
	const seconds = Math.floor(timeMs / 1000);
	const nanos = Math.round((timeMs - seconds * 1000) * 1e6);
	return messageField(field, varintField(1, seconds), nanos === 0 ? undefined : varintField(2, nanos));
}
