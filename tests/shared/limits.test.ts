import { describe, expect, test } from "vitest";
import { compareVersions } from "../../src/main/versions.ts";
import * as limits from "../../src/shared/limits.ts";

test("every number is finite and above zero", () => {
	for (const [name, value] of Object.entries(limits)) {
		if (typeof value === "number") expect(Number.isFinite(value) && value > 0, name).toBe(true);
	}
});

describe("limits that hang together", () => {
	test.each([
		["a paused link is resumed below the mark that paused it", limits.LOW_WATER_BYTES, limits.HIGH_WATER_BYTES],
		["a full frame does not pause a link by itself", limits.FRAME_BYTES, limits.HIGH_WATER_BYTES],
		["the shortest tick is below the longest", limits.TICK_MS, limits.MAX_TICK_MS],
		["a link that streams at the longest tick is not quiet", limits.MAX_TICK_MS, limits.QUIET_AFTER_MS],
		["agy's words fit into what is kept of stderr", limits.REJECTED_SAMPLE_CHARS, limits.STDERR_TAIL_CHARS],
		["the version that is refused is below the one that is warned about", 0, warnAboveMin()],
		[
			"an idle process is stopped well within shutdown",
			limits.EOF_GRACE_MS + 2 * limits.TERM_GRACE_MS,
			limits.SHUTDOWN_TIMEOUT_MS,
		],
		[
			"a busy process is stopped within shutdown",
			limits.INTERRUPT_GRACE_MS + 2 * limits.TERM_GRACE_MS,
			limits.SHUTDOWN_TIMEOUT_MS,
		],
		["crashes are counted over more than one lane start", limits.LANE_START_TIMEOUT_MS, limits.CRASH_WINDOW_MS],
		["idle links are no more than running ones", limits.MAX_IDLE_LINKS, limits.MAX_RUNNING_LINKS],
	])("%s", (_name, smaller, larger) => {
		expect(smaller).toBeLessThan(larger);
	});
});

function warnAboveMin(): number {
	return compareVersions(limits.WARN_AGY_VERSION, limits.MIN_AGY_VERSION);
}
