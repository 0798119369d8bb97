// Counts vitest's JSON report for .ci/run: prints "<passed> <failed>". A test file that could not even be loaded has no
// failed test in it and counts as one failure. Without a report it prints zeros: the exit code of the run tells the rest.

import "./require-node.mjs";
import { existsSync, readFileSync } from "node:fs";
import { isEntry } from "./project.mjs";

/**
 * @typedef {object} Report
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {readonly { status: string, assertionResults: readonly { status: string }[] }[]} testResults one a file
 */

/** @param {Report} report */
export function countTests({ numPassedTests, numFailedTests, testResults }) {
	const unloaded = testResults.filter(
		(file) => file.status === "failed" && !file.assertionResults.some(({ status }) => status === "failed"),
	);
	return { passed: numPassedTests, failed: numFailedTests + unloaded.length };
}

if (isEntry(import.meta.url)) {
	const reportFile = process.argv[2] ?? "";
	const { passed, failed } = existsSync(reportFile)
		? countTests(JSON.parse(readFileSync(reportFile, "utf8")))
		: { passed: 0, failed: 0 };
	console.log(`${passed} ${failed}`);
}
