/**
 * Messages written as JSON in a scenario: {"20": {"1": "text", "12": 2}} is field 20 holding field 1 and field 12.
 * A value says how its field is written: a string is text, a number or a flag a varint, an object a nested message, a list
 * the field once for each element. Objects with one `$` key are everything else (see encodeField and encodeContent).
 * The shape encodes what it checks, so that a mistake shows when the scenario is read and not within a turn.
 */
import { ScenarioError, type Shape } from "../scenario/shape.ts";
import {
	bytesField,
	doubleField,
	fixed32Field,
	fixed64Field,
	floatField,
	groupField,
	packedField,
	tag,
	textField,
	timeField,
	varint,
	varintField,
	WIRE,
} from "./protobuf-writer.ts";

/** Field numbers to values; `{"$fields": [["5", …], ["1", 3]]}` keeps an order and repeats fields. */
export type MessageDescription = Readonly<Record<string, unknown>>;

const MAX_FIELD = 2 ** 29 - 1;

export const messageDescription: Shape<MessageDescription> = (value, path) => {
	if (!isObject(value)) throw new ScenarioError(`${path} must be an object of fields, not ${JSON.stringify(value)}`);
	try {
		encodeMessage(value);
	} catch (cause) {
		throw new ScenarioError(`${path}: ${cause instanceof Error ? cause.message : cause}`, { cause });
	}
	return value;
};

/** The bytes of a message without any tag or length before them. */
export function encodeMessage(message: MessageDescription): Buffer {
	const special = specialKey(message);
	if (special !== undefined) return encodeContent(special, message[special], message);
	return Buffer.concat(Object.entries(message).map(([key, value]) => encodeField(fieldNumber(key), value)));
}

/** The fields of a message in their order; undefined when it is written by its bytes. */
export function listFields(message: MessageDescription): readonly (readonly [string, unknown])[] | undefined {
	const special = specialKey(message);
	if (special === undefined) return Object.entries(message);
	return special === "$fields" ? (message.$fields as [string, unknown][]) : undefined;
}

function encodeField(field: number, value: unknown): Buffer {
	if (typeof value === "string") return textField(field, value);
	if (typeof value === "boolean") return varintField(field, value);
	if (typeof value === "number") return varintField(field, whole(value));
	if (Array.isArray(value)) return Buffer.concat(value.map((element) => encodeField(field, element)));
	if (!isObject(value)) throw new ScenarioError(`field ${field} cannot hold ${JSON.stringify(value)}`);
	const special = specialKey(value);
	const content = special === undefined ? undefined : value[special];
	switch (special) {
		case "$varint":
			return Buffer.concat([tag(field, WIRE.varint), varint(BigInt(String(content)), Number(value.bytes ?? 1))]);
		case "$packed":
			return packedField(field, (content as number[]).map(whole));
		case "$fixed32":
			return fixed32Field(field, Number(content));
		case "$fixed64":
			return fixed64Field(field, BigInt(String(content)));
		case "$float":
			return floatField(field, Number(content));
		case "$double":
			return doubleField(field, Number(content));
		case "$group":
			return groupField(field, encodeMessage(content as MessageDescription));
		case "$time":
			return timeField(field, content === "now" ? Date.now() : Number(content));
		default:
			return bytesField(field, encodeMessage(value));
	}
}

function encodeContent(special: string, content: unknown, whole: MessageDescription): Buffer {
	switch (special) {
		case "$fields":
			return Buffer.concat(
				(content as [string, unknown][]).map(([key, value]) => encodeField(fieldNumber(key), value)),
			);
		case "$hex":
			return fromHex(String(content));
		case "$bytes": // so many bytes that look like nothing in particular
			return opaqueBytes(Number(content));
		case "$repeat": // text over and over
			return Buffer.from(String(content).repeat(Number(whole.times ?? 1)));
		case "$cut": // a message short of its last bytes
			return encodeMessage(whole.of as MessageDescription).subarray(0, -Number(content));
		case "$append": // bytes after a message that is otherwise right
			return Buffer.concat([encodeMessage(whole.of as MessageDescription), fromHex(String(content))]);
		default:
			throw new ScenarioError(`"${special}" is not known here`);
	}
}

export function fromHex(hex: string): Buffer {
	const digits = hex.replaceAll(/\s/g, "");
	if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new ScenarioError(`"${hex.slice(0, 40)}" is not hexadecimal`);
	return Buffer.from(digits, "hex");
}

/** Stands for what agy encrypts or signs: fixed, and never valid as text or message. */
export function opaqueBytes(length: number): Buffer {
	return Buffer.from(Array.from({ length }, (_, index) => (index * 167 + 0xff) % 256));
}

function specialKey(value: MessageDescription): string | undefined {
	return Object.keys(value).find((key) => key.startsWith("$"));
}

function fieldNumber(key: string): number {
	const field = Number(key);
	if (!Number.isInteger(field) || field < 0 || field > MAX_FIELD)
		throw new ScenarioError(`"${key}" is no field number`);
	return field;
}

function whole(value: number): number {
	if (!Number.isSafeInteger(value)) throw new ScenarioError(`${value} is no whole number; use $float or $double`);
	return value;
}

function isObject(value: unknown): value is MessageDescription {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
