/** A pi with the patch of the peer in it, or what may look like one: what is found, and what is restored. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { findPatch, type PatchState } from "../../../src/main/peer-patch/peer-patch.ts";
import { restore } from "../../../src/main/peer-patch/restore.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const VERSION = "0.84.3";
const LOADER = "core/extensions/loader.js";
const CLI = "bundle/cli.js";
const ORIGINAL: Readonly<Record<string, string>> = {
	"core/agent-session.js": "class A {\n    getToolDefinition(name) {\n    }\n}\n",
	"core/extensions/runner.js": "class R {\n    getActiveTools() {\n    }\n}\n",
	"core/extensions/types.d.ts": "interface E {\n    getAllTools(): ToolInfo[];\n}\n",
	[LOADER]: "const api = {\n        getAllTools() {\n        },\n};\n",
	[CLI]: '#!/usr/bin/env node\nimport { main } from "./chunks/main-ABC123.js";\nmain();\n',
};
const INSERTED: Readonly<Record<string, string>> = {
	"core/agent-session.js":
		"    /**\n     * LOCAL PATCH (pi-antigravity-bridge): invoke\n     */\n    async invokeTool(name, args = {}, options = {}) {\n    }\n",
	"core/extensions/runner.js": "        this.runtime.invokeTool = actions.invokeTool;\n",
	"core/extensions/types.d.ts": "    invokeTool(name: string, args?: Record<string, unknown>): Promise<unknown>;\n",
	[LOADER]: "            return runtime.invokeTool(name, args, options);\n",
};
const SHIM = '#!/usr/bin/env node\n// LOCAL PATCH (pi-antigravity-bridge): redirect\nimport "../cli.js";\n';

const put = (path: string, content: string, mode = 0o644) => {
	mkdirSync(dirname(folder.at(path)), { recursive: true });
	writeFileSync(folder.at(path), content);
	chmodSync(folder.at(path), mode);
};
const installed = (file: string) => readFileSync(folder.at("pi/dist", file), "utf8");

function toPatched(file: string): string {
	if (file === CLI) return SHIM;
	const [first, ...rest] = (ORIGINAL[file] ?? "").split("\n");
	return [`${first}\n${INSERTED[file]?.trimEnd()}`, ...rest].join("\n");
}

function backUp(
	name: string,
	{ version = VERSION, root = folder.at("pi"), createdAt = "2026-08-01T00:00:00Z" } = {},
): void {
	put(`backups/${name}/VERSION`, JSON.stringify({ version, root, createdAt }));
	for (const [file, content] of Object.entries(ORIGINAL)) put(`backups/${name}/${file}`, content);
}

const withBackup = (change: () => void) => () => {
	backUp("a");
	change();
};
const find = async () => (await findPatch(folder.at("pi"), [folder.at("nowhere"), folder.at("backups")])) as PatchState;
const problems = ({ files }: PatchState) => Object.fromEntries(files.map(({ file, problem }) => [file, problem]));

beforeEach(() => {
	put("pi/package.json", JSON.stringify({ name: "@earendil-works/pi-coding-agent", version: VERSION }));
	put("pi/dist/bundle/chunks/main-ABC123.js", "");
	for (const file of Object.keys(ORIGINAL)) put(`pi/dist/${file}`, toPatched(file), file === CLI ? 0o775 : 0o664);
});

describe("a patched pi with its backup", () => {
	test("is restored whole, with its permissions, and the backup stays", async () => {
		backUp("old", { createdAt: "2026-07-01T00:00:00Z" });
		put(`backups/old/${LOADER}`, "not this one\n");
		backUp("new");
		const state = await find();
		expect(problems(state)).toEqual(Object.fromEntries(Object.keys(ORIGINAL).map((file) => [file, ""])));
		await restore(state);
		for (const [file, content] of Object.entries(ORIGINAL)) expect(installed(file)).toBe(content);
		expect(statSync(folder.at("pi/dist", CLI)).mode & 0o777).toBe(0o775);
		expect(statSync(folder.at("pi/dist", LOADER)).mode & 0o777).toBe(0o664);
		expect((await find()).files).toEqual([]);
		expect(readdirSync(folder.at("backups"))).toEqual(["new", "old"]);
		expect(readdirSync(folder.at("pi/dist/bundle"))).toEqual(["chunks", "cli.js"]); // No draft.
	});

	test("uses an older backup where the newest has patched files", async () => {
		backUp("old", { createdAt: "2026-07-01T00:00:00Z" });
		backUp("new");
		put(`backups/new/${LOADER}`, toPatched(LOADER));
		const { files } = await find();
		expect(files.find(({ file }) => file === LOADER)?.backup?.path).toBe(folder.at("backups/old", LOADER));
	});
});

describe("nothing is changed", () => {
	test.each<[string, () => void, string, RegExp]>([
		["without a backup", () => {}, LOADER, /there is no backup of pi 0\.84\.3$/],
		[
			"with one of another version",
			() => backUp("a", { version: "0.84.2" }),
			LOADER,
			/no backup of pi 0\.84\.3, only of 0\.84\.2/,
		],
		["with one of another pi", () => backUp("a", { root: folder.at("other") }), LOADER, /there is no backup/],
		["with half a backup", withBackup(() => rmSync(folder.at("backups/a", LOADER))), LOADER, /it is not in the backup/],
		[
			"with a patched backup",
			withBackup(() => put(`backups/a/${LOADER}`, toPatched(LOADER))),
			LOADER,
			/its backup is patched, too/,
		],
		[
			"with a backup of other content",
			withBackup(() => put(`backups/a/${LOADER}`, "rm -rf\n")),
			LOADER,
			/not its backup with the patch in it/,
		],
		[
			"with an empty backup",
			withBackup(() => put(`backups/a/${LOADER}`, "")),
			LOADER,
			/not its backup with the patch in it/,
		],
		[
			"with a backup that was cut off",
			withBackup(() => put(`backups/a/${LOADER}`, "const api = {\n")),
			LOADER,
			/not its backup with the patch in it/,
		],
		[
			"with a backup that is a link out of it",
			() => {
				backUp("a");
				rmSync(folder.at("backups/a", LOADER));
				symlinkSync(folder.at("pi/dist/core/agent-session.js"), folder.at("backups/a", LOADER));
			},
			LOADER,
			/it is not in the backup/,
		],
		[
			"with a start file that is none",
			withBackup(() => put(`backups/a/${CLI}`, "#!/bin/sh\n")),
			CLI,
			/does not look like pi's start file/,
		],
		[
			"with a start file of another build",
			withBackup(() => rmSync(folder.at("pi/dist/bundle/chunks/main-ABC123.js"))),
			CLI,
			/loads \.\/chunks\/main-ABC123\.js, which this pi does not have/,
		],
		["with a damaged VERSION", withBackup(() => put("backups/a/VERSION", "{")), LOADER, /there is no backup/],
	])("%s", async (_name, arrange, file, problem) => {
		arrange();
		const state = await find();
		expect(problems(state)[file]).toMatch(problem);
		const before = Object.keys(ORIGINAL).map(installed);
		await expect(restore(state)).rejects.toThrow(/^Nothing was changed: /);
		expect(Object.keys(ORIGINAL).map(installed)).toEqual(before);
	});

	test("when a file has changed since it was looked at", async () => {
		backUp("a");
		const state = await find();
		put(`pi/dist/${LOADER}`, "updated meanwhile\n");
		await expect(restore(state)).rejects.toThrow(`Nothing was changed: ${LOADER} has changed meanwhile.`);
		expect(installed(CLI)).toBe(SHIM);
	});
});

describe("is found", () => {
	test("nothing where pi has such a method of its own", async () => {
		for (const [file, content] of Object.entries(ORIGINAL)) put(`pi/dist/${file}`, content);
		put(`pi/dist/${LOADER}`, toPatched(LOADER));
		expect((await find()).files).toEqual([]);
	});

	test("nothing where a file is a link out of pi", async () => {
		for (const [file, content] of Object.entries(ORIGINAL)) put(`pi/dist/${file}`, content);
		put("elsewhere.js", toPatched("core/agent-session.js"));
		rmSync(folder.at("pi/dist/core/agent-session.js"));
		symlinkSync(folder.at("elsewhere.js"), folder.at("pi/dist/core/agent-session.js"));
		expect((await find()).files).toEqual([]);
	});

	test.each([
		["no folder", () => rmSync(folder.at("pi"), { recursive: true })],
		["a folder of something else", () => put("pi/package.json", '{"name":"other","version":"1.0.0"}')],
	])("no pi in %s", async (_name, arrange) => {
		arrange();
		expect(await findPatch(folder.at("pi"), [])).toBeNull();
	});
});
