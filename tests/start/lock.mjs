// One lock file for everything that changes node_modules or dist, so that two starts at once take turns.
// 1. The file is created exclusively and holds the ids of the processes that work under it, one a line.
// 2. It counts as held while any of them lives: an npm that outlived a killed start still holds it. So does a young
//    empty file, whose maker is about to write its id.
// 3. A lock of the dead is removed under a second exclusive file, after reading it once more, so that of two waiting
//    starts none can remove the lock that the other has just taken.

import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_INTERVAL_MS = 200;
const MAX_WAIT_MS = 15 * 60_000;
/** Writing an id or removing a dead lock takes about a millisecond; an unfinished one this old was left by a crash. */
const LEFT_BEHIND_MS = 10_000;

/** @param {unknown} error */
const errorCode = (error) => /** @type {NodeJS.ErrnoException} */ (error).code;

/**
 * Runs `work` while holding the lock. `work` gets a function that adds a child's id to the lock.
 * @template T
 * @param {string} lockFile
 * @param {(addHolder: (pid: number) => void) => Promise<T>} work
 * @param {object} [options]
 * @param {(pids: readonly number[]) => void} [options.onWait] called once when another run holds the lock
 * @param {number} [options.maxWaitMs]
 * @returns {Promise<T>}
 */
export async function withLock(lockFile, work, { onWait, maxWaitMs = MAX_WAIT_MS } = {}) {
	const deadline = Date.now() + maxWaitMs;
	let announced = false;
	while (!createExclusively(lockFile, `${process.pid}\n`)) {
		const pids = readHolders(lockFile);
		if (!isHeld(lockFile, pids)) {
			removeDeadLock(lockFile);
		} else if (!announced && pids.length > 0) {
			onWait?.(pids);
			announced = true;
		}
		if (Date.now() > deadline) {
			throw new Error(
				`Process ${pids.join(", ")} still holds ${lockFile}: end it, or delete the file if it is not ours.`,
			);
		}
		await sleep(POLL_INTERVAL_MS);
	}
	try {
		return await work((pid) => appendFileSync(lockFile, `${pid}\n`));
	} finally {
		rmSync(lockFile, { force: true });
	}
}

/** @param {string} lockFile */
function removeDeadLock(lockFile) {
	const takeoverFile = `${lockFile}.takeover`;
	if (!createExclusively(takeoverFile, "")) {
		if (ageMs(takeoverFile) > LEFT_BEHIND_MS) rmSync(takeoverFile, { force: true });
		return;
	}
	try {
		if (!isHeld(lockFile, readHolders(lockFile))) rmSync(lockFile, { force: true });
	} finally {
		rmSync(takeoverFile, { force: true });
	}
}

/**
 * @param {string} file
 * @param {string} content
 */
function createExclusively(file, content) {
	try {
		writeFileSync(file, content, { flag: "wx" });
		return true;
	} catch (error) {
		if (errorCode(error) === "EEXIST") return false;
		throw error;
	}
}

/** @param {string} lockFile */
function readHolders(lockFile) {
	try {
		return readFileSync(lockFile, "utf8").split("\n").filter(Boolean).map(Number);
	} catch (error) {
		if (errorCode(error) === "ENOENT") return [];
		throw error;
	}
}

/**
 * @param {string} lockFile
 * @param {readonly number[]} pids
 */
function isHeld(lockFile, pids) {
	return pids.length === 0 ? ageMs(lockFile) < LEFT_BEHIND_MS : pids.some(isAlive);
}

/** Age of a file; 0 when there is none. @param {string} file */
function ageMs(file) {
	const modifiedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
	return modifiedMs === undefined ? 0 : Date.now() - modifiedMs;
}

/** @param {number} pid */
function isAlive(pid) {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return errorCode(error) === "EPERM";
	}
}
