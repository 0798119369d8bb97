import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { checkArguments, requireFlags } from "../../../src/main/tools/ask-arguments.ts";
import { type AskArguments, AskParameters } from "../../../src/main/tools/ask-parameters.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const OPEN = { mode: "default", skipPermissions: true } as const;

function check(args: Partial<AskArguments>, config: Parameters<typeof checkArguments>[1] = OPEN) {
	return checkArguments({ prompt: "x", ...args }, config, folder.path);
}

describe("arguments", () => {
	test("have defaults", async () => {
		expect(await check({})).toEqual({
			prompt: "x",
			cwd: folder.path,
			mode: "default",
			files: [],
			conversationId: null,
			schema: null,
			timeoutMin: 10,
		});
	});

	test("name places from where they stand", async () => {
		mkdirSync(folder.at("below"));
		writeFileSync(folder.at("below", "a.txt"), "");
		expect(await check({ cwd: "below", files: ["a.txt", folder.path] })).toMatchObject({
			cwd: folder.at("below"),
			files: [folder.at("below", "a.txt"), folder.path],
		});
		expect((await check({ cwd: "~" })).cwd).toBe(homedir());
	});

	test.each([
		[{ timeoutMinutes: 0.01 }, false],
		[{ timeoutMinutes: 0.05 }, true],
		[{ timeoutMinutes: 1441 }, false],
		[{ thinking: "xhigh" }, true],
		[{ thinking: "enormous" }, false],
		[{ mode: "yolo" }, false],
		[{ prompt: "" }, false],
	])("%j are declared as allowed: %s", (args, isAllowed) => {
		expect(Value.Check(AskParameters, { prompt: "x", ...args })).toBe(isAllowed);
	});

	test.each(["c0ffee00-0000-4000-8000-000000000001", "a", "A_b.c"])(
		"%s is a conversation id",
		async (conversationId) => {
			expect((await check({ conversationId })).conversationId).toBe(conversationId);
		},
	);

	test.each(["", "-a", "../a", "a/b", "a b", "a\n", "x".repeat(129)])("%j is none", async (conversationId) => {
		await expect(check({ conversationId })).rejects.toThrow(/is no id of agy/);
	});
});

describe("a mode", () => {
	test.each([
		["default", true, ["default", "accept-edits", "plan"]],
		["default", false, ["default", "plan"]],
		["accept-edits", true, ["default", "accept-edits", "plan"]],
		["accept-edits", false, ["default", "accept-edits", "plan"]],
		["plan", true, ["plan"]],
		["plan", false, ["plan"]],
	] as const)("within %s, skipping permissions %s, may be %j", async (mode, skipPermissions, allowed) => {
		for (const asked of ["default", "accept-edits", "plan"] as const) {
			const checked = await check({ mode: asked }, { mode, skipPermissions }).then(
				() => true,
				() => false,
			);
			expect([asked, checked]).toEqual([asked, (allowed as readonly string[]).includes(asked)]);
		}
	});

	test("is the user's when none is asked for", async () => {
		expect((await check({}, { mode: "plan", skipPermissions: true })).mode).toBe("plan");
	});

	test("and an agent need a flag of agy", () => {
		const binary = { version: "1.1.20", missingFlags: ["mode", "agent"] } as never;
		requireFlags(binary, "default", null);
		expect(() => requireFlags(binary, "plan", null)).toThrow(/1\.1\.20 has no --mode/);
		expect(() => requireFlags(binary, "default", "a")).toThrow(/has no --agent/);
	});
});
