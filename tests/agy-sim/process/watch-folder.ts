/**
 * Notices changes in a folder: by file-system events where they are to be had (the number of watchers on a machine is
 * limited, and some file systems send none), and by looking again now and then in any case.
 */
import { type FSWatcher, watch } from "node:fs";

const RECHECK_MS = 250;
const RECHECK_WITHOUT_EVENTS_MS = 20;

export type FolderWatch = { close(): void };

/** Calls back at least once after every change. Only with `keepsAlive` the process waits for it. */
export function watchFolder(path: string, onMaybeChanged: () => void, keepsAlive: boolean): FolderWatch {
	let watcher: FSWatcher | undefined;
	try {
		watcher = watch(path, { persistent: keepsAlive }, onMaybeChanged);
		watcher.on("error", () => {}); // the folder is gone: the timer goes on
	} catch {
		// no watcher to be had: the timer alone
	}
	const timer = setInterval(onMaybeChanged, watcher === undefined ? RECHECK_WITHOUT_EVENTS_MS : RECHECK_MS);
	if (!keepsAlive) timer.unref();
	return {
		close: () => {
			watcher?.close();
			clearInterval(timer);
		},
	};
}
