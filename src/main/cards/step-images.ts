/**
 * Images that agy made: it says nothing of where they are, they lie in the conversation's folder (`brain`). What is newer
 * than the step, is an image by its first bytes and lies in the folder by its real path, is shown once in a turn.
 */

import type { ImageContent } from "@earendil-works/pi-ai";
import { plainFilesIn } from "../plain-files.ts";
import { readUpTo } from "./file-content.ts";

export const IMAGE_TOOL = "generate_image";

/** Folders of a conversation that images are put into: its own, and where generated media are kept. */
const FOLDERS = ["", ".tempmediaStorage"];
/** pi keeps a result's images in its transcript as base64; models take no more than about 5 MB of that. */
const MAX_IMAGE_BYTES = 3 * 1024 * 1024;
const MAX_IMAGES = 4;
/** How much later than agy a busy pi may see a step begin; a file system's clock is some milliseconds behind, too. */
const LATE_MS = 2_000;

export type StepImages = { readonly summary: string; readonly images: readonly ImageContent[] };

export class GeneratedImages {
	/** Files of earlier steps, with the state they were shown in. */
	readonly #shown = new Set<string>();
	#last: Promise<unknown> = Promise.resolve();

	/**
	 * What was made in `folder` since a step began, newest first; `sinceMs` is when it was first seen, in milliseconds
	 * since 1970. Steps that ended together are looked after one by one. Never throws.
	 */
	collect(folder: string, sinceMs: number): Promise<StepImages> {
		const collected = this.#last.then(() => this.#collect(folder, sinceMs - LATE_MS));
		this.#last = collected;
		return collected;
	}

	async #collect(folder: string, sinceMs: number): Promise<StepImages> {
		const images: ImageContent[] = [];
		const lines: string[] = [];
		for (const file of (await plainFilesIn(folder, FOLDERS)).filter(({ changedMs }) => changedMs >= sinceMs)) {
			const key = `${file.path} ${file.changedMs}`;
			if (images.length === MAX_IMAGES || this.#shown.has(key)) continue;
			const isTooLarge = file.size > MAX_IMAGE_BYTES;
			const bytes = await readUpTo(file.path, MAX_IMAGE_BYTES).catch(() => null); // Gone or grown: named below.
			const mimeType = bytes && imageTypeOf(bytes);
			if (bytes !== null && mimeType === null) continue;
			this.#shown.add(key);
			if (bytes !== null && mimeType !== null) images.push({ type: "image", data: bytes.toString("base64"), mimeType });
			if (bytes !== null) lines.push(file.path);
			else if (isTooLarge && /\.(png|jpe?g|webp)$/i.test(file.name)) lines.push(`${file.path} (too large to be shown)`);
		}
		return { summary: lines.join("\n"), images };
	}
}

/** By the first bytes, whatever the name says; null when it is no image that pi takes. */
function imageTypeOf(bytes: Buffer): string | null {
	const head = bytes.toString("latin1", 0, 12);
	if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
	if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
	return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : null;
}
