/** The process table, looked at by a process that has no free descriptor. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROGRAM = join(import.meta.dirname, "..", "support", "without-descriptors.ts");

test("a look at a process waits for a descriptor, and gives up after seconds with what to do", async () => {
	const { stdout } = await promisify(execFile)("/bin/sh", [
		"-c",
		`ulimit -n 100 && exec "$0" --disable-warning=ExperimentalWarning "$1"`,
		process.execPath,
		PROGRAM,
	]);
	const { found, refused } = JSON.parse(stdout);
	expect(found).toStrictEqual({ pid: expect.any(Number), problem: "", ms: expect.any(Number) });
	expect(found.ms).toBeGreaterThan(90);
	expect(refused).toStrictEqual({
		pid: null,
		problem: expect.stringMatching(
			/^pi-agy cannot look at processes: too many files are open, for 5 s now \(EMFILE.*\)\. Close some sessions, or raise the limit \(ulimit -n\)\.$/,
		),
		ms: expect.any(Number),
	});
	expect(refused.ms).toBeGreaterThan(4_900);
});
