/** Removes what a footprint lists, each thing by itself: one that cannot be removed is told and keeps no other from going. */

import { rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { toError } from "../../shared/errors.ts";
import { McpConfigFile } from "../bridge/mcp-config-file.ts";
import { SharedServers } from "../bridge/shared-servers.ts";
import { JsonStore } from "../json-store.ts";
import { type Item, type Left, mcpConfigOf, type Places } from "./footprint.ts";

/** What could not be removed. Processes are not touched: whoever started them ends them. */
export async function removeItems(places: Places, items: readonly Item[]): Promise<readonly Left[]> {
	const failed: Left[] = [];
	const attempt = (path: string, work: () => Promise<unknown>) =>
		work().catch((error: unknown) => void failed.push({ path, why: toError(error).message }));

	const servers = items.filter(({ kind }) => kind === "mcp-entry").map(({ name }) => name);
	// First of all: it writes down in the data folder what it does.
	if (servers.length > 0) await attempt(mcpConfigOf(places), () => sharedServers(places).update({ remove: servers }));
	for (const { kind, path } of items) {
		if (kind === "mcp-entry" || kind === "process") continue;
		const isWhole = kind === "session-folder" || kind === "temp-folder" || kind === "mcp-schemas";
		if (kind !== "folder") await attempt(path, () => rm(path, { recursive: isWhole, force: true }));
	}
	// The inner ones stand before the outer one.
	for (const { kind, path } of items) if (kind === "folder") await attempt(path, () => removeEmpty(path));
	return failed;
}

async function removeEmpty(path: string): Promise<void> {
	await rmdir(path).catch((error: NodeJS.ErrnoException) => {
		if (error.code !== "ENOENT") throw error; // It is gone: all the better.
	});
}

function sharedServers(places: Places): SharedServers {
	const record = new JsonStore(join(places.dataDir, "bridges.json"));
	return new SharedServers(record, new McpConfigFile(mcpConfigOf(places)));
}
