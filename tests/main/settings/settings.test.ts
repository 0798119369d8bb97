import {
	existsSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { requireRunnable } from "../../../src/main/config.ts";
import { SETTINGS_VERSION } from "../../../src/main/settings/migrate.ts";
import { Settings } from "../../../src/main/settings/settings.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const userFile = () => folder.at("pi-agy", "config.json");
const cwd = () => folder.at("project");

/** Written as it is when it is a text. */
function write(path: string, content: unknown): void {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
}

function open(env: Record<string, string> = {}): Settings {
	return new Settings({ PI_CODING_AGENT_DIR: folder.path, ...env });
}

function saved(): unknown {
	return JSON.parse(readFileSync(userFile(), "utf8"));
}

describe("saving", () => {
	test("changes the one object, tells the listeners, and writes that key alone", async () => {
		const settings = open({ AGY_DIGEST: "on" });
		const { config } = settings;
		const { voice } = config;
		const heard: string[][] = [];
		settings.onChange((changed) => heard.push([...changed]));
		expect(settings.isFirstRun).toBe(true);
		expect(await settings.set("mode", " plan ")).toStrictEqual({
			...{ key: "mode", from: "default", to: "plan", saved: "plan", shadowedBy: null, pending: null },
		});
		await settings.set("voiceSend", "on");
		expect([settings.config, config.voice]).toStrictEqual([config, voice]);
		expect(settings.config).toBe(config);
		expect(config.voice).toBe(voice);
		expect([config.mode, voice.send, config.digest]).toStrictEqual(["plan", true, true]);
		expect(config.provenance).toStrictEqual({
			...{ mode: "config.json: mode", voiceSend: "config.json: voiceSend", digest: "AGY_DIGEST" },
		});
		expect(heard).toStrictEqual([["mode"], ["voiceSend"]]);
		expect(saved()).toStrictEqual({ version: SETTINGS_VERSION, mode: "plan", voiceSend: true });
		expect(statSync(userFile()).mode & 0o777).toBe(0o600);
		expect(open().isFirstRun).toBe(false);
	});

	test("keeps what others have written meanwhile, and keys that nobody knows", async () => {
		write(userFile(), { version: 1, later: { a: 1 }, extraArgs: "--a b", mode: "plan" });
		const settings = open();
		write(userFile(), { version: 1, later: { a: 2 }, extraArgs: "--a b", mode: "accept-edits" });
		await settings.set("digest", "on");
		expect(saved()).toStrictEqual({
			...{ version: SETTINGS_VERSION, later: { a: 2 }, extraArgs: ["--a", "b"], mode: "accept-edits", digest: true },
		});
		expect(settings.config.mode).toBe("accept-edits");
	});

	test("never lowers the version of a newer file", async () => {
		write(userFile(), { version: 99, later: true });
		await open().set("digest", "on");
		expect(saved()).toStrictEqual({ version: 99, later: true, digest: true });
	});

	test.each(["{oops", "[1]", ""])("leaves a damaged file (%j) as it is", async (content) => {
		write(userFile(), content);
		const settings = open();
		await expect(settings.set("mode", "plan")).rejects.toMatchObject({
			code: "not-writable",
			message: expect.stringContaining("Correct it, or remove it."),
		});
		expect(readFileSync(userFile(), "utf8")).toBe(content);
		expect(settings.config.refusal).not.toBeNull();
	});

	test("follows a link to where the file lives", async () => {
		write(folder.at("dotfiles", "agy.json"), { mode: "plan" });
		mkdirSync(folder.at("pi-agy"), { recursive: true });
		symlinkSync(folder.at("dotfiles", "agy.json"), userFile());
		await open().set("digest", "on");
		expect(readlinkSync(userFile())).toBe(folder.at("dotfiles", "agy.json"));
		expect(saved()).toMatchObject({ mode: "plan", digest: true });
	});

	test.each([
		["turnTimeoutMin", "off", 0, 0],
		["turnTimeoutMin", "30", "30", 30],
		["extraArgs", "--a  b", ["--a", "b"], ["--a", "b"]],
		["extraArgs", '["--a b"]', ["--a b"], ["--a b"]],
		["passEnv", "A B", ["A", "B"], undefined],
		["prices", '{"m":{"input":1,"output":2}}', { m: { input: 1, output: 2, cacheRead: 1 } }, undefined],
		["bin", "~/agy", "~/agy", undefined],
	] as const)("%s %s", async (key, typed, inFile, live) => {
		const settings = open();
		await settings.set(key, typed);
		expect(saved()).toStrictEqual({ version: SETTINGS_VERSION, [key]: key === "turnTimeoutMin" ? live : inFile });
		if (live !== undefined) expect(settings.config).toMatchObject({ [key]: live });
	});

	test.each([
		["mode", "plann", /^mode cannot be "plann"\. Allowed: default, accept-edits, plan\. Did you mean plan\?$/],
		["steps", "xyz", /^steps cannot be "xyz"\. Allowed: cards, lines\.$/],
		["readonly", "maybe", /Allowed: on, off/],
		["turnTimeoutMin", "-1", /minutes up to 1440, 0 for off/],
		["agent", "a/b", /the name of an agent/],
		["prices", '{"m":{"input":1}}', /for each model id/],
		["prices", "free", /for each model id/],
		["bin", " ", /a path/],
	] as const)("%s %s is refused and writes nothing", async (key, typed, message) => {
		await expect(open().set(key, typed)).rejects.toMatchObject({
			code: "bad-setting",
			message: expect.stringMatching(message),
		});
		expect(existsSync(userFile())).toBe(false);
	});
});

describe("where another layer wins", () => {
	test("a variable: saved, said, and not in effect", async () => {
		const settings = open({ AGY_MODE: "plan" });
		const change = await settings.set("mode", "accept-edits");
		expect(change).toMatchObject({ from: "plan", to: "plan", saved: "accept-edits", shadowedBy: { name: "AGY_MODE" } });
		expect(settings.config.mode).toBe("plan");
		expect(open().config.mode).toBe("accept-edits");
	});

	test("a variable that is not understood wins too", async () => {
		const settings = open({ AGY_MODE: "plann" });
		expect((await settings.set("mode", "plan")).shadowedBy).toMatchObject({ name: "AGY_MODE" });
		expect(settings.config.refusal).toContain("AGY_MODE");
	});

	test("the project's file, which is never written", async () => {
		write(folder.at("project", ".pi", "pi-agy.json"), { mode: "plan", digest: true });
		const settings = open();
		const heard: string[][] = [];
		settings.onChange((changed) => heard.push([...changed]));
		settings.useProject(cwd(), "trusted");
		expect(heard).toStrictEqual([["mode", "digest"]]);
		expect(settings.row("mode").source).toStrictEqual({ layer: "project", name: ".pi/pi-agy.json: mode" });
		expect(await settings.set("mode", "accept-edits")).toMatchObject({ to: "plan", shadowedBy: { layer: "project" } });
		expect(await settings.reset("digest")).toMatchObject({ to: "on", saved: null, shadowedBy: { layer: "project" } });
		expect(JSON.parse(readFileSync(folder.at("project", ".pi", "pi-agy.json"), "utf8"))).toStrictEqual({
			...{ mode: "plan", digest: true },
		});
		expect(saved()).toStrictEqual({ version: SETTINGS_VERSION, mode: "accept-edits" });
	});

	test("a project nobody trusts has no say, and that is said", () => {
		write(folder.at("project", ".pi", "pi-agy.json"), { mode: "plan", bin: "./evil" });
		const settings = open();
		settings.useProject(cwd(), "untrusted");
		expect(settings.config).toMatchObject({ mode: "default", bin: null });
		expect(settings.config.problems).toStrictEqual([
			expect.stringMatching(/pi-agy\.json is not used, but for readonly: nobody has said/),
		]);
	});
});

test("what a project forbids holds without trust, and nothing else of it", () => {
	write(folder.at("project", ".pi", "pi-agy.json"), { readonly: true, mode: "plan", bin: "./evil" });
	const settings = open();
	settings.useProject(cwd(), "untrusted");
	expect(settings.config).toMatchObject({ isReadOnly: true, mode: "default", bin: null });
	expect(() => requireRunnable(settings.config)).toThrow(
		"readonly is on (.pi/pi-agy.json: readonly), and agy may change files in each of its modes. To go on: take readonly out of .pi/pi-agy.json.",
	);
});

describe("a file that somebody else has changed", () => {
	test("holds when it is read again, and is what a change starts from", async () => {
		const [here, there] = [open(), open()];
		await there.set("readonly", "on");
		expect(here.config.isReadOnly).toBe(false);
		here.reread();
		expect(here.config.isReadOnly).toBe(true);
		await there.set("mode", "plan");
		expect(await here.set("mode", "plan")).toMatchObject({ from: "plan", to: "plan" });
	});

	test("is not read again as long as it is the same", async () => {
		const settings = open();
		await settings.set("readonly", "on");
		const heard: string[][] = [];
		settings.reread();
		settings.onChange((changed) => heard.push([...changed]));
		settings.reread();
		expect(heard).toStrictEqual([]);
		rmSync(settings.path);
		settings.reread();
		expect(heard).toStrictEqual([["readonly"]]);
	});
});

describe("a setting that needs a reload", () => {
	let settings: Settings;
	beforeEach(async () => {
		settings = open();
		expect(await settings.set("engine", "legacy-sqlite")).toMatchObject({
			to: "stream-json",
			pending: "legacy-sqlite",
		});
	});

	test("keeps its value in the session, and has the new one in the next", () => {
		expect(settings.config.engine).toBe("stream-json");
		expect(settings.row("engine")).toMatchObject({ text: "stream-json", pending: "legacy-sqlite", needsReload: true });
		expect(open().config.engine).toBe("legacy-sqlite");
	});

	test("is as before when it is set back", async () => {
		expect(await settings.reset("engine")).toMatchObject({ pending: null, to: "stream-json" });
	});
});

test("resetting what was never set writes nothing new", async () => {
	write(userFile(), { mode: "plan" });
	expect(await open().reset("agent")).toMatchObject({ from: "none", to: "none", saved: null });
	expect(saved()).toStrictEqual({ version: SETTINGS_VERSION, mode: "plan" });
});

test("two sessions that save at once lose nothing", async () => {
	const [a, b] = [open(), open()];
	await Promise.all([a.set("mode", "plan"), b.set("digest", "on"), a.set("steps", "lines"), b.set("debug", "on")]);
	expect(saved()).toMatchObject({ mode: "plan", digest: true, steps: "lines", debug: true });
});

test("settled waits for what is being saved", async () => {
	const settings = open();
	const saving = settings.set("mode", "plan");
	await settings.settled();
	expect(saved()).toMatchObject({ mode: "plan" });
	await saving;
});

test("rows tell everything about each setting", () => {
	const row = open({ AGY_TURN_TIMEOUT_MIN: "5" }).row("turnTimeoutMin");
	expect(row).toMatchObject({
		...{
			key: "turnTimeoutMin",
			variable: "AGY_TURN_TIMEOUT_MIN",
			value: 5,
			text: "5",
			needsReload: false,
			pending: null,
		},
		...{ fallback: "off in the TUI, else 20", allowed: "minutes up to 1440, 0 for off", choices: [] },
		source: { layer: "environment", name: "AGY_TURN_TIMEOUT_MIN" },
	});
	expect(open().row("agent")).toMatchObject({ text: "none", source: { layer: "default", name: "default" } });
});
