/** The footer's line in every state. */

import { describe, expect, it, test } from "vitest";
import { keyName, renderFooter, renderSpeech, toBars } from "../../../src/main/voice/voice-footer.ts";

const VIEW = { state: "recording", elapsedMs: 67_400, levels: [-20], step: "", key: "f12" } as const;

describe("the footer", () => {
	test.each([
		["idle", { ...VIEW, state: "idle" as const }, undefined],
		["recording", VIEW, "● 1:07 ▁▁▁▁▁▁▁▆ · F12 ends, Esc cancels"],
		["starting", { ...VIEW, elapsedMs: 100, step: "starting" }, "◌ starting 0:00 · Esc cancels"],
		[
			"processing",
			{ ...VIEW, state: "processing" as const, step: "transcribing" },
			"◌ transcribing 1:07 · Esc cancels",
		],
		["cancelled", { ...VIEW, state: "cancelled" as const }, "○ cancelled"],
	])("%s", (_state, view, line) => {
		expect(renderFooter(view)).toBe(line);
	});
});

test("the line while an answer is read aloud", () => {
	expect(renderSpeech(61_900)).toBe("♪ reading aloud 1:01 · Esc stops");
});

describe("the level bar", () => {
	it("has a fixed width and rises from silence to full scale", () => {
		expect(toBars([-100, -60, -52, -45, -30, -15, -7, 0])).toBe("▁▁▂▃▅▇██");
		expect(toBars([])).toBe("▁▁▁▁▁▁▁▁");
		expect(toBars(Array.from({ length: 50 }, () => -1))).toBe("████████");
	});
});

test.each([
	["f12", "F12"],
	["ctrl+space", "Ctrl+Space"],
	["alt+v", "Alt+V"],
])("the key %s is called %s", (key, name) => {
	expect(keyName(key)).toBe(name);
});
