/** A pi data folder and an agy folder, and what makes the bridges of one pi process known in them. */
import { join } from "node:path";
import { McpConfigFile } from "../../src/main/bridge/mcp-config-file.ts";
import { Registration } from "../../src/main/bridge/registration.ts";
import { SharedServers } from "../../src/main/bridge/shared-servers.ts";
import { Suppression } from "../../src/main/bridge/suppression.ts";
import { JsonStore } from "../../src/main/json-store.ts";

export function openBridgeHome(root: string): {
	readonly shared: SharedServers;
	readonly registration: Registration;
	readonly suppression: Suppression;
} {
	const gemini = join(root, "gemini");
	const store = new JsonStore(join(root, "data", "bridges.json"));
	const shared = new SharedServers(store, new McpConfigFile(join(gemini, "config", "mcp_config.json")));
	const places = { privateRoot: join(root, "data", "bridge"), schemaRoot: join(gemini, "antigravity-cli", "mcp") };
	return { shared, registration: new Registration(shared, places), suppression: new Suppression(shared) };
}
