/** The end of a file that may be of any length. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";

/**
 * The lines in the last `maxBytes` bytes, without the first one when it is cut and not the only one. A line that
 * has just been begun is one, too.
 * Does not wait for a pipe that took the file's place. Throws when it is no file or cannot be read.
 */
export async function lastLines(path: string, maxBytes: number): Promise<readonly string[]> {
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		const stats = await file.stat();
		if (!stats.isFile()) throw new Error(`${path} is no regular file`);
		const length = Math.min(stats.size, maxBytes);
		const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stats.size - length);
		const lines = buffer.toString("utf8", 0, bytesRead).split("\n");
		if (lines.at(-1) === "") lines.pop();
		return stats.size > length && lines.length > 1 ? lines.slice(1) : lines;
	} finally {
		await file.close();
	}
}
