/**
 * The state folder ($AGY_SIM_HOME): where everything lies, and nothing else.
 * It stands for ~/.gemini, with agy's antigravity-cli folder in it. The folders needed by every run are made here,
 * private to the user; the rest appears when it is first written.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

export type Home = {
	readonly path: string;
	readonly journalPath: string;
	readonly gatesPath: string;
	readonly reachedPath: string;
	readonly scratchPath: string;
	readonly conversationsPath: string;
	readonly presencePath: string;
	readonly cachePath: string;
	readonly configPath: string;
	readonly mcpConfigPath: string;
	readonly mcpSchemasPath: string;
	readonly hooksPath: string;
	readonly agentsPath: string;
	readonly settingsPath: string;
	readonly logPath: string;
};

export function openHome(path: string): Home {
	const cli = join(path, "antigravity-cli");
	const home: Home = {
		path,
		journalPath: join(path, "journal.ndjson"),
		gatesPath: join(path, "gates"),
		reachedPath: join(path, "reached"),
		scratchPath: join(cli, "scratch"),
		conversationsPath: join(cli, "conversations"),
		presencePath: join(cli, "presence"),
		cachePath: join(cli, "cache"),
		configPath: join(path, "config"),
		mcpConfigPath: join(path, "config", "mcp_config.json"),
		mcpSchemasPath: join(cli, "mcp"),
		hooksPath: join(path, "config", "hooks.json"),
		agentsPath: join(path, "config", "agents"),
		settingsPath: join(cli, "settings.json"),
		logPath: join(cli, "log", "cli.log"),
	};
	for (const folder of [path, home.gatesPath, home.reachedPath, home.scratchPath, home.configPath]) {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
	}
	return home;
}

export function brainPath(home: Home, conversationId: string): string {
	return join(home.path, "antigravity-cli", "brain", conversationId);
}

export function transcriptPath(home: Home, conversationId: string): string {
	return join(brainPath(home, conversationId), ".system_generated", "logs", "transcript.jsonl");
}
