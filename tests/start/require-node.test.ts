/** The one line that a Node too old gets. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./project.mjs";
import { isOlder, projectNodeProblem, scriptNodeProblem } from "./require-node.mjs";

/** Runs a start script under this Node, which then says it is version 18.20.0. */
function runAsNode18(script: string) {
	const claim = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.0" } });`;
	const preload = `data:text/javascript,${encodeURIComponent(claim)}`;
	return spawnSync(process.execPath, ["--import", preload, join(ROOT, "tests", "start", script)], { encoding: "utf8" });
}

it.each([
	["20.0.0", "20.0.0", false],
	["19.9.9", "20.0.0", true],
	["22.9.0", "22.19.0", true],
	["22.19.0", "22.19.0", false],
	["24.0.0", "22.19.0", false],
	["22.19.0-nightly", "22.19.0", false],
])("%s is older than %s: %s", (found, needed, older) => expect(isOlder(found, needed)).toBe(older));

it("has no line for a Node that will do", () => {
	expect(scriptNodeProblem("20.0.0")).toBeUndefined();
	expect(projectNodeProblem("22.19.0")).toBeUndefined();
	expect(projectNodeProblem("20.20.2")).toContain("Node 20.20.2 is too old");
});

describe("on Node 18", () => {
	it.each(["start.mjs", "test.mjs", "run.mjs", "build.mjs", "packed.mjs"])("%s stops with one line", (script) => {
		const { status, stdout, stderr } = runAsNode18(script);
		expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
		expect(stderr).toBe(`${scriptNodeProblem("18.20.0")}\n`);
	});
});
