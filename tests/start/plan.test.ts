/** What pi is started with: models, arguments, and an environment that keeps to the private home. */
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { OUR_MODEL, planStart, SIMULATOR } from "./plan.mjs";
import { ROOT } from "./project.mjs";

const SIGNED_IN = { usable: true, path: "/opt/agy" } as const;
const ABSENT = { usable: false, reason: "no agy on PATH", remedy: "Install it." } as const;

function chosenModel(...userArgs: string[]): boolean {
	const { args } = planStart(userArgs, {}, ABSENT);
	expect(args.slice(args.length - userArgs.length)).toEqual(userArgs);
	return !args.join(" ").includes(OUR_MODEL.join(" "));
}

describe("arguments", () => {
	it("pass through behind the extension", () => {
		const { args } = planStart(["-p", "say hello"], {}, SIGNED_IN);
		expect(args.slice(0, 3)).toEqual(["-ne", "-e", ROOT]);
		expect(args.slice(-2)).toEqual(["-p", "say hello"]);
	});

	it.each([["--model", "x"], ["--models", "a/*"], ["-c"], ["--resume"], ["--session", "x"], ["--fork", "x"]])(
		"keep the model that %s chooses",
		(...userArgs) => expect(chosenModel(...userArgs)).toBe(true),
	);

	it.each([[], ["-p", "hi"], ["--thinking", "low"], ["-p", "--", "--model"]])(
		"get a model of ours with %j",
		(...userArgs) => expect(chosenModel(...(userArgs as string[]))).toBe(false),
	);

	it.each(["install", "list", "auth", "mcp"])("of pi's own command %s stay as they are", (command) => {
		expect(planStart([command, "x"], {}, ABSENT).args).toEqual([command, "x"]);
	});
});

describe("on a signed-in agy", () => {
	it("uses that one and leaves the user's environment alone", () => {
		const plan = planStart([], { HOME: "/home/me", PI_CODING_AGENT_DIR: "/mine" }, SIGNED_IN);
		expect(plan.env).toEqual({ HOME: "/home/me", PI_CODING_AGENT_DIR: "/mine", AGY_BIN: "/opt/agy" });
		expect(plan).toMatchObject({ folders: [], settings: undefined, notice: undefined });
	});
});

describe("on the simulator", () => {
	const userEnv = {
		HOME: "/home/me",
		PATH: "/bin",
		PI_CODING_AGENT_DIR: "/home/me/.pi/agent",
		PI_CODING_AGENT_SESSION_DIR: "/home/me/sessions",
		PI_PACKAGE_DIR: "/home/me/pi",
		AGY_CONVERSATIONS_DIR: "/home/me/conversations",
		AGY_ACP_BIN: "/home/me/agy",
		AGY_SIM_SCENARIO: "steady",
	};

	it("lets nothing lead back to the user's home", () => {
		const { env, folders } = planStart([], userEnv, ABSENT);
		expect(Object.entries(env).filter(([, value]) => value?.includes("/home/me"))).toEqual([]);
		expect(env).toMatchObject({ AGY_BIN: SIMULATOR, PI_OFFLINE: "1", PATH: "/bin", AGY_SIM_SCENARIO: "steady" });
		for (const folder of folders) expect(folder.startsWith(join(ROOT, ".pi-home"))).toBe(true);
	});

	it("has settings of its own from the start, so that nothing is asked", () => {
		const { settings, folders, env } = planStart([], userEnv, ABSENT);
		expect(settings).toBe(join(env.PI_CODING_AGENT_DIR ?? "", "pi-agy", "config.json"));
		expect(folders).toContain(dirname(settings ?? ""));
	});

	it("says why and what to do, in one line, also inside pi", () => {
		const { args, env, notice } = planStart([], userEnv, ABSENT);
		expect(notice).toBe("Simulated agy, no real model: no agy on PATH. Install it.");
		expect(env.PI_AGY_NOTICE).toBe(notice);
		expect(args).toContain(join(ROOT, "tests", "start", "notice.ts"));
	});
});
