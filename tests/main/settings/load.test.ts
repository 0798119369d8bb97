import { describe, expect, test } from "vitest";
import { type Layer, load, type SettingsFile } from "../../../src/main/settings/load.ts";
import { KEYS, rowOf } from "../../../src/main/settings/table.ts";
import { show } from "../../../src/main/settings/values.ts";

const user = (object: object, problem = ""): SettingsFile => ({
	...{ layer: "user", label: "config.json", path: "/u/config.json", problem },
	object: object as SettingsFile["object"],
});
const project = (object: object, problem = ""): SettingsFile => ({
	...{ layer: "project", label: ".pi/pi-agy.json", path: "/p/.pi/pi-agy.json", problem },
	object: object as SettingsFile["object"],
});

describe("a variable of nearly a limit's name", () => {
	test.each([
		["AGY_READ_ONLY", "AGY_READONLY"],
		["AGY_BRIDGE_TOOL", "AGY_BRIDGE_TOOLS"],
		["AGY_SKIPPERMISSIONS", "AGY_SKIP_PERMISSIONS"],
		["agy_mode", "AGY_MODE"],
	])("%s lets no turn run", (name, meant) => {
		const { problems, refusal } = load({ [name]: "x" }, []);
		expect(refusal).toBe(
			`${name} is no variable of pi-agy. Did you mean ${meant}? No turn is run until it is corrected.`,
		);
		expect(problems).toStrictEqual([refusal]);
	});

	test.each(["AGY_MODEL", "AGY_SIM_HOME", "AGY_ACP_BIN", "AGY_DEBUGS", "READ_ONLY", "AGY_READONLY"])(
		"%s is none",
		(name) => {
			expect(load({ [name]: "on" }, []).refusal).toBeNull();
		},
	);
});

describe("the layers", () => {
	test.each<[string, Record<string, string>, object | null, object | null, string, Layer]>([
		["nothing", {}, null, null, "default", "default"],
		["the user's file", {}, null, { mode: "plan" }, "plan", "user"],
		["the project's file over the user's", {}, { mode: "accept-edits" }, { mode: "plan" }, "accept-edits", "project"],
		[
			"the environment over both",
			{ AGY_MODE: "default" },
			{ mode: "plan" },
			{ mode: "plan" },
			"default",
			"environment",
		],
		["an empty variable is none", { AGY_MODE: "" }, { mode: "plan" }, {}, "plan", "project"],
	])("%s", (_name, env, inProject, inUser, value, layer) => {
		const files = [...(inProject ? [project(inProject)] : []), ...(inUser ? [user(inUser)] : [])];
		const loaded = load(env, files);
		expect(loaded.values.mode).toBe(value);
		expect(loaded.sources.mode?.layer ?? "default").toBe(layer);
		expect(loaded.problems).toStrictEqual([]);
	});

	test("a value that is not understood does not let the layer below decide", () => {
		const { values, sources, deciders, problems, refusal } = load({}, [
			project({ steps: "line" }),
			user({ steps: "lines" }),
		]);
		expect([values.steps, sources.steps, deciders.steps?.layer, refusal]).toStrictEqual([
			"cards",
			undefined,
			"project",
			null,
		]);
		expect(problems).toStrictEqual([
			'.pi/pi-agy.json: steps is "line", which is not understood. Allowed: cards, lines. The default applies.',
		]);
	});

	test("a limit of the project that is not understood stops every turn", () => {
		expect(load({}, [project({ readonly: "onn" }), user({ readonly: false })]).refusal).toMatch(
			/^\.pi\/pi-agy\.json: readonly is "onn".* Allowed: on, off\. No turn is run until it is corrected\.$/,
		);
	});

	test("so does a file of the project that is damaged", () => {
		expect(load({}, [project({}, "it is no JSON object"), user({})]).refusal).toMatch(
			/^\/p\/\.pi\/pi-agy\.json cannot be used/,
		);
	});

	test.each(KEYS.filter((key) => rowOf(key).needsReload))("%s is none of a project's", (key) => {
		const { sources, problems } = load({}, [project({ [key]: show(rowOf(key).fallback) }), user({})]);
		expect(sources).toStrictEqual({});
		expect(problems).toStrictEqual([expect.stringMatching(`${key} cannot be set by a project`)]);
	});
});

describe("a key that is none", () => {
	test.each([
		["readOnly", "readonly"],
		["askTools", "askTool"],
		["skipPermission", "skipPermissions"],
	])("%s is nearly %s, which limits: no turn is run", (name, meant) => {
		const { problems, refusal } = load({}, [user({ [name]: true })]);
		expect(problems).toStrictEqual([refusal]);
		expect(refusal).toBe(
			`config.json: ${name} is no setting of pi-agy. Did you mean ${meant}? No turn is run until it is corrected.`,
		);
	});

	test("that limits nothing is only named", () => {
		expect(load({}, [user({ stepz: "lines", later: 1 })])).toMatchObject({
			refusal: null,
			problems: [
				"config.json: stepz is no setting of pi-agy. Did you mean steps?",
				"config.json: later is no setting of pi-agy.",
			],
		});
	});

	test("is no surprise in a file of a newer version, which is used as far as it is understood", () => {
		const { values, problems, refusal } = load({}, [user({ version: 99, mode: "plan", readOnly: true })]);
		expect([values.mode, refusal]).toStrictEqual(["plan", null]);
		expect(problems).toStrictEqual([expect.stringMatching(/^config\.json is of version 99, newer than this pi-agy/)]);
	});
});

describe("every row of the table", () => {
	test.each(KEYS)("%s: its default is a value it takes, and its choices are", (key) => {
		const { kind, fallback, variable, about } = rowOf(key);
		if (fallback !== null) expect(kind.parse(fallback)).toStrictEqual(fallback);
		for (const choice of kind.choices) expect(kind.parse(choice), choice).toBeDefined();
		expect(about).toMatch(/^[^\n]+\.$/);
		expect(kind.allowed).not.toBe("");
		if (variable !== null) expect(variable).toMatch(/^AGY_[A-Z_]+$/);
	});

	test("has a variable of its own", () => {
		const variables = KEYS.flatMap((key) => rowOf(key).variable ?? []);
		expect(new Set(variables).size).toBe(variables.length);
	});
});

test.each<[keyof ReturnType<typeof load>["values"], string, unknown]>([
	["turnTimeoutMin", "1440", 1440],
	["turnTimeoutMin", "1441", null],
	["agent", "a b", null],
	["agent", "../x", null],
	["agent", "reviewer.v2", "reviewer.v2"],
	["voiceSilenceSeconds", "61", 0],
	["voiceKey", "ctrl+q", "ctrl+q"],
	["voiceKey", "enter", "f12"],
	["voiceGeminiUrl", "ftp://x", null],
	["voiceGeminiUrl", "http://gemini.example", null],
	["voiceGeminiUrl", "http://127.0.0.1.example", null],
	["voiceGeminiUrl", "https://name:password@gemini.example", null],
])("%s from %s is %j", (key, raw, expected) => {
	expect(load({ [rowOf(key).variable ?? ""]: raw }, []).values[key]).toStrictEqual(expected);
});

describe("the key of voice", () => {
	const used = (key: string) => load({}, [user({ version: 2, voiceKey: key })]);

	test.each([
		...["f1", "shift+f5", "insert", "pageUp", "ctrl+space", "alt+space", "alt+v", "alt+3", "super+m"],
		...["ctrl+v", "ctrl+alt+v", "ctrl+alt+c", "ctrl+shift+c", "ctrl+shift+m"],
	])("can be %s", (key) => {
		expect(used(key)).toMatchObject({ values: { voiceKey: key }, problems: [] });
	});

	test.each([
		["types", ["v", "3", "shift+v", "space", "shift+space"]],
		["edits", ["ctrl+m", "ctrl+j", "ctrl+i", "ctrl+h", "ctrl+[", "ctrl+alt+m", "alt+ctrl+h", "ctrl+ctrl+i", "enter"]],
		["ends pi", ["ctrl+c", "ctrl+d", "ctrl+ctrl+c"]],
		["is none", ["", "ctrl+", "+v", "hyper+v", "f13", "Ctrl+Q"]],
	])("cannot be one that %s", (_what, keys) => {
		for (const key of keys) {
			const { values, problems } = used(key);
			expect([key, values.voiceKey]).toStrictEqual([key, "f12"]);
			expect(problems).toStrictEqual([expect.stringContaining("not ctrl+c, ctrl+d, nor ctrl+m")]);
		}
	});
});
