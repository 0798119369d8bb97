import { expect, test } from "vitest";
import { compareVersions } from "../../src/main/versions.ts";

test.each([
	["1.2.3", "1.2.3", 0],
	["1.2.10", "1.2.9", 1],
	["1.10.0", "1.9.9", 1],
	["2.0.0", "1.99.99", 1],
	["1.2", "1.2.0", 0],
	["1.1.14", "1.1.15", -1],
])("%s against %s", (a, b, sign) => {
	expect(Math.sign(compareVersions(a, b))).toBe(sign);
	expect(Math.sign(compareVersions(b, a))).toBe(0 - sign);
});
