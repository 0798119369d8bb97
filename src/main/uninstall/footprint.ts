/**
 * Everything that pi-agy has on this machine: its data folder, what it put into agy's folders, its folders in the temporary
 * directory, its processes; and what lies beside and is not proven to be its own. Only looks, so that it can be asked before a removal and
 * again as its proof.
 */

import { lstat, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { toError } from "../../shared/errors.ts";
import { agentOwners, isOwnAgentFile } from "../agent-files.ts";
import { isOurs as isOurServer, toRecord } from "../bridge/bridge-record.ts";
import { McpConfigFile } from "../bridge/mcp-config-file.ts";
import { serverNamesIn } from "../bridge/mcp-config-text.ts";
import { readUpTo } from "../cards/file-content.ts";
import type { Config } from "../config.ts";
import { isPrivateDir, toHubEntries } from "../hub-record.ts";
import { JsonStore } from "../json-store.ts";
import { isAlive, isSame, ownIdentity, type ProcessIdentity } from "../processes/proof.ts";
import { toProcessEntries } from "../processes/registry.ts";
import { isOurEntry, isOurFile, isOurFolder } from "./data-folder.ts";

export type Places = Pick<Config, "dataDir" | "geminiDir">;

export type Item = {
	/** A `session-folder` goes with all that is in it, a `folder` when it is empty. */
	readonly kind:
		| "file"
		| "folder"
		| "session-folder"
		| "agent-file"
		| "mcp-entry"
		| "mcp-schemas"
		| "temp-folder"
		| "process";
	/** The file an entry is in, for `mcp-entry`; "" for a process. */
	readonly path: string;
	/** The entry's name, or the pid. */
	readonly name: string;
};

export type Left = { readonly path: string; readonly why: string };

export type Footprint = {
	readonly items: readonly Item[];
	/** What is there and is not touched. */
	readonly left: readonly Left[];
	/** Living processes of pi, other than this, that use the same folder. */
	readonly others: readonly number[];
};

/** pi's system prompt, many times over. */
const MAX_AGENT_FILE_BYTES = 4 * 1024 * 1024;

/** Where is looked, in words. */
export function placesLookedAt({ dataDir, geminiDir }: Places): readonly string[] {
	return [
		dataDir,
		join(geminiDir, "config", "agents", "pi-agy-*.md"),
		`${mcpConfigOf({ geminiDir })}, entries pi_*`,
		join(geminiDir, "antigravity-cli", "mcp", "pi_*"),
		"pi-agy-* in the temporary directory, as recorded",
		"the processes that were started",
	];
}

export function mcpConfigOf({ geminiDir }: Pick<Places, "geminiDir">): string {
	return join(geminiDir, "config", "mcp_config.json");
}

/** `running` are processes that this pi has started; `knownTemp` folders that were recorded when the record was still there. */
export async function survey(
	places: Places,
	running: readonly ProcessIdentity[],
	knownTemp: readonly string[] = [],
): Promise<Footprint> {
	const [data, agents, servers, schemas, temp, others] = await Promise.all([
		dataItems(places.dataDir),
		agentItems(join(places.geminiDir, "config", "agents")),
		serverItems(mcpConfigOf(places)),
		schemaItems(join(places.geminiDir, "antigravity-cli", "mcp")),
		tempItems(places, knownTemp),
		otherOwners(places),
	]);
	const processes: Item[] = [];
	for (const identity of running)
		if (await isAlive(identity)) processes.push({ kind: "process", path: "", name: String(identity.pid) });
	return {
		items: [...processes, ...servers.items, ...schemas, ...agents.items, ...temp, ...data.items],
		left: [...servers.left, ...agents.left, ...data.left],
		others,
	};
}

type Found = { readonly items: readonly Item[]; readonly left: readonly Left[] };

async function dataItems(dataDir: string): Promise<Found> {
	const root = await realpath(dataDir).catch(() => null); // Never made, or removed.
	const items: Item[] = [];
	const left: Left[] = [];
	if (root === null) return { items, left };
	for (const name of await namesIn(root)) {
		const path = join(root, name);
		const kind = await kindOf(path);
		if (kind === "file" && isOurFile(name)) items.push({ kind: "file", path, name });
		else if (kind === "folder" && isOurFolder(name)) {
			const { items: inner, left: strange } = await folderItems(path, name);
			items.push(...inner);
			left.push(...strange);
			if (strange.length === 0) items.push({ kind: "folder", path, name });
		} else if (kind !== "gone") left.push({ path, why: "it has no name that pi-agy gives" });
	}
	if (root !== dataDir && (await kindOf(dataDir)) === "link") left.push({ path: dataDir, why: "a link that you made" });
	else if (left.length === 0) items.push({ kind: "folder", path: root, name: "" });
	return { items, left };
}

async function folderItems(directory: string, folder: string): Promise<Found> {
	const items: Item[] = [];
	const left: Left[] = [];
	for (const name of await namesIn(directory)) {
		const path = join(directory, name);
		const kind = await kindOf(path);
		const isOfSession = folder === "spill" || folder === "bridge";
		const isOurs = kind === (isOfSession ? "folder" : "file") && isOurEntry(folder, name);
		if (isOurs) items.push({ kind: isOfSession ? "session-folder" : "file", path, name });
		else if (kind !== "gone") left.push({ path, why: "it has no name that pi-agy gives" });
	}
	return { items, left };
}

async function agentItems(directory: string): Promise<Found> {
	const items: Item[] = [];
	const left: Left[] = [];
	for (const name of await namesIn(directory)) {
		if (!name.startsWith("pi-agy-")) continue;
		const path = join(directory, name);
		const isFile = (await kindOf(path)) === "file";
		const content = isFile ? await readUpTo(path, MAX_AGENT_FILE_BYTES).catch(() => null) : null; // Left, as below.
		const isOwn = name.endsWith(".md") && isOwnAgentFile(name.slice(0, -3), content?.toString("utf8") ?? "");
		if (isOwn) items.push({ kind: "agent-file", path, name });
		else left.push({ path, why: "it is not what pi-agy writes under such a name" });
	}
	return { items, left };
}

async function serverItems(path: string): Promise<Found> {
	try {
		const names = serverNamesIn(await new McpConfigFile(path).read()).filter(isOurServer);
		return { items: names.map((name): Item => ({ kind: "mcp-entry", path, name })), left: [] };
	} catch (error) {
		return { items: [], left: [{ path, why: toError(error).message }] };
	}
}

async function schemaItems(directory: string): Promise<readonly Item[]> {
	const names = (await namesIn(directory)).filter(isOurServer);
	return names.map((name): Item => ({ kind: "mcp-schemas", path: join(directory, name), name }));
}

/** Only what is recorded: another pi with another data folder makes folders of such names, too. */
async function tempItems(places: Places, knownTemp: readonly string[]): Promise<readonly Item[]> {
	const recorded = new Set([...knownTemp, ...(await recordedTemp(places))]);
	const items: Item[] = [];
	for (const path of recorded)
		if ((await kindOf(path)) === "folder") items.push({ kind: "temp-folder", path, name: path });
	return items;
}

export async function recordedTemp({ dataDir }: Pick<Places, "dataDir">): Promise<readonly string[]> {
	const hubs = toHubEntries(await readRecord(dataDir, "hubs.json"));
	const processes = toProcessEntries(await readRecord(dataDir, "processes.json"));
	const paths = [...hubs.map(({ privateDir }) => privateDir), ...processes.map(({ socketDir }) => socketDir)];
	return [...new Set(paths.filter(isPrivateDir))];
}

async function otherOwners({ dataDir }: Pick<Places, "dataDir">): Promise<readonly number[]> {
	const bridges = toRecord(await readRecord(dataDir, "bridges.json"));
	const owners = [
		...toHubEntries(await readRecord(dataDir, "hubs.json")),
		...toProcessEntries(await readRecord(dataDir, "processes.json")).map(({ owner }) => owner),
		...agentOwners(await readRecord(dataDir, "agents.json")),
		...bridges.servers.values(),
		...bridges.holders.values(),
	];
	const own = await ownIdentity();
	const alive = new Set<number>();
	for (const owner of owners) if (!isSame(owner, own) && (await mayLive(owner, own))) alive.add(owner.pid);
	return [...alive];
}

/** Where the system proves nothing (Windows), a process of that id counts. */
async function mayLive(owner: ProcessIdentity, own: ProcessIdentity): Promise<boolean> {
	if (own.startTime !== "") return isAlive(owner);
	try {
		return owner.pid !== own.pid && process.kill(owner.pid, 0); // Signal 0 only asks.
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "EPERM"; // It is there, and somebody else's.
	}
}

async function readRecord(dataDir: string, name: string): ReturnType<JsonStore["read"]> {
	return new JsonStore(join(dataDir, name)).read();
}

async function namesIn(directory: string): Promise<readonly string[]> {
	return readdir(directory).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT" || error.code === "ENOTDIR") return []; // It was never made.
		throw error; // What cannot be looked at is not proven to be empty.
	});
}

async function kindOf(path: string): Promise<"file" | "folder" | "link" | "other" | "gone"> {
	const stats = await lstat(path).catch(() => null); // Removed meanwhile.
	if (stats === null) return "gone";
	if (stats.isSymbolicLink()) return "link";
	if (stats.isDirectory()) return "folder";
	return stats.isFile() ? "file" : "other";
}
