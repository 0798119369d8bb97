import { describe, expect, test } from "vitest";
import { isOurEntry, isOurFile, isOurFolder } from "../../../src/main/uninstall/data-folder.ts";
import { captureFileName } from "../../../src/shared/capture.ts";

describe("right in the data folder", () => {
	test.each([
		["config.json", true],
		["sessions.json", true],
		["hubs.json.lock", true],
		["quota.json.lock.takeover", true],
		["sessions.json.4711.0123abcd.tmp", true],
		["sessions.json.damaged-0123abcd", true],
		["sessions.json.lock.4711.0123abcd.tmp", true],
		["config.json.bak", false],
		["my-config.json", false],
		["notes.txt", false],
		["x.lock", false],
		["", false],
	])("%s: %s", (name, isOurs) => expect(isOurFile(name)).toBe(isOurs));

	test.each([
		["logs", true],
		["spill", true],
		["node_modules", false],
		["constructor", false],
	])("the folder %s: %s", (name, isOurs) => expect(isOurFolder(name)).toBe(isOurs));
});

describe("in a folder of ours", () => {
	test.each([
		["logs", "pi-agy-2026-11-01.ndjson", true],
		["logs", "debug.log", false],
		["reports", "pi-agy-report-2026-11-01T12-00-00-000Z.json", true],
		["reports", "pi-agy-smoke-2026-11-01T12-00-00-000Z.json", true],
		["reports", "pi-agy-report-2026-11-01T12-00-00-000Z.json.4711.0123abcd.tmp", true],
		["reports", "budget.json", false],
		["captures", captureFileName(Date.UTC(2026, 10, 1), 4711, 1 as never, 2), true],
		["captures", `${captureFileName(Date.UTC(2026, 10, 1), 4711, 1 as never, 2)}.part`, true],
		["captures", "holiday.ndjson", false],
		["locks", "c0ffee00-0000-4000-8000-000000000001.lock", true],
		["locks", "c0ffee00-0000-4000-8000-000000000001.lock.takeover", true],
		["locks", "readme.md", false],
		["spill", "4711-123456-0123abcd", true],
		["bridge", "4711-Sat_Nov_1_12:00:00_2026-0123abcd", true],
		["spill", "important", false],
		["elsewhere", "4711-123456-0123abcd", false],
	])("%s/%s: %s", (folder, name, isOurs) => expect(isOurEntry(folder, name)).toBe(isOurs));
});
