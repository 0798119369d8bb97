import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Skill } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import {
	activateSkill,
	type BridgeSkill,
	SKILL_CHARS,
	skillTool,
	toBridgeSkills,
} from "../../../src/main/bridge/skills.ts";
import { textOf } from "../../support/bridge-rig.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();

function write(content: string, ...names: readonly string[]): string {
	const path = folder.at(...names);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, content);
	return path;
}

function toSkill(name: string, filePath: string, over: Partial<Skill> = {}): Skill {
	return {
		...{ name, description: `Does ${name}`, filePath, baseDir: dirname(filePath), disableModelInvocation: false },
		sourceInfo: { path: filePath, source: "local", scope: "user", origin: "top-level" },
		...over,
	};
}

async function activate(skills: readonly BridgeSkill[], name: string): Promise<readonly [boolean, string]> {
	const result = await activateSkill(skills, { name });
	return [result.isError, textOf(result)];
}

describe("the skills for agy", () => {
	test("are those a model may start, each name once", () => {
		const skills = [
			toSkill("a", "/one/a.md"),
			toSkill("b", "/one/b.md", { disableModelInvocation: true }),
			toSkill("a", "/two/a.md"),
		];
		expect(toBridgeSkills(skills)).toStrictEqual([skills[0]]);
	});

	test("are named and summed up by the tool", () => {
		const long = `First line\n  second ${"x".repeat(300)}`;
		const tool = skillTool([toSkill("a", "/a.md"), toSkill("b", "/b.md", { description: long })]);
		expect(tool.inputSchema).toMatchObject({ properties: { name: { enum: ["a", "b"] } }, required: ["name"] });
		const [, first, second] = tool.description.split("\n");
		expect(first).toBe("- a: Does a");
		expect(second).toBe(`- b: First line second ${"x".repeat(141)}…`);
	});
});

describe("an activated skill", () => {
	test("is its text with its folder and files", async () => {
		const path = write("\uFEFF---\nname: review\n---\nRead é", "review", "SKILL.md");
		write("", "review", "z.md");
		write("", "review", "scripts", "deep", "run.sh");
		write("", "review", ".git", "config");
		write("", "review", "node_modules", "x.js");
		write("", "outside", "secret");
		symlinkSync(folder.at("outside"), folder.at("review", "link"));
		symlinkSync(folder.at("outside", "secret"), folder.at("review", "file-link"));
		expect(await activate([toSkill("review", path)], "review")).toStrictEqual([
			false,
			[
				`Skill review. Relative paths in it are relative to ${folder.at("review")}.`,
				"---\nname: review\n---\nRead é",
				`Files of the skill:\n${folder.at("review", "z.md")}\n${folder.at("review", "scripts", "deep", "run.sh")}`,
			].join("\n\n"),
		]);
	});

	test("names no files when it is a file among others", async () => {
		const path = write("Text", "skills", "review.md");
		write("Text", "skills", "other.md");
		const [, text] = await activate([toSkill("review", path)], "review");
		expect(text).not.toContain("other.md");
	});

	test("names 20 files at most", async () => {
		const path = write("Text", "review", "SKILL.md");
		for (let index = 0; index < 30; index += 1) write("", "review", "files", `${index}.md`);
		const [, text] = await activate([toSkill("review", path)], "review");
		expect(text.split("\n").filter((line) => line.startsWith(folder.path))).toHaveLength(20);
	});

	test.each([
		["ends at its limit", "é".repeat(SKILL_CHARS), false],
		["is one character too long", "é".repeat(SKILL_CHARS + 1), true],
		["is far too long", "😀".repeat(SKILL_CHARS), true],
	])("that %s is cut when it has to be", async (_name, content, isCut) => {
		const path = write(content, "review", "SKILL.md");
		const [isError, text] = await activate([toSkill("review", path)], "review");
		expect(isError).toBe(false);
		const [, shown] = text.split("\n\n");
		const cut = `\n[cut after ${SKILL_CHARS} characters; the rest is in ${path}]`;
		expect(shown === content.slice(0, SKILL_CHARS) + (isCut ? cut : "")).toBe(true);
	});

	test.each([
		["is not there", "gone", "ENOENT"],
		["is a folder", "", "EISDIR"],
	])("whose file %s is an error with its reason", async (_name, name, reason) => {
		const [isError, text] = await activate([toSkill("review", folder.at(name))], "review");
		expect([isError, text]).toStrictEqual([true, expect.stringContaining(reason)]);
	});

	test.each([[{ name: "other" }], [{}], [{ name: ["review"] }], [{ name: "__proto__" }]])(
		"has to be one of pi's: %j",
		async (args) => {
			const path = write("Text", "review", "SKILL.md");
			const result = await activateSkill([toSkill("review", path)], args);
			expect([result.isError, textOf(result)]).toStrictEqual([
				true,
				expect.stringContaining("The skills are: review."),
			]);
		},
	);
});
