/** What .ci/run counts. */
import { expect, it } from "vitest";
import { countTests } from "./count.mjs";

const file = (status: string, ...tests: string[]) => ({
	status,
	assertionResults: tests.map((test) => ({ status: test })),
});

it("counts tests, and a file that could not be loaded as one failure", () => {
	const testResults = [file("passed", "passed", "passed"), file("failed", "passed", "failed"), file("failed")];
	expect(countTests({ numPassedTests: 3, numFailedTests: 1, testResults })).toEqual({ passed: 3, failed: 2 });
});
