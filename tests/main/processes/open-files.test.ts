import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, realpathSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { heldOpen, toHeld } from "../../../src/main/processes/open-files.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const PATH = (process.env.PATH ?? "").split(":");

test("a file is held while another process has it open, and not by this one", async () => {
	const names = ["held", "free", "own"];
	for (const name of names) writeFileSync(folder.at(name), "");
	const [held, free, own] = names.map((name) => realpathSync(folder.at(name))) as [string, string, string];
	const file = openSync(held, "a");
	const child = spawn("cat", { stdio: ["pipe", file, "ignore"] });
	closeSync(file);
	const mine = openSync(own, "a");
	try {
		await once(child, "spawn");
		const seen = await heldOpen([held, free, own], PATH);
		if (process.platform === "linux") expect(seen).toEqual(new Set([held]));
		else expect([null, new Set([held])]).toContainEqual(seen); // Without lsof it cannot be seen.
	} finally {
		closeSync(mine);
		child.stdin?.end();
		await once(child, "close");
	}
	expect((await heldOpen([held], PATH)) ?? new Set()).toEqual(new Set());
	expect(await heldOpen([], PATH)).toEqual(new Set());
});

test("of what lsof says only the wanted paths of other processes count", () => {
	const output = `p${process.pid}\nn/mine\np4711\nn/a file\nn/other\n`;
	expect(toHeld(output, new Set(["/mine", "/a file"]))).toEqual(new Set(["/a file"]));
});
