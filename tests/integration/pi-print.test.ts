/** `pi -p` with a real agy stand-in: what is printed, when pi leaves, and how a later pi goes on. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { PiProcess, printPi } from "../support/pi-process.ts";
import { killQuietly } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";

let sandbox: Sandbox;
afterEach(() => sandbox.close());

describe("pi -p", () => {
	it("waits for the whole answer, which agy had begun before, prints it once and leaves at once", async () => {
		sandbox = new Sandbox({ scenario: "gated" });
		sandbox.seedModels();
		const pi = new PiProcess(sandbox, ["-p", "say the numbers"]);
		await sandbox.reached("first"); // three of the five words are out of agy
		await pi.guardian();
		expect(pi.stdout).toBe("");
		expect(pi.isRunning).toBe(true);
		expect(sandbox.journal("exit").filter((entry) => entry.pid === sandbox.runs()[0]?.pid)).toEqual([]);

		sandbox.openGate("go");
		expect(await pi.finished()).toEqual({ code: 0, signal: null });
		expect(pi.stdout.trimEnd()).toBe("one two three four five.");
		expect(pi.stderr).toBe("");
		// A thread or process that holds pi back would do so for ever or to the end of the shutdown's deadline.
		expect(pi.closedMs - pi.lastOutputMs).toBeLessThan(15_000);
		expect(sandbox.prompts()).toEqual(["say the numbers"]);
	});

	it("runs two prompts in one process of agy, and a later pi resumes the conversation by its id", async () => {
		sandbox = new Sandbox({ scenario: "turns" });
		const session = ["--session-dir", sandbox.sessionDir];
		const first = await printPi(sandbox, ["one", "two"], { session });
		expect(first.stdout.trimEnd()).toBe("Second.");
		expect(sandbox.runs()).toMatchObject([{ prompts: ["one", "two"] }]);
		expect(sandbox.runs()[0]?.argv).not.toContain("--conversation");

		const second = await printPi(sandbox, ["three"], { session: [...session, "-c"] });
		const [sessionFile = ""] = readdirSync(sandbox.sessionDir);
		const third = await printPi(sandbox, ["four"], { session: ["--session", join(sandbox.sessionDir, sessionFile)] });
		expect([second, third].map((pi) => pi.stdout.trimEnd())).toEqual(["Later.", "Later."]);
		expect(sandbox.runs().slice(1)).toMatchObject([{ prompts: ["three"] }, { prompts: ["four"] }]);
		const conversation = "c0ffee00-0000-4000-8000-000000000001"; // the simulator's first
		for (const { argv } of sandbox.runs().slice(1)) expect(argv.join(" ")).toContain(`--conversation ${conversation}`);
		expect(JSON.parse(sandbox.read(`sim/antigravity-cli/conversations/${conversation}.json`)).numTurns).toBe(4);
		expect([first, second, third].map((pi) => [pi.exit?.code, pi.stderr])).toEqual([
			[0, ""],
			[0, ""],
			[0, ""],
		]);
	});

	it("does not wait for what agy's own commands leave running, an updater for one", async () => {
		sandbox = new Sandbox({ scenario: "turns" });
		const left = join(sandbox.path, "left");
		const script = `#!/bin/sh\ncase "$1" in --version|--help|models) sleep 1000 & echo $! >> ${left};; esac\nexec ${sandbox.env.AGY_BIN} "$@"\n`;
		sandbox.env.AGY_BIN = sandbox.write("updating-agy", script, 0o700);
		try {
			const pi = await printPi(sandbox, ["one"]);
			expect([pi.exit?.code, pi.stdout.trimEnd(), pi.stderr]).toEqual([0, "First.", ""]);
			expect(sandbox.prompts()).toEqual(["one"]);
		} finally {
			for (const pid of readFileSync(left, "utf8").trim().split("\n")) killQuietly(Number(pid));
		}
	});

	it("ends an agy that does not leave when its input ends", async () => {
		sandbox = new Sandbox({ scenario: "eof-hang" });
		sandbox.seedModels();
		const pi = await printPi(sandbox, ["hello"]);
		expect(pi.exit).toEqual({ code: 0, signal: null });
		expect(pi.stdout.trimEnd()).toBe("Back again.");
		await until("agy is gone", () => sandbox.agyProcesses().length === 0);
	});

	it("names what agy offers when the model is unknown", async () => {
		sandbox = new Sandbox();
		sandbox.seedModels();
		const pi = await printPi(sandbox, ["hello"], { model: "antigravity/nope" });
		expect(pi.exit?.code).toBe(1);
		expect(pi.stderr).toContain('agy offers no model "nope". Choose one of: gemini-3.8-flash.');
		expect(sandbox.runs()).toEqual([]);
	});
});
