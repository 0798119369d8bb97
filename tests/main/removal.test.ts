import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { removeOwn, removeUntilDone } from "../../src/main/removal.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();

describe("what is to be removed", () => {
	test("goes with all that is in it, and may be gone already", async () => {
		await mkdir(folder.at("a", "b"), { recursive: true });
		await writeFile(folder.at("a", "b", "c"), "");
		await removeOwn(folder.at("a"));
		expect(existsSync(folder.at("a"))).toBe(false);
		await removeOwn(folder.at("a"));
	});

	test("goes once a disk that failed works again; the failure is told", async () => {
		const disk = folder.at("disk");
		await mkdir(folder.at("disk", "a"), { recursive: true });
		await rename(disk, folder.at("away"));
		await writeFile(disk, "");
		await expect(removeOwn(folder.at("disk", "a"))).rejects.toThrow("ENOTDIR");
		await rm(disk);
		await rename(folder.at("away"), disk);
		await until("the folder is removed", () => !existsSync(folder.at("disk", "a")));
	});

	test("is tried until it works, and not once more", async () => {
		let tries = 0;
		const remove = async () => {
			if (++tries < 3) throw new Error(`try ${tries}`);
		};
		await expect(removeUntilDone(remove)).rejects.toThrow("try 1");
		await until("the third try", () => tries >= 3);
		await removeUntilDone(async () => {});
		expect(tries).toBe(3);
	});
});
