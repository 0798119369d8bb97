import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/main/config.ts";
import { HubShare, workerUrls } from "../../src/main/hub.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();

test.each([
	["from a checkout", "file:///home/u/pi-agy/src/main/hub.ts", "file:///home/u/pi-agy/src/workers/decode/worker.ts"],
	[
		"from an installed package, where Node takes no TypeScript",
		"file:///home/u/node_modules/pi-agy/src/main/hub.ts",
		"file:///home/u/node_modules/pi-agy/dist/workers/decode/worker.js",
	],
])("the worker %s", (_name, moduleUrl, workerUrl) => {
	expect(workerUrls(moduleUrl).decode.href).toBe(workerUrl);
});

test("a share that was given back makes no second hub", async () => {
	const config = loadConfig({ PI_CODING_AGENT_DIR: folder.path, AGY_GEMINI_DIR: folder.at("gemini") });
	const share = new HubShare(config);
	const { privateDir } = share.get();
	await share.release();
	expect(() => share.get()).toThrow("This pi session has ended.");
	expect(share.peek()).toBeNull();
	const unused = new HubShare(config);
	await unused.release();
	expect(() => unused.get()).toThrow("This pi session has ended.");
	expect(readdirSync(tmpdir())).not.toContain(privateDir.split("/").at(-1));
});
