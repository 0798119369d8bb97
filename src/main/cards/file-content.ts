/** What stands in a file, for a card: read without blocking, and only when it is a text of bearable size. */

import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";

/** Two of these and the diff between them are held for a card; source files are far smaller. */
export const MAX_FILE_BYTES = 256 * 1024;

/** `changedMs` is when it was written last, in milliseconds since 1970. */
export type FileContent =
	| { readonly kind: "missing" }
	| { readonly kind: "text"; readonly text: string; readonly changedMs: number }
	/** No text, or too much of it. */
	| { readonly kind: "binary" | "huge"; readonly sizeBytes: number; readonly changedMs: number }
	/** A folder, a pipe, no permission: `reason` in the system's words. */
	| { readonly kind: "unreadable"; readonly reason: string };

/** Reads the file at `path`. Never throws. */
export async function readContent(path: string): Promise<FileContent> {
	try {
		const { size, mtimeMs } = await requireFile(path);
		if (size > MAX_FILE_BYTES) return { kind: "huge", sizeBytes: size, changedMs: mtimeMs };
		const bytes = await readUpTo(path, MAX_FILE_BYTES);
		if (bytes === null) return { kind: "huge", sizeBytes: size, changedMs: mtimeMs }; // It has just grown.
		return bytes.includes(0)
			? { kind: "binary", sizeBytes: bytes.length, changedMs: mtimeMs }
			: { kind: "text", text: bytes.toString("utf8"), changedMs: mtimeMs };
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		return code === "ENOENT" || code === "ENOTDIR" ? { kind: "missing" } : { kind: "unreadable", reason: message };
	}
}

/** The whole file, or null when it has more than `maxBytes`. Does not wait for a pipe that took the file's place. */
export async function readUpTo(path: string, maxBytes: number): Promise<Buffer | null> {
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		const buffer = Buffer.alloc(maxBytes + 1);
		let length = 0;
		while (length < buffer.length) {
			const { bytesRead } = await file.read(buffer, length, buffer.length - length);
			if (bytesRead === 0) return Buffer.from(buffer.subarray(0, length));
			length += bytesRead;
		}
		return null;
	} finally {
		await file.close();
	}
}

async function requireFile(path: string): Promise<{ readonly size: number; readonly mtimeMs: number }> {
	const stats = await stat(path);
	if (!stats.isFile()) throw new Error("it is no regular file");
	return stats;
}
