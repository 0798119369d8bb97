import { expect, test } from "vitest";
import type { BridgeMode, PiTool } from "../../../src/main/bridge/catalog.ts";
import { SessionBridge } from "../../../src/main/bridge/session-bridge.ts";

const TOOLS = ["deploy", "mcp__db__query"].map(
	(name): PiTool => ({
		...{ name, description: name, parameters: { type: "object", properties: {} } },
		sourceInfo: { path: "/x.ts", source: "local", scope: "user", origin: "top-level" },
	}),
);

test("the mode is asked for anew each time; with none, agy is started without the bridge", async () => {
	let mode: BridgeMode = "all";
	const bridge = new SessionBridge({
		mode: () => mode,
		tools: { all: () => TOOLS, active: () => TOOLS.map(({ name }) => name), skills: () => [] },
		own: new Set(),
		shared: () => {
			throw new Error("a server is needed");
		},
		log: () => {},
	});
	expect(bridge.offered()).toStrictEqual(["deploy", "mcp__db__query"]);
	await expect(bridge.open("s")).rejects.toThrow("a server is needed");
	mode = "mcp";
	expect(bridge.offered()).toStrictEqual(["mcp__db__query"]);
	bridge.hidden.add("mcp__db__query");
	expect(bridge.offered()).toStrictEqual([]);
	expect(bridge.offered(new Set())).toStrictEqual(["mcp__db__query"]);
	expect(await bridge.open("s")).toBeNull();
	bridge.hidden.clear();
	await expect(bridge.open("s")).rejects.toThrow("a server is needed");
	mode = "none";
	expect(bridge.offered()).toStrictEqual([]);
	expect(await bridge.open("s")).toBeNull();
});
