/**
 * Gates and markers: how a test steers a running simulator without sleeping.
 * A gate opens when a file of its name exists in gates/; a marker is an empty file made in reached/.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "./home.ts";
import type { Journal } from "./journal.ts";
import { watchFolder } from "./watch-folder.ts";

/** Resolves once the file exists; rejects with the signal's reason when it is aborted first. */
export function waitForGate(home: Home, name: string, signal: AbortSignal): Promise<void> {
	const path = join(home.gatesPath, name);
	return new Promise((resolve, reject) => {
		if (signal.aborted) return reject(signal.reason);
		const watcher = watchFolder(home.gatesPath, check, true);
		signal.addEventListener("abort", abort, { once: true });
		check(); // after the watch began: a file made in between is not missed

		function check(): void {
			if (existsSync(path)) finish(resolve);
		}
		function abort(): void {
			finish(() => reject(signal.reason));
		}
		function finish(settle: () => void): void {
			watcher.close();
			signal.removeEventListener("abort", abort);
			settle();
		}
	});
}

export function touchMarker(home: Home, journal: Journal, name: string): void {
	journal.append({ kind: "reached", name }); // First: whoever sees the marker may read the journal.
	writeFileSync(join(home.reachedPath, name), "", { mode: 0o600 });
}
