/**
 * A lock between pi processes: a file that exists while it is held and names its owner. The lock of an owner that is
 * proven dead is taken over.
 */

import { link, readFile, rm, stat, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { draftOf } from "./drafts.ts";
import { isAlive, isIdentity, ownIdentity, type ProcessIdentity } from "./processes/proof.ts";

const RETRY_MS = 15;
/** A holder reads, changes and replaces one small file. One that takes longer is stopped, or hangs. */
const LOCK_TIMEOUT_MS = 10_000;
/** A take-over lasts microseconds; its mark outlives this only when its maker was killed in the middle. */
const TAKE_OVER_STALE_MS = 5_000;

export type Release = () => Promise<void>;

/** Waits for the lock. The directory must exist. Throws when it is not to be had within `timeoutMs`. */
export async function lock(path: string, timeoutMs = LOCK_TIMEOUT_MS): Promise<Release> {
	const endMs = performance.now() + timeoutMs;
	for (;;) {
		const release = await tryLock(path);
		if (release) return release;
		if (performance.now() > endMs) throw new Error(await toTimeoutMessage(path, timeoutMs));
		await delay(RETRY_MS);
	}
}

async function toTimeoutMessage(path: string, timeoutMs: number): Promise<string> {
	const holder = await readFile(path, "utf8").then(
		(source) => `process ${toIdentity(source)?.pid ?? "unknown"} holds it`,
		(error: NodeJS.ErrnoException) => `it cannot be read (${error.code ?? error.message})`,
	);
	return `The lock ${path} was not to be had within ${timeoutMs / 1000} s: ${holder}.`;
}

/** The lock, or null while somebody else alive holds it. */
export async function tryLock(path: string): Promise<Release | null> {
	const owner = JSON.stringify(await ownIdentity());
	if (await createWith(path, owner)) return () => rm(path, { force: true });
	if (!(await removeIfAbandoned(path))) return null;
	return (await createWith(path, owner)) ? () => rm(path, { force: true }) : null;
}

/** Removes the lock of an owner that is proven dead. True when there was one; somebody else may hold it by now. */
export async function removeIfAbandoned(path: string): Promise<boolean> {
	if (!(await isAbandoned(path))) return false;
	await removeAbandoned(path);
	return true;
}

/** Creates the file with its whole content, or not at all. */
async function createWith(path: string, content: string): Promise<boolean> {
	const draft = draftOf(path);
	await writeFile(draft, content, { mode: 0o600 });
	try {
		await link(draft, path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	} finally {
		await rm(draft, { force: true });
	}
}

/** One process at a time looks again and removes, or the lock that another has just taken over would be removed. */
async function removeAbandoned(path: string): Promise<void> {
	const mark = `${path}.takeover`;
	if (!(await createWith(mark, ""))) {
		const ageMs = await stat(mark).then(
			(file) => Date.now() - file.mtimeMs,
			() => 0, // Its maker is done.
		);
		if (ageMs > TAKE_OVER_STALE_MS) await rm(mark, { force: true });
		return;
	}
	try {
		if (await isAbandoned(path)) await rm(path, { force: true });
	} finally {
		await rm(mark, { force: true });
	}
}

async function isAbandoned(path: string): Promise<boolean> {
	const source = await readFile(path, "utf8").catch(() => null); // Released in between, or not ours to read.
	if (source === null) return false;
	const owner = toIdentity(source);
	return owner === null || !(await isAlive(owner));
}

function toIdentity(source: string): ProcessIdentity | null {
	try {
		const owner: unknown = JSON.parse(source);
		return isIdentity(owner) ? owner : null;
	} catch {
		return null; // Not written by us, or by a version that is gone: nobody holds it.
	}
}
