import { existsSync, mkdirSync } from "node:fs";
import { expect, test } from "vitest";
import { HubRecord, toHubEntries } from "../../src/main/hub-record.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { ownIdentity } from "../../src/main/processes/proof.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();

test("a hub is recorded while it is there, and removes the folders of those that were killed", async () => {
	const store = new JsonStore(folder.at("hubs.json"));
	const own = await ownIdentity();
	for (const name of ["pi-agy-dead01", "pi-agy-live01", "precious"]) mkdirSync(folder.at(name));
	await store.update(() => ({
		hubs: [
			{ pid: 999_999_999, startTime: "1", privateDir: folder.at("pi-agy-dead01") },
			{ ...own, privateDir: folder.at("pi-agy-live01") },
			{ pid: 999_999_998, startTime: "1", privateDir: folder.at("precious") },
			{ pid: "1" },
		],
		ofOthers: true,
	}));
	const record = new HubRecord(store);
	await record.add(folder.at("pi-agy-own001"));
	expect(existsSync(folder.at("pi-agy-dead01"))).toBe(false);
	expect([existsSync(folder.at("pi-agy-live01")), existsSync(folder.at("precious"))]).toEqual([true, true]);
	const dirs = async () => toHubEntries(await store.read()).map(({ privateDir }) => privateDir);
	expect(await dirs()).toEqual([folder.at("pi-agy-live01"), folder.at("pi-agy-own001")]);
	await record.remove(folder.at("pi-agy-own001"));
	expect(await dirs()).toEqual([folder.at("pi-agy-live01")]);
	expect(await store.read()).toMatchObject({ version: 1, ofOthers: true });
});
