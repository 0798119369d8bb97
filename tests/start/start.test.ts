/** The start command as people type it, with the real pi, headless. Not run when it would have to install first. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installState } from "./install.mjs";
import { isolatedEnv, SIMULATOR } from "./plan.mjs";
import { ROOT } from "./project.mjs";

/** A build and a whole pi: seconds when alone, far more beside other tests on a slow machine. */
const START_TIMEOUT_MS = 100_000;

let folder: string;

beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), "pi-agy-start-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(env: NodeJS.ProcessEnv, ...args: string[]) {
	return spawnSync(process.execPath, [join(ROOT, "tests", "start", "start.mjs"), ...args], {
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "pipe"],
		encoding: "utf8",
		timeout: START_TIMEOUT_MS,
		killSignal: "SIGKILL",
	});
}

describe.skipIf(installState(ROOT) !== "ready")("npm start", { timeout: START_TIMEOUT_MS + 10_000 }, () => {
	it("answers on the simulator without agy, says so in one line, and leaves the user's home alone", () => {
		const { status, stdout, stderr } = start({ AGY_BIN: "/nowhere/agy" }, "-p", "--no-session", "say hello");
		const notices = stderr.split("\n").filter((line) => line.includes("Simulated"));
		expect(notices).toEqual([expect.stringMatching(/^pi-agy: .*AGY_BIN=\/nowhere\/agy is not a program\. .+$/)]);
		expect(stdout).toMatch(/hello/i);
		expect(status).toBe(0);
		expect(existsSync(join(homedir(), ".pi"))).toBe(false);
		expect(existsSync(join(homedir(), ".gemini"))).toBe(false);
	});

	it("uses a signed-in agy and the user's own pi", () => {
		const { AGY_CONVERSATIONS_DIR, AGY_SIM_HOME } = isolatedEnv(folder, {}).env;
		const agy = join(folder, "agy");
		writeFileSync(agy, `#!/bin/sh\nexec '${SIMULATOR}' "$@"\n`);
		chmodSync(agy, 0o755);
		const agentDir = join(folder, "agent");
		const { status, stdout, stderr } = start(
			{ AGY_BIN: agy, AGY_SIM_HOME, AGY_CONVERSATIONS_DIR, PI_CODING_AGENT_DIR: agentDir },
			...["-p", "--no-session", "say hello"],
		);
		expect(stderr).not.toContain("Simulated");
		expect(stdout).toMatch(/hello/i);
		expect(status).toBe(0);
		expect(existsSync(agentDir)).toBe(true);
	});

	it("ends with pi's exit code", () => {
		expect(start({ AGY_BIN: "/nowhere/agy" }, "-p", "--no-such-option-of-pi", "-zz").status).toBe(1);
	});
});
