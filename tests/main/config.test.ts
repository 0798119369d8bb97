import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Config, loadConfig, turnTimeoutMinOf } from "../../src/main/config.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();

/** The configuration of an environment and a file. */
function load(env: Record<string, string> = {}, file?: unknown): Config {
	if (file !== undefined) {
		mkdirSync(folder.at("pi-agy"), { recursive: true });
		const content = typeof file === "string" ? file : JSON.stringify(file);
		writeFileSync(folder.at("pi-agy", "config.json"), content);
	}
	return loadConfig({ PI_CODING_AGENT_DIR: folder.path, ...env });
}

describe("without any setting", () => {
	test("the defaults apply and none of them comes from anywhere", () => {
		expect(load()).toMatchObject({
			bin: null,
			searchPath: [],
			mode: "default",
			skipPermissions: true,
			turnTimeoutMin: null,
			inactivityTimeoutMin: 5,
			agent: null,
			askTool: true,
			defaultModel: null,
			defaultThinking: "medium",
			isWithinAgy: false,
			systemPrompt: true,
			digest: false,
			steps: "cards",
			extraArgs: [],
			debug: false,
			prices: {},
			geminiDir: join(homedir(), ".gemini"),
			dataDir: folder.at("pi-agy"),
			provenance: {},
			problems: [],
		});
	});

	test.each([
		["a damaged file", "{oops"],
		["an empty file", ""],
		["a list", [1]],
	])("no turn is run with %s", (_name, file) => {
		const problem = `${folder.at("pi-agy", "config.json")} cannot be used: it is no JSON object. No turn is run until it is corrected.`;
		expect(load({}, file)).toMatchObject({ mode: "default", provenance: {}, problems: [problem], refusal: problem });
	});

	test("no turn is run with a file that cannot be read", () => {
		mkdirSync(folder.at("pi-agy", "config.json"), { recursive: true });
		expect(load().refusal).toMatch(/config\.json cannot be used: EISDIR.*No turn is run/);
	});

	test("a key that is no setting is named, and does no harm", () => {
		expect(load({}, { later: true, version: 1, passEnv: ["X"], prices: {}, mode: "plan" })).toMatchObject({
			mode: "plan",
			problems: ["config.json: later is no setting of pi-agy."],
			refusal: null,
		});
	});

	test("the result cannot be changed", () => {
		const config = load({ AGY_MODE: "plan" });
		for (const part of [config, config.childEnv, config.provenance, config.problems]) {
			expect(Object.isFrozen(part)).toBe(true);
		}
	});
});

describe("each setting, from the environment and from the file", () => {
	type Row = readonly [
		name: keyof Config,
		variable: string,
		inEnv: string,
		fromEnv: unknown,
		inFile: unknown,
		fromFile: unknown,
	];
	const ROWS: readonly Row[] = [
		["bin", "AGY_BIN", "/opt/agy", "/opt/agy", " agy-next ", "agy-next"],
		["mode", "AGY_MODE", "plan", "plan", "accept-edits", "accept-edits"],
		["skipPermissions", "AGY_SKIP_PERMISSIONS", "off", false, false, false],
		["turnTimeoutMin", "AGY_TURN_TIMEOUT_MIN", "0", 0, 30, 30],
		["inactivityTimeoutMin", "AGY_INACTIVITY_TIMEOUT_MIN", "0.5", 0.5, "7", 7],
		["agent", "AGY_AGENT", "reviewer", "reviewer", "writer", "writer"],
		["extraArgs", "AGY_EXTRA_ARGS", " --sandbox  --x=1 ", ["--sandbox", "--x=1"], ["--with space"], ["--with space"]],
		["debug", "AGY_DEBUG", "1", true, true, true],
		["capture", "AGY_CAPTURE", "3", 3, 5, 5],
		["askTool", "AGY_ASK_TOOL", "off", false, false, false],
		["defaultModel", "AGY_DEFAULT_MODEL", "flash", "flash", " opus 4.6 ", "opus 4.6"],
		["defaultThinking", "AGY_DEFAULT_THINKING", "high", "high", "off", "off"],
		["systemPrompt", "AGY_SYSTEM_PROMPT", "off", false, false, false],
		["digest", "AGY_DIGEST", "on", true, true, true],
		["steps", "AGY_STEPS", "lines", "lines", "lines", "lines"],
		["geminiDir", "AGY_GEMINI_DIR", "/srv/gemini", "/srv/gemini", "~/gemini", join(homedir(), "gemini")],
	];

	test.each(ROWS)("%s: %s", (name, variable, inEnv, fromEnv, inFile, fromFile) => {
		const env = load({ [variable]: inEnv });
		expect(env[name]).toStrictEqual(fromEnv);
		expect(env.provenance).toStrictEqual({ [name]: variable });
		const file = load({}, { [name]: inFile });
		expect(file[name]).toStrictEqual(fromFile);
		expect(file.provenance).toStrictEqual({ [name]: `config.json: ${name}` });
		const both = load({ [variable]: inEnv }, { [name]: inFile });
		expect(both[name]).toStrictEqual(fromEnv);
		expect(both.provenance).toStrictEqual({ [name]: variable });
	});

	test.each(ROWS)("%s: an empty %s is none", (name, variable, _inEnv, _fromEnv, inFile, fromFile) => {
		expect(load({ [variable]: "" }, { [name]: inFile })[name]).toStrictEqual(fromFile);
	});
});

test.each(["PI_AGY_DEPTH", "ANTIGRAVITY_AGENT"])("%s tells that an agy started this pi", (variable) => {
	expect([load({ [variable]: "1" }).isWithinAgy, load({ [variable]: "" }).isWithinAgy]).toEqual([true, false]);
});

describe("switches", () => {
	test.each([
		["1", true],
		["true", true],
		["ON", true],
		["Yes", true],
		["0", false],
		["false", false],
		["Off", false],
		["no", false],
	])("%s is %s", (text, value) => {
		expect(load({ AGY_SKIP_PERMISSIONS: text }).skipPermissions).toBe(value);
	});
});

describe("a value that is not understood is named", () => {
	test.each<[string, Record<string, string>, unknown]>([
		["AGY_MODE", { AGY_MODE: "plann" }, {}],
		["AGY_SKIP_PERMISSIONS", { AGY_SKIP_PERMISSIONS: "of" }, { skipPermissions: true }],
		["AGY_AGENT", { AGY_AGENT: "   " }, {}],
		["AGY_ASK_TOOL", { AGY_ASK_TOOL: "never" }, {}],
		["config.json: mode", {}, { mode: 7 }],
		["config.json: mode", {}, { mode: null }],
		["config.json: agent", {}, { agent: ["a"] }],
		["config.json: extraArgs", {}, { extraArgs: [1] }],
		["config.json: extraArgs", {}, { extraArgs: { a: 1 } }],
	])("%s: no turn is run, because it may have been meant as a limit", (source, env, file) => {
		const { problems, refusal } = load(env, file);
		expect(problems).toStrictEqual([refusal]);
		expect(refusal).toMatch(
			new RegExp(
				`^${source} is .*, which is not understood\\. Allowed: .+\\. No turn is run until it is corrected\\.$`,
			),
		);
	});

	test.each<[keyof Config, string, string, unknown]>([
		["debug", "AGY_DEBUG", "2", false],
		["capture", "AGY_CAPTURE", "1.5", 0],
		["capture", "AGY_CAPTURE", "101", 0],
		["turnTimeoutMin", "AGY_TURN_TIMEOUT_MIN", "soon", null],
		["turnTimeoutMin", "AGY_TURN_TIMEOUT_MIN", "-1", null],
		["inactivityTimeoutMin", "AGY_INACTIVITY_TIMEOUT_MIN", "Infinity", 5],
		["defaultThinking", "AGY_DEFAULT_THINKING", "enormous", "medium"],
	])("%s: %s=%s: the default applies", (name, variable, text, fallback) => {
		const config = load({ [variable]: text }, { [name]: "also in the file" });
		expect(config[name]).toStrictEqual(fallback);
		expect(config).toMatchObject({ provenance: {}, refusal: null });
		expect(config.problems).toStrictEqual([
			expect.stringMatching(
				new RegExp(`^${variable} is "${text}", which is not understood\\. Allowed: .+\\. The default applies\\.$`),
			),
		]);
	});

	test.each<[keyof Config, unknown, unknown]>([
		["turnTimeoutMin", true, null],
		["digest", 7, false],
		["steps", "line", "cards"],
	])("config.json: %s: %j: the default applies", (name, value, fallback) => {
		const config = load({}, { [name]: value });
		expect(config[name]).toStrictEqual(fallback);
		expect(config.problems).toStrictEqual([expect.stringContaining(`config.json: ${name} is `)]);
	});

	test.each([["a text"], [[1]], [{}]])("passEnv: %j passes nothing", (passEnv) => {
		const config = load({ NPM_TOKEN: "x" }, { passEnv });
		expect(config.childEnv).toStrictEqual({});
		expect(config.problems).toStrictEqual([
			expect.stringMatching(/^config.json: passEnv is .* Allowed: a list of names/),
		]);
	});

	test("each is named", () => {
		expect(load({ AGY_MODE: "x", AGY_DEBUG: "y" }, { agent: 1 }).problems).toHaveLength(3);
	});
});

describe("prices", () => {
	test.each<[string, unknown, unknown]>([
		[
			"of both directions, with the cache at the input's price",
			{ m: { input: 1, output: 10 } },
			{ m: { input: 1, output: 10, cacheRead: 1 } },
		],
		[
			"with one for the cache",
			{ m: { input: 1, output: 10, cacheRead: 0.1 } },
			{ m: { input: 1, output: 10, cacheRead: 0.1 } },
		],
		["that are null", null, {}],
	])("%s", (_name, prices, expected) => {
		expect(load({}, { prices })).toMatchObject({ prices: expected, problems: [] });
	});

	test.each<[string, unknown, unknown, readonly string[]]>([
		[
			"of half a model, beside a good one",
			{ m: { input: 1 }, n: null, o: { input: "1", output: 2 }, p: { input: 1, output: 2 } },
			{ p: { input: 1, output: 2, cacheRead: 1 } },
			["prices of m", "prices of n", "prices of o"],
		],
		["that would earn money", { m: { input: -1, output: 1 } }, {}, ["prices of m"]],
		["that are a text", "free", {}, ["prices"]],
		["that are a list", [1, 2], {}, ["prices"]],
	])("%s are named", (_name, prices, expected, named) => {
		const loaded = load({}, { prices });
		expect(loaded.prices).toStrictEqual(expected);
		expect(loaded.problems).toStrictEqual(
			named.map((what) => expect.stringMatching(`^config.json: ${what} is .* not understood. Allowed: .*cacheRead`)),
		);
	});
});

describe("folders", () => {
	test.each([
		["an absolute one", "/srv/pi", join("/srv/pi", "pi-agy")],
		["one below home", "~/pi", join(homedir(), "pi", "pi-agy")],
		["home itself", "~", join(homedir(), "pi-agy")],
		["another user's is taken as it is", "~other/pi", join("~other/pi", "pi-agy")],
		["none", "", join(homedir(), ".pi", "agent", "pi-agy")],
	])("%s", (_name, agentDir, dataDir) => {
		expect(loadConfig({ PI_CODING_AGENT_DIR: agentDir }).dataDir).toBe(dataDir);
	});

	test("PATH in its order, without empty entries", () => {
		expect(load({ PATH: ["/a", "", "/b", ""].join(delimiter) }).searchPath).toStrictEqual(["/a", "/b"]);
	});
});

describe("what an agy process gets to see", () => {
	const PASSED = {
		PATH: "/bin",
		HOME: "/home/u",
		USER: "u",
		LOGNAME: "u",
		SHELL: "/bin/sh",
		LANG: "C.UTF-8",
		LC_ALL: "C",
		TZ: "UTC",
		TERM: "xterm",
		TMPDIR: "/tmp",
		XDG_RUNTIME_DIR: "/run/u",
		DBUS_SESSION_BUS_ADDRESS: "unix:x",
		DISPLAY: ":0",
		HTTPS_PROXY: "http://p",
		http_proxy: "http://p",
		NO_PROXY: "localhost",
		SSL_CERT_FILE: "/c.pem",
		GEMINI_API_KEY: "k",
		GOOGLE_GEMINI_BASE_URL: "https://g",
		AGY_CLI_HIDE_LOGO: "1",
		ANTIGRAVITY_X: "1",
		SystemRoot: "C:",
		APPDATA: "C:",
		USERPROFILE: "C:",
	};
	const KEPT_OUT = [
		"OPENAI_API_KEY",
		"ANTHROPIC_API_KEY",
		"AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN",
		"AWS_PROFILE",
		"GITHUB_TOKEN",
		"GH_TOKEN",
		"NPM_TOKEN",
		"NODE_AUTH_TOKEN",
		"GOOGLE_API_KEY",
		"GOOGLE_APPLICATION_CREDENTIALS",
		"HF_TOKEN",
		"DATABASE_URL",
		"PI_CODING_AGENT_DIR",
		"NODE_OPTIONS",
		"LD_PRELOAD",
		"MY_AGY_TOKEN",
		"XPATH",
		"PATHX",
		"PASSWORD",
		"SSH_PASS",
		"GEMINI_API_KEY_OLD",
		"npm_config__authToken",
	];

	test("what it needs, and no secret of another program", () => {
		const secrets = Object.fromEntries(KEPT_OUT.map((name) => [name, "secret"]));
		expect(loadConfig({ ...PASSED, ...secrets }).childEnv).toStrictEqual(PASSED);
	});

	test("also what passEnv names, exactly", () => {
		const config = load(
			{ OPENAI_API_KEY: "k", OPENAI_API_KEY_2: "k", HOME: "/h" },
			{ passEnv: ["OPENAI_API_KEY", "NOT_SET", 7] },
		);
		expect(config.childEnv).toStrictEqual({ OPENAI_API_KEY: "k", HOME: "/h" });
	});

	test.each([
		["a text", "OPENAI_API_KEY"],
		["an object", { a: 1 }],
		["nothing", null],
	])("passEnv as %s adds nothing", (_name, passEnv) => {
		expect(load({ OPENAI_API_KEY: "k" }, { passEnv }).childEnv).toStrictEqual({});
	});
});

test.each([
	[null, true, 0],
	[null, false, 20],
	[0, false, 0],
	[7, true, 7],
])("a cap of %s minutes, terminal: %s, is %d", (turnTimeoutMin, hasTerminal, expected) => {
	expect(turnTimeoutMinOf({ ...load(), turnTimeoutMin }, hasTerminal)).toBe(expected);
});
