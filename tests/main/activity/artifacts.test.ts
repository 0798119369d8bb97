import { chmodSync, mkdirSync, readFileSync, realpathSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Artifact, findArtifact, listArtifacts } from "../../../src/main/activity/artifacts.ts";
import { isShownSafely, openFile } from "../../../src/main/activity/open-file.ts";
import { until } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();

function put(name: string, ageS: number): void {
	writeFileSync(folder.at(name), "# Plan\n");
	utimesSync(folder.at(name), Date.now() / 1000 - ageS, Date.now() / 1000 - ageS);
}

describe("artifacts", () => {
	test("are the plain files of the folder and of its media folders, newest first", async () => {
		for (const part of [".tempmediaStorage", ".user_uploaded", ".system_generated", "deeper"])
			mkdirSync(folder.at(part));
		put("task.md", 30);
		put(".tempmediaStorage/cat.png", 20);
		put(".user_uploaded/photo.jpg", 10);
		for (const name of [
			"task.md.metadata.json",
			"task.md.resolved",
			"task.md.resolved.3",
			".hidden",
			"deeper/x.md",
			".system_generated/y.md",
		])
			put(name, 1);
		symlinkSync("/etc/hostname", folder.at("hostname.txt"));
		symlinkSync("/etc", folder.at("etc"));
		const artifacts = await listArtifacts(folder.path, Date.now());
		expect(artifacts.map(({ name, kind }) => [name, kind])).toEqual([
			["photo.jpg", "uploaded"],
			["cat.png", "generated"],
			["task.md", "artifact"],
		]);
		expect(artifacts[2]).toMatchObject({ bytes: 7, path: `${realpathSync(folder.path)}/task.md` });
		expect(await listArtifacts("/nowhere/at/all", Date.now())).toEqual([]);
	});

	test("are not looked for behind a link in place of a media folder", async () => {
		mkdirSync(folder.at("elsewhere"));
		put("elsewhere/x.png", 1);
		symlinkSync(folder.at("elsewhere"), folder.at(".tempmediaStorage"));
		expect(await listArtifacts(folder.path, Date.now())).toEqual([]);
	});

	const named = (...names: readonly string[]) =>
		names.map((name): Artifact => ({ name, kind: "artifact", bytes: 1, ageMs: 1, path: `/brain/${name}` }));

	test.each([
		["2", "b plan.md"],
		["0", null],
		["9", null],
		["a plan.md", "a plan.md"],
		["PICTURE", "picture.png"],
		["plan", null],
		["", null],
		["7", "7"],
	])("%s finds %s", (wanted, name) => {
		const artifacts = named("a plan.md", "b plan.md", "picture.png", ...(wanted === "7" ? ["7"] : []));
		expect(findArtifact(artifacts, wanted)?.name ?? null).toBe(name);
	});
});

describe("opening", () => {
	test.each([
		["/x/plan.md", true],
		["/x/picture.PNG", true],
		["/x/run.command", false],
		["/x/page.html", false],
		["/x/app.desktop", false],
		["/x/noextension", false],
	])("%s: %s", (path, isShown) => expect(isShownSafely(path)).toBe(isShown));

	const opener = process.platform === "darwin" ? "open" : "xdg-open";

	function program(body: string): {
		readonly searchPath: readonly string[];
		readonly env: Readonly<Record<string, string>>;
	} {
		writeFileSync(folder.at(opener), `#!/bin/sh\n${body}\n`);
		chmodSync(folder.at(opener), 0o700);
		return { searchPath: [folder.path], env: { PATH: "/usr/bin:/bin", OUT: folder.at("out") } };
	}

	test("hands the path over as one argument, and no shell sees it", async () => {
		const path = "/brain/a; touch $HOME 'b'.md";
		await openFile(path, program('printf "%s|%s" "$#" "$1" > "$OUT"'));
		await until("the program to run", () => readFileSync(folder.at("out"), "utf8") === `1|${path}`);
	});

	test("says that it failed, or that there is no program for it", async () => {
		await expect(openFile("/brain/a.md", program("exit 3"))).rejects.toThrow(
			`The file could not be opened: ${opener} ended with code 3. It is /brain/a.md`,
		);
		await expect(openFile("/brain/a.md", { searchPath: [], env: {} })).rejects.toThrow(
			`${opener} was not found on PATH. The file is /brain/a.md`,
		);
	});
});
