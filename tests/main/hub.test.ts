import { expect, test } from "vitest";
import { workerUrls } from "../../src/main/hub.ts";

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
