/**
 * The configured MCP servers of a session: connected at start-up (which waits for them), reconnected whenever the
 * configuration file changes, called by mcp steps. The client library is loaded only when a server is configured.
 * Everything that happens is journaled.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Simulation } from "../engine/simulation.ts";
import { watchFolder } from "../process/watch-folder.ts";
import { type McpServerEntry, readMcpConfig } from "./mcp-config.ts";
import type { McpConnection } from "./mcp-connection.ts";

export type McpAnswer =
	| { readonly ok: true; readonly output: string }
	| { readonly ok: false; readonly message: string };

const DEFAULT_ABANDON_MS = 180_000;
const DEFAULT_CONNECT_MS = 30_000;

export class McpServers {
	readonly #simulation: Simulation;
	readonly #paths: readonly string[];
	#seenConfig: string | undefined;
	#connections: readonly McpConnection[] = [];
	#ownNames: ReadonlySet<string> = new Set();
	#loading: Promise<void> = Promise.resolve();

	/** `folders` are those given with --add-dir, the workspace among them. Their servers come before the shared ones. */
	constructor(simulation: Simulation, folders: readonly string[]) {
		this.#simulation = simulation;
		const { home, behaviour } = simulation;
		const own = behaviour.loadsWorkspaceConfig ? new Set(folders.map((folder) => resolve(folder))) : [];
		this.#paths = [...[...own].map((folder) => join(folder, ".agents", "mcp_config.json")), home.mcpConfigPath];
	}

	async start(): Promise<void> {
		await this.#load();
		const reload = () => {
			this.#loading = this.#loading.then(() => this.#load());
		};
		watchFolder(this.#simulation.home.configPath, reload, false);
	}

	/** The first connected server and its first tool, for steps that name none. */
	get firstTool(): { readonly server: string; readonly tool: string } | undefined {
		const connection = this.#connections.find(({ tools }) => tools.length > 0);
		const tool = connection?.tools[0];
		return connection && tool ? { server: connection.name, tool: tool.name } : undefined;
	}

	/** The server that offers the tool; undefined when none does. */
	serverOf(toolName: string): string | undefined {
		return this.#connections.find(({ tools }) => tools.some((tool) => tool.name === toolName))?.name;
	}

	/** The same among the servers of the added folders, which are this session's own. */
	ownServerOf(toolName: string): string | undefined {
		const server = this.serverOf(toolName);
		return server !== undefined && this.#ownNames.has(server) ? server : undefined;
	}

	/** Why a call never becomes one: unknown tool or undeclared arguments. Undefined when it may be made. */
	findMistake(server: string, toolName: string, args: Readonly<Record<string, unknown>>): string | undefined {
		const connection = this.#find(server);
		if (connection === undefined) return undefined; // shows as a failed call
		const tool = connection.tools.find(({ name }) => name === toolName);
		if (tool === undefined) return `unknown tool "${toolName}"`;
		if (!this.#simulation.behaviour.mcpRejectsUndeclaredArguments) return undefined;
		const undeclared = Object.keys(args).find((key) => !tool.declares(key));
		return undeclared === undefined ? undefined : `undeclared argument "${undeclared}"`;
	}

	async call(
		server: string,
		tool: string,
		args: Readonly<Record<string, unknown>>,
		signal: AbortSignal,
	): Promise<McpAnswer> {
		const { journal, scenario } = this.#simulation;
		await this.#loading; // a reload in progress comes first
		const connection = this.#find(server);
		if (connection === undefined) return { ok: false, message: `MCP server "${server}" is not connected` };
		journal.append({ kind: "mcp", event: "call", server, tool, arguments: args });
		const answer = await connection.call(tool, args, scenario.mcpAbandonMs ?? DEFAULT_ABANDON_MS, signal);
		journal.append({ kind: "mcp", event: "answer", server, tool, ...answer });
		return answer;
	}

	#find(server: string): McpConnection | undefined {
		return this.#connections.find(({ name }) => name === server);
	}

	async #load(): Promise<void> {
		const { journal, behaviour } = this.#simulation;
		const configs = this.#paths.map((path) => readMcpConfig(path, behaviour.mcpConfigTakesComments));
		const text = configs.map((config) => config.text).join("\n");
		if (text === this.#seenConfig) return;
		const isReload = this.#seenConfig !== undefined;
		const broken = configs.find((config) => !config.ok);
		if (broken !== undefined && !broken.ok) {
			journal.append({ kind: "mcp", event: "unreadable-config", error: broken.error });
			return;
		}
		this.#seenConfig = text;
		const own = configs.slice(0, -1).flatMap((config) => (config.ok ? config.servers : []));
		this.#ownNames = new Set(own.map(({ name }) => name));
		const all = configs.flatMap((config) => (config.ok ? config.servers : []));
		const entries = all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
		if (isReload) journal.append({ kind: "mcp", event: "reload", servers: entries.map(({ name }) => name) });
		await Promise.all(this.#connections.map((connection) => connection.close()));
		const opened = await Promise.all(entries.map((entry) => this.#connect(entry)));
		this.#connections = opened.filter((connection) => connection !== undefined);
	}

	async #connect(entry: McpServerEntry): Promise<McpConnection | undefined> {
		const { journal, scenario, behaviour } = this.#simulation;
		if (entry.disabled === true || entry.serverUrl === undefined) {
			journal.append({ kind: "mcp", event: "skipped", server: entry.name });
			return undefined;
		}
		try {
			const { connectMcp } = await import("./mcp-connection.ts");
			const connection = await connectMcp(entry, {
				connectMs: scenario.mcpConnectMs ?? DEFAULT_CONNECT_MS,
				discovery: behaviour.mcpDiscovery,
				onDiscovered: (status) => journal.append({ kind: "mcp", event: "discovered", server: entry.name, status }),
			});
			const tools = connection.tools.map(({ name }) => name);
			journal.append({ kind: "mcp", event: "connected", server: entry.name, tools });
			this.#cacheSchemas(connection);
			return connection;
		} catch (error) {
			const message = error instanceof Error ? error.message : String(error);
			journal.append({ kind: "mcp", event: "connect-failed", server: entry.name, message });
			return undefined;
		}
	}

	/** The copies the model reads before it calls a tool. */
	#cacheSchemas(connection: McpConnection): void {
		const folder = join(this.#simulation.home.mcpSchemasPath, connection.name);
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		for (const tool of connection.tools) {
			writeFileSync(join(folder, `${tool.name}.json`), `${JSON.stringify(tool.description, undefined, 2)}\n`);
		}
	}
}
