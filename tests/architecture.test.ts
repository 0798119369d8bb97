import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

/** Files of the repository, by path from its root. */
type Files = ReadonlyMap<string, string>;

const ROOT = join(import.meta.dirname, "..");

/** What the files of a folder may import of src/. A folder stands for everything in it. */
const LAYERS: readonly { readonly files: RegExp; readonly mayImport: readonly RegExp[] }[] = [
	{ files: /^src\/shared\//, mayImport: [/^src\/shared\//] },
	{ files: /^src\/main\//, mayImport: [/^src\/shared\//, /^src\/main\//] },
	{ files: /^src\/workers\/[^/]+$/, mayImport: [/^src\/shared\//, /^src\/workers\/[^/]+$/] },
	{
		files: /^src\/workers\/decode\//,
		mayImport: [/^src\/shared\//, /^src\/workers\/[^/]+$/, /^src\/workers\/decode\//],
	},
	{ files: /^src\/workers\/audio\//, mayImport: [/^src\/shared\//, /^src\/workers\/[^/]+$/, /^src\/workers\/audio\//] },
	{
		files: /^src\/workers\/poll\//,
		mayImport: [
			...[/^src\/shared\//, /^src\/workers\/[^/]+$/, /^src\/workers\/poll\//],
			/^src\/workers\/decode\/(protobuf|step-payload|stream-json-decoder)\.ts$/,
		],
	},
];

/** Who may import a package. One file each, so that replacing a package touches one file; pi's own are all of main's. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
	msgpackr: /^src\/shared\/frames\.ts$/,
	comlink: /^src\/shared\/rpc\.ts$/,
	piscina: /^src\/main\/lanes\.ts$/,
	"@google/genai": /^src\/main\/voice\/gemini\.ts$/,
	"jsonc-parser": /^src\/main\/bridge\/mcp-config-text\.ts$/,
	"@modelcontextprotocol/sdk": /^src\/main\/bridge\/mcp-server\.ts$/,
	"@earendil-works/pi-ai": /^src\/main\//,
	"@earendil-works/pi-coding-agent": /^src\/main\//,
	"@earendil-works/pi-tui": /^src\/main\//,
	typebox: /^src\/main\//,
};

/** pi waits for what this file imports at every start, `pi --help` included. */
const FACTORY = "src/main/extension.ts";
/** pi has loaded these itself. */
const LOADED_BY_PI = /^(@earendil-works\/|typebox$)/;

const DEFAULT_EXPORTS = /^src\/(main\/extension|workers\/[^/]+\/worker)\.ts$/;
const ENVIRONMENT_READER = "src/main/config.ts";
const THREAD_ENTRY = /^src\/workers\/[^/]+\/worker\.ts$/;
const NAMES_THAT_SAY_NOTHING = /^(utils|helpers|common|types|index)\.ts$/;

/** What no file of src/ may hold, comments aside. */
const BANNED: readonly (readonly [what: string, pattern: RegExp])[] = [
	["console", /\bconsole\s*[.[?]|from "node:console"/],
	["process.stdout or process.stderr", /\bprocess\s*\??\.\s*(stdout|stderr)\b|\bprocess\s*\[/],
	["node:process, where these could be taken from", /from "(node:)?process"/],
	["an enum", /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+\w/m],
	["a namespace", /^\s*(export\s+)?(declare\s+)?(namespace|module)\s+[\w"']/m],
	[
		"a parameter property",
		/\bconstructor\s*\([^{]*?[(,]\s*((public|private|protected|readonly|override)\s+)+\w+\??\s*[:=,)]/,
	],
	["a require", /\brequire\s*\(/],
];

const ENVIRONMENT = /\bprocess\s*\??\.\s*env\b|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/;

/** What may stand at the top of the repository; what .gitignore names does not count. */
const ROOT_FILES: readonly string[] = [
	...["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "biome.json", "knip.json"],
	...["vitest.config.ts", ".gitignore", ".gitattributes", ".npmrc", ".editorconfig", ".node-version"],
	...["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"],
];
const ROOT_FOLDERS: readonly string[] = ["src", "bench", "tests", "docs", ".ci", ".github"];
const SOURCE_FOLDERS = /^src\/(main(\/[a-z-]+)?|shared|workers(\/(decode|poll|audio))?)$/;

describe("the repository", () => {
	const files = readSources();

	test("has sources to look at", () => {
		expect(files.size).toBeGreaterThan(30);
		expect([...files.values()].flatMap((source) => importsOf(source)).length).toBeGreaterThan(100);
	});

	test("imports in the allowed directions only", () => {
		expect(directionProblems(files)).toStrictEqual([]);
	});

	test("imports each package in its one place", () => {
		expect(packageProblems(files)).toStrictEqual([]);
	});

	test("loads little until a session begins", () => {
		const loaded = loadedWith(files, FACTORY);
		expect(loaded.size).toBeGreaterThan(5);
		expect(loaded.size).toBeLessThan(45);
		const packages = [...loaded].flatMap((path) => valueImportsOf(files.get(path) ?? "").map(toPackage));
		expect(packages.filter((name) => name in PACKAGES && !LOADED_BY_PI.test(name))).toStrictEqual([]);
	});

	test("imports every package it has a place for", () => {
		const imported = new Set([...files.values()].flatMap((source) => importsOf(source).map(toPackage)));
		expect(Object.keys(PACKAGES).filter((name) => !imported.has(name))).toStrictEqual([]);
	});

	test("holds nothing that is banned", () => {
		expect(contentProblems(files)).toStrictEqual([]);
	});

	test("has files and folders of the allowed names", () => {
		expect(nameProblems([...files.keys()])).toStrictEqual([]);
	});

	test("names worker files that exist", () => {
		const named = [...files].flatMap(([path, source]) =>
			path.startsWith("src/main/") ? workersNamedIn(path, source) : [],
		);
		expect(named.length).toBeGreaterThan(0);
		expect(named.filter((path) => !existsSync(join(ROOT, path)))).toStrictEqual([]);
	});

	test("has nothing else at its top", () => {
		const ignored = readFileSync(join(ROOT, ".gitignore"), "utf8").split("\n");
		expect(rootProblems(topOfRepository(), ignored)).toStrictEqual([]);
	});
});

describe("the check sees", () => {
	test("what is loaded, and not what is only named or loaded late", () => {
		const sources: Files = new Map([
			[
				"src/main/a.ts",
				'import { b } from "./b.ts";\nimport type { C } from "./c.ts";\nimport { type D } from "./d.ts";\nimport("./e.ts");',
			],
			["src/main/b.ts", 'import { type X, f } from "./f.ts";\nimport { f } from "piscina";'],
			["src/main/f.ts", 'import { a } from "./a.ts";'],
		]);
		expect([...loadedWith(sources, "src/main/a.ts")]).toStrictEqual([
			"src/main/a.ts",
			"src/main/b.ts",
			"src/main/f.ts",
		]);
		expect(valueImportsOf(sources.get("src/main/b.ts") ?? "")).toStrictEqual(["./f.ts", "piscina"]);
	});

	const one = (path: string, source: string): Files => new Map([[path, source]]);

	test.each([
		["shared importing main", "src/shared/x.ts", 'import { a } from "../main/a.ts";'],
		["shared importing a worker", "src/shared/x.ts", 'import type { A } from "../workers/lane.ts";'],
		["main importing a worker", "src/main/x.ts", 'import { Outbox } from "../workers/outbox.ts";'],
		["main importing a worker's type", "src/main/x.ts", 'import type {\n\tOutbox,\n} from "../workers/outbox.ts";'],
		["main importing a worker late", "src/main/x.ts", 'const a = await import("../workers/decode/worker.ts");'],
		["main passing a worker on", "src/main/x.ts", 'export * from "../workers/lane.ts";'],
		["main importing a worker for nothing", "src/main/x.ts", 'import "../workers/lane.ts";'],
		["a deep file of main importing a worker", "src/main/cards/x.ts", 'import { a } from "../../workers/lane.ts";'],
		["a worker importing main", "src/workers/decode/x.ts", 'import { a } from "../../main/config.ts";'],
		["what workers share importing one of them", "src/workers/lane.ts", 'import { a } from "./decode/line-reader.ts";'],
		["one worker importing another", "src/workers/decode/x.ts", 'import { a } from "../poll/tail.ts";'],
		[
			"poll importing more of decode than its codecs",
			"src/workers/poll/x.ts",
			'import { a } from "../decode/stream-json.ts";',
		],
		["poll importing decode's entry", "src/workers/poll/x.ts", 'import a from "../decode/worker.ts";'],
		["a thread entry imported at home", "src/workers/decode/x.ts", 'import a from "./worker.ts";'],
		["src importing a test", "src/main/x.ts", 'import { a } from "../../tests/support/a.ts";'],
		["an import without its ending", "src/main/x.ts", 'import { a } from "./config";'],
	])("%s", (_name, path, source) => {
		expect(directionProblems(one(path, source))).toHaveLength(1);
	});

	test.each([
		["poll importing a codec of decode", "src/workers/poll/x.ts", 'import { a } from "../decode/protobuf.ts";'],
		["a worker importing what workers share", "src/workers/audio/x.ts", 'import { a } from "../lane.ts";'],
		["a worker named by URL", "src/main/x.ts", 'new URL("../workers/decode/worker.ts", url)'],
		[
			"an import in a comment",
			"src/main/x.ts",
			'/**\n * import { a } from "../workers/lane.ts";\n */\n// import "../workers/a.ts";',
		],
	])("nothing wrong with %s", (_name, path, source) => {
		expect(directionProblems(one(path, source))).toStrictEqual([]);
	});

	test.each([
		["msgpackr elsewhere", "src/main/x.ts", 'import { Packr } from "msgpackr";'],
		["a part of msgpackr elsewhere", "src/main/x.ts", 'import { Packr } from "msgpackr/pack";'],
		["comlink elsewhere", "src/workers/lane.ts", 'import * as Comlink from "comlink";'],
		["piscina elsewhere", "src/main/hub.ts", 'import { Piscina } from "piscina";'],
		["Google's SDK elsewhere", "src/main/x.ts", 'const sdk = await import("@google/genai/web");'],
		["the MCP SDK elsewhere", "src/main/x.ts", 'import { A } from "@modelcontextprotocol/sdk/server/index.js";'],
		["pi in shared", "src/shared/x.ts", 'import type { Model } from "@earendil-works/pi-ai";'],
		["pi in a worker", "src/workers/lane.ts", 'import type { Model } from "@earendil-works/pi-ai/models";'],
		["a package without a place", "src/main/x.ts", 'import lodash from "lodash";'],
		["a built-in without its prefix", "src/main/x.ts", 'import { join } from "path";'],
	])("%s", (_name, path, source) => {
		expect(packageProblems(one(path, source))).toHaveLength(1);
	});

	test.each([
		["console", "src/main/x.ts", 'console.log("x");'],
		["console in part", "src/main/x.ts", "const { log } = console; console?.log(1);"],
		["process.stdout", "src/main/x.ts", 'process.stdout.write("x");'],
		["process.stderr", "src/workers/lane.ts", "const out = process.stderr;"],
		["process by key", "src/main/config.ts", 'process["stdout"].write("x");'],
		["node:process", "src/main/x.ts", 'import { stdout } from "node:process";'],
		["the environment elsewhere", "src/main/x.ts", "const home = process.env.HOME;"],
		["the environment taken apart", "src/shared/x.ts", "const { env, pid } = process;"],
		["a default export", "src/main/x.ts", "export default function x() {}"],
		["a renamed default export", "src/main/x.ts", "function x() {}\nexport { x as default };"],
		["an enum", "src/main/x.ts", "export const enum A { B }"],
		["a namespace", "src/main/x.ts", "export namespace A {}"],
		[
			"a parameter property",
			"src/main/x.ts",
			"class A {\n\tconstructor(\n\t\ta: string,\n\t\tprivate readonly b: string,\n\t) {}\n}",
		],
		["a require", "src/main/x.ts", 'const fs = require("node:fs");'],
	])("%s", (_name, path, source) => {
		expect(contentProblems(one(path, source))).toHaveLength(1);
	});

	test.each([
		["the environment where it is read", ENVIRONMENT_READER, "loadConfig(env = process.env)"],
		["the factory", "src/main/extension.ts", "export default function antigravity() {}"],
		["a thread entry", "src/workers/poll/worker.ts", "export default function run() {}"],
		[
			"readonly types of parameters",
			"src/main/x.ts",
			"constructor(a: readonly string[], b: Map<string, readonly A[]>) {}",
		],
		["a private constructor", "src/main/x.ts", "private constructor(child: A, identity: B) {}"],
		["words in comments", "src/main/x.ts", "/** Not console.log. */\nconst a = 1; // process.env is read elsewhere"],
	])("nothing wrong with %s", (_name, path, source) => {
		expect(contentProblems(one(path, source))).toStrictEqual([]);
	});

	test.each([
		"src/main/utils.ts",
		"src/shared/types.ts",
		"src/main/cards/index.ts",
		"src/workers/helpers.ts",
		"src/main/common.ts",
		"src/main/Turn.ts",
		"src/main/piStream.ts",
		"src/main/pi_stream.ts",
		"src/main/x.js",
		"src/x.ts",
		"src/tools/x.ts",
		"src/workers/video/x.ts",
		"src/shared/deep/x.ts",
		"src/main/a/b/x.ts",
	])("the name %s", (path) => {
		expect(nameProblems([path])).toHaveLength(1);
	});

	test("files and folders that have no place at the top", () => {
		const entry = (name: string, isFolder = false) => ({ name, isDirectory: () => isFolder });
		const entries = [
			entry("src", true),
			entry("README.md"),
			entry("dist", true),
			entry("scripts", true),
			entry("notes.md"),
		];
		expect(rootProblems(entries, ["dist/", "*.tgz"])).toStrictEqual(["scripts/", "notes.md"]);
		expect(rootProblems([entry("pi-agy-0.1.0.tgz")], ["dist/", "*.tgz"])).toStrictEqual([]);
	});
});

// --- the check -------------------------------------------------------------------------------------------------------

function directionProblems(files: Files): readonly string[] {
	return eachImport(files, (path, specifier) => {
		if (!specifier.startsWith(".")) return null;
		const target = normalize(join(dirname(path), specifier));
		const isAllowed = LAYERS.some((layer) => layer.files.test(path) && layer.mayImport.some((may) => may.test(target)));
		if (!isAllowed || THREAD_ENTRY.test(target)) return `${path} imports ${target}`;
		return target.endsWith(".ts") ? null : `${path} imports ${specifier} without its ending`;
	});
}

function packageProblems(files: Files): readonly string[] {
	return eachImport(files, (path, specifier) => {
		if (specifier.startsWith(".") || specifier.startsWith("node:")) return null;
		const place = PACKAGES[toPackage(specifier)];
		return place?.test(path) ? null : `${path} imports ${specifier}`;
	});
}

function contentProblems(files: Files): readonly string[] {
	return [...files].flatMap(([path, source]) => {
		const code = withoutComments(source);
		const problems = BANNED.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${path} has ${what}`);
		if (path !== ENVIRONMENT_READER && ENVIRONMENT.test(code)) problems.push(`${path} reads the environment`);
		const hasDefault = /\bexport\s+default\b|\bas\s+default\b/.test(code);
		if (hasDefault && !DEFAULT_EXPORTS.test(path)) problems.push(`${path} has a default export`);
		return problems;
	});
}

function nameProblems(paths: readonly string[]): readonly string[] {
	return paths.filter((path) => {
		const name = path.slice(path.lastIndexOf("/") + 1);
		const isKebabCase = /^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name);
		return !isKebabCase || NAMES_THAT_SAY_NOTHING.test(name) || !SOURCE_FOLDERS.test(dirname(path));
	});
}

function rootProblems(
	entries: readonly { readonly name: string; isDirectory(): boolean }[],
	ignored: readonly string[],
): readonly string[] {
	const isIgnored = (name: string) =>
		ignored.some((line) => {
			const pattern = line.replace(/\/$/, "");
			return pattern.includes("*")
				? new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(name)
				: pattern === name;
		});
	return entries.flatMap((entry) => {
		if (entry.name === ".git" || isIgnored(entry.name)) return [];
		const isFolder = entry.isDirectory();
		const isAllowed = (isFolder ? ROOT_FOLDERS : ROOT_FILES).includes(entry.name);
		return isAllowed ? [] : [`${entry.name}${isFolder ? "/" : ""}`];
	});
}

/** What git keeps there; without git, what is there. */
function topOfRepository(): readonly { readonly name: string; isDirectory(): boolean }[] {
	try {
		const paths = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
		const folders = new Set(paths.filter((path) => path.includes("/")).map((path) => path.split("/", 1)[0] ?? ""));
		const names = new Set(paths.map((path) => path.split("/", 1)[0] ?? ""));
		return [...names].map((name) => ({ name, isDirectory: () => folders.has(name) }));
	} catch {
		return readdirSync(ROOT, { withFileTypes: true }); // An unpacked archive.
	}
}

function eachImport(files: Files, check: (path: string, specifier: string) => string | null): readonly string[] {
	return [...files].flatMap(([path, source]) => importsOf(source).flatMap((specifier) => check(path, specifier) ?? []));
}

/** What a module imports, loads late or passes on. */
function importsOf(source: string): readonly string[] {
	const code = withoutComments(source);
	const patterns = [
		/^\s*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']/gm,
		/^\s*import\s*["']([^"']+)["']/gm,
		/\bimport\s*\(\s*["'`]([^"'`]+)["'`]/g,
	];
	return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1] ?? ""));
}

/** A file and all that Node loads with it. */
function loadedWith(files: Files, path: string, loaded = new Set<string>()): ReadonlySet<string> {
	if (loaded.has(path)) return loaded;
	loaded.add(path);
	const local = valueImportsOf(files.get(path) ?? "").filter((specifier) => specifier.startsWith("."));
	for (const specifier of local) loadedWith(files, normalize(join(dirname(path), specifier)), loaded);
	return loaded;
}

/** What is imported at once and not for its types alone. */
function valueImportsOf(source: string): readonly string[] {
	const statements = withoutComments(source).matchAll(
		/^\s*(?:import|export)\s+(?!type\b)([^;"'`]*?)\bfrom\s*["']([^"']+)["']/gm,
	);
	return [...statements].flatMap(([, names = "", specifier = ""]) => {
		const named =
			/^\s*\{([^}]*)\}\s*$/
				.exec(names)?.[1]
				?.split(",")
				.map((name) => name.trim()) ?? [];
		const isOfTypes = named.length > 0 && named.every((name) => name === "" || name.startsWith("type "));
		return isOfTypes ? [] : [specifier];
	});
}

/** Worker files of the repository that a source names, as in `new URL("../workers/…")`. */
function workersNamedIn(path: string, source: string): readonly string[] {
	return [...withoutComments(source).matchAll(/["'`](\.[^"'`]*workers\/[^"'`]+\.ts)["'`]/g)].map((match) =>
		normalize(join(dirname(path), match[1] ?? "")),
	);
}

function toPackage(specifier: string): string {
	const parts = specifier.split("/");
	return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Drops comments that stand on lines of their own or behind code, as they do in this repository. */
function withoutComments(source: string): string {
	return source.replaceAll(/^\s*\/\*[\s\S]*?\*\//gm, "").replaceAll(/(^|\s)\/\/\s.*$/gm, "$1");
}

function readSources(): Files {
	const names = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true });
	return new Map(
		names
			.filter((entry) => entry.isFile())
			.map((entry) => join(entry.parentPath, entry.name))
			.map((path) => [path.slice(ROOT.length + 1).replaceAll("\\", "/"), readFileSync(path, "utf8")]),
	);
}
