/**
 * A tool's result on its way to agy without holding up pi's screen. Images are most of its bytes, and turning them into
 * JSON takes tenths of a second: the SDK is given a short placeholder for each, and the data is put in its place slice by
 * slice while the response is written. Text and structured content have to become JSON in one go and are cut.
 */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonValue } from "../../shared/events.ts";
import type { CallResult, ContentBlock } from "./mcp-server.ts";

/** All text of a result: more than a model should be given, and a few milliseconds of work. */
export const MAX_TEXT_CHARS = 400_000;
/** Keys, values and characters of structured content. */
export const MAX_STRUCTURED_CHARS = 400_000;
/** All image data of a result, in base64: three of the largest images that pi makes. */
export const MAX_IMAGE_CHARS = 16 * 1024 * 1024;
/** Smaller ones are not worth a placeholder. */
const MIN_SPLICED_CHARS = 16 * 1024;
/** Written and checked at a time: well below a millisecond. A multiple of 4, as a group of base64 has 4 characters. */
const SLICE_CHARS = 64 * 1024;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const UNPADDED_BASE64 = /^(?:[A-Za-z0-9+/]{4})*$/;

export class LargeResult {
	/** Image data by placeholder, in the order in which they appear. */
	readonly #images = new Map<string, string>();

	/** The result with placeholders, within the limits. What was left out is said in its place. */
	async shrink(result: CallResult): Promise<CallResult> {
		let textChars = MAX_TEXT_CHARS;
		let imageChars = MAX_IMAGE_CHARS;
		const content: ContentBlock[] = [];
		for (const block of result.content) {
			if (block.type === "text") {
				content.push(textChars > 0 ? { type: "text", text: cut(block.text, textChars) } : note("Text was left out."));
				textChars -= block.text.length;
				continue;
			}
			imageChars -= block.data.length;
			if (imageChars < 0) content.push(note(`An image (${block.mimeType}) was left out: it is too large.`));
			// Only what needs no escaping may be put into JSON as it is.
			else if (!(await isBase64(block.data)))
				content.push(note(`An image (${block.mimeType}) was left out: it is damaged.`));
			else content.push({ ...block, data: this.#replace(block.data) });
		}
		const { structuredContent, ...rest } = result;
		if (!structuredContent) return { ...rest, content };
		if (isWithin(structuredContent, MAX_STRUCTURED_CHARS)) return { ...rest, content, structuredContent };
		return { ...rest, content: [...content, note("Structured content was left out: it is too large.")] };
	}

	/**
	 * Writes a piece of the response with the data in the place of its placeholders. A placeholder never spans two pieces,
	 * as the SDK hands over whole messages. Rejects when `signal` ends the response.
	 */
	async write(response: Writable, piece: Uint8Array, signal: AbortSignal): Promise<void> {
		let rest = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
		for (const [placeholder, data] of this.#images) {
			const start = rest.indexOf(placeholder, 0, "latin1");
			if (start < 0) continue;
			this.#images.delete(placeholder);
			await writeOne(response, rest.subarray(0, start), signal);
			for (let index = 0; index < data.length; index += SLICE_CHARS) {
				await writeOne(response, Buffer.from(data.slice(index, index + SLICE_CHARS), "latin1"), signal);
				await nextTurn(); // The socket may take all of it at once, and pi has other work.
			}
			rest = rest.subarray(start + placeholder.length);
		}
		await writeOne(response, rest, signal);
	}

	#replace(data: string): string {
		if (data.length < MIN_SPLICED_CHARS) return data;
		// Nobody can guess it, and it is base64 itself.
		const placeholder = randomBytes(24).toString("hex");
		this.#images.set(placeholder, data);
		return placeholder;
	}
}

async function writeOne(response: Writable, piece: Uint8Array, signal: AbortSignal): Promise<void> {
	signal.throwIfAborted();
	if (!response.write(piece)) await once(response, "drain", { signal });
}

async function isBase64(data: string): Promise<boolean> {
	for (let index = 0; index < data.length; index += SLICE_CHARS) {
		const isLast = index + SLICE_CHARS >= data.length;
		if (!(isLast ? BASE64 : UNPADDED_BASE64).test(data.slice(index, index + SLICE_CHARS))) return false;
		if (!isLast) await nextTurn();
	}
	return true;
}

/** Stops counting at the limit, however large the value is. */
function isWithin(value: JsonValue, limit: number): boolean {
	let remaining = limit;
	const waiting: JsonValue[] = [value];
	while (waiting.length > 0 && remaining >= 0) {
		const next = waiting.pop();
		remaining -= typeof next === "string" ? next.length : 1;
		if (typeof next !== "object" || next === null) continue;
		for (const [key, child] of Object.entries(next)) {
			remaining -= key.length;
			waiting.push(child);
		}
	}
	return remaining >= 0;
}

function cut(text: string, maxChars: number): string {
	return text.length <= maxChars
		? text
		: `${text.slice(0, maxChars)}\n[cut: ${text.length - maxChars} more characters]`;
}

function note(text: string): ContentBlock {
	return { type: "text", text: `[${text}]` };
}
