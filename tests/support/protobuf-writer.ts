/**
 * Protobuf bytes as short as a test can say them: `message([1, 15], [20, message([1, "text"])])`. A value says its wire
 * type: a number or bigint is a varint, a text or bytes are length-delimited; the others are built by name.
 */

export type FieldValue = number | bigint | boolean | string | Uint8Array | Raw;
export type Field = readonly [field: number, value: FieldValue];

/** Bytes that stand behind the tag as they are. */
type Raw = { readonly wireType: number; readonly bytes: Uint8Array };

export function message(...fields: readonly Field[]): Buffer {
	return Buffer.concat(fields.flatMap(([field, value]) => encodeField(field, value)));
}

/** Of 64 bits; negative values take ten bytes. */
export function varint(value: number | bigint, minBytes = 1): Buffer {
	let rest = BigInt.asUintN(64, BigInt(value));
	const bytes: number[] = [];
	do {
		bytes.push(Number(rest & 0x7fn) | 0x80);
		rest >>= 7n;
	} while (rest > 0n || bytes.length < minBytes);
	bytes.push((bytes.pop() as number) & 0x7f);
	return Buffer.from(bytes);
}

export function tag(field: number, wireType: number): Buffer {
	return varint(field * 8 + wireType);
}

/** A varint that takes more bytes than it has to. */
export function longVarint(value: number | bigint, bytes: number): Raw {
	return { wireType: 0, bytes: varint(value, bytes) };
}

export function fixed32(value: number): Raw {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(value >>> 0);
	return { wireType: 5, bytes };
}

export function float(value: number): Raw {
	const bytes = Buffer.alloc(4);
	bytes.writeFloatLE(value);
	return { wireType: 5, bytes };
}

export function fixed64(value: bigint): Raw {
	const bytes = Buffer.alloc(8);
	bytes.writeBigInt64LE(value);
	return { wireType: 1, bytes };
}

export function double(value: number): Raw {
	const bytes = Buffer.alloc(8);
	bytes.writeDoubleLE(value);
	return { wireType: 1, bytes };
}

/** A group of this field, with its end. */
export function group(field: number, ...fields: readonly Field[]): Raw {
	return { wireType: 3, bytes: Buffer.concat([message(...fields), tag(field, 4)]) };
}

/** A repeated scalar in its packed form. */
export function packed(...values: readonly (number | bigint | Raw)[]): Buffer {
	return Buffer.concat(values.map((value) => (typeof value === "object" ? value.bytes : varint(value))));
}

/** google.protobuf.Timestamp. */
export function timestamp(ms: number): Buffer {
	return message([1, Math.floor(ms / 1_000)], [2, (ms % 1_000) * 1_000_000]);
}

function encodeField(field: number, value: FieldValue): readonly Uint8Array[] {
	if (typeof value === "number" || typeof value === "bigint") return [tag(field, 0), varint(value)];
	if (typeof value === "boolean") return [tag(field, 0), varint(value ? 1 : 0)];
	if (typeof value === "string" || value instanceof Uint8Array) {
		const bytes = typeof value === "string" ? Buffer.from(value) : value;
		return [tag(field, 2), varint(bytes.length), bytes];
	}
	return [tag(field, value.wireType), value.bytes];
}
