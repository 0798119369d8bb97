/**
 * A lock between pi processes: a file that exists while it is held and names its owner. The lock of an owner that is
 * proven dead is taken over.
 */

import { randomUUID } from "node:crypto";
import { link, readFile, rm, stat, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { draftOf } from "./drafts.ts";
import { isAlive, isIdentity, ownIdentity, type ProcessIdentity } from "./processes/proof.ts";
import { removeOwn, removeUntilDone } from "./removal.ts";

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
	// The mark tells this lock from a later one of this process.
	const content = JSON.stringify({ ...(await ownIdentity()), mark: randomUUID() });
	if (await createWith(path, content)) return () => release(path, content);
	if (!(await removeIfAbandoned(path))) return null;
	return (await createWith(path, content)) ? () => release(path, content) : null;
}

/** Throws when the disk does not let go of it; it is tried again then, unless another lock stands there by now. */
async function release(path: string, content: string): Promise<void> {
	let isFirst = true;
	await removeUntilDone(async () => {
		const isOurs = isFirst || (await isStill(path, content));
		isFirst = false;
		if (isOurs) await rm(path, { force: true });
	});
}

/** Throws when it cannot be read. */
async function isStill(path: string, content: string): Promise<boolean> {
	try {
		return (await readFile(path, "utf8")) === content;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
		throw error;
	}
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
	try {
		await writeFile(draft, content, { mode: 0o600 });
		await link(draft, path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	} finally {
		await removeOwn(draft).catch(() => {}); // It does not undo the lock, and is tried again.
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
