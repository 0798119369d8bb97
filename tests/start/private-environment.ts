/**
 * Gives every test process a private home and none of the user's pi or agy settings, so that no test can read or change
 * the user's own, whatever the machine. How long to fuzz is no such setting. And a place for compiled code, without which
 * each of them compiles pi anew. Runs in vitest's main process, whose environment the forks inherit.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function setup(): () => void {
	const home = mkdtempSync(join(tmpdir(), "pi-agy-test-home-"));
	for (const name of Object.keys(process.env)) {
		if (/^(PI|AGY)_/.test(name) && !name.startsWith("PI_AGY_FUZZ_")) delete process.env[name];
	}
	process.env.HOME = home;
	process.env.USERPROFILE = home;
	process.env.PI_OFFLINE = "1";
	process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, "..", "..", "node_modules", ".cache", "tests");
	return () => rmSync(home, { recursive: true, force: true });
}
