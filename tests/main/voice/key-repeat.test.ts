import { expect, test } from "vitest";
import { KeyRepeat } from "../../../src/main/voice/key-repeat.ts";

test.each([
	["presses that are apart count", [0, 500, 1_000, 2_500], [false, false, false, false]],
	["one that follows at once does not", [0, 499, 2_000], [false, true, false]],
	[
		"nor does a key that is held, for as long as it is",
		[0, 400, 430, 460, 900, 1_399, 1_899],
		[false, true, true, true, true, true, false],
	],
])("%s", (_name, pressesMs, repeats) => {
	const key = new KeyRepeat();
	expect(pressesMs.map((nowMs) => key.isRepeat(nowMs))).toStrictEqual(repeats);
});
