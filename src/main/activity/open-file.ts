/**
 * Opens a file with the program that the user's system has for it, without a shell. The program is the user's from then on:
 * it is not ended with pi. A file that a system would run instead of show is not opened.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { extname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AgyError } from "../../shared/errors.ts";
import { findProgram } from "../programs.ts";

/** Documents, pictures, sounds, films. A page with scripts, or a file that starts a program, is none of them. */
const SHOWN = new Set([
	...[
		".md",
		".markdown",
		".txt",
		".log",
		".json",
		".jsonl",
		".yaml",
		".yml",
		".toml",
		".csv",
		".tsv",
		".diff",
		".patch",
	],
	...[".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".pdf"],
	...[".mp3", ".wav", ".ogg", ".opus", ".m4a", ".mp4", ".webm", ".mov"],
]);
/** One that cannot open the file says so at once; one that shows it may stay until it is closed. */
const FAILS_WITHIN_MS = 1_500;

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: "open", win32: "explorer" };

export function isShownSafely(path: string): boolean {
	return SHOWN.has(extname(path).toLowerCase());
}

/** `path` is absolute. Throws an AgyError when there is no program for it, or it fails at once. */
export async function openFile(
	path: string,
	{ searchPath, env }: { readonly searchPath: readonly string[]; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
	const name = OPENERS[process.platform] ?? "xdg-open";
	const program = await findProgram(name, searchPath);
	if (program === null) throw new AgyError("spawn-failed", `${name} was not found on PATH. The file is ${path}`);
	const child = spawn(program, [path], { env: { ...env }, stdio: "ignore", detached: true, windowsHide: true });
	child.on("error", () => {}); // Told by the wait below; behind it there is nobody left to tell.
	child.unref();
	const ended = new AbortController();
	try {
		const failed = once(child, "exit", { signal: ended.signal }).then(([code, signal]) => {
			// explorer exits 1 when all is well.
			if (process.platform !== "win32" && code !== 0)
				throw new Error(`${name} ended with ${signal ?? `code ${String(code)}`}`);
		});
		await Promise.race([failed, delay(FAILS_WITHIN_MS, undefined, { signal: ended.signal, ref: false })]);
	} catch (error) {
		throw new AgyError("spawn-failed", `The file could not be opened: ${(error as Error).message}. It is ${path}`, {
			cause: error,
		});
	} finally {
		ended.abort();
	}
}
