/**
 * mcp_config.json: the servers it names. HTTP servers need `serverUrl`; other spellings and stdio servers are listed but
 * not connected to. An unreadable file is told apart from one without servers.
 */
import { readFileSync } from "node:fs";
import { parseJsonWithComments } from "./json-with-comments.ts";

export type McpServerEntry = {
	readonly name: string;
	readonly serverUrl?: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly command?: string;
	readonly disabled?: boolean;
	readonly disabledTools?: readonly string[];
};

export type McpConfig =
	| { readonly ok: true; readonly text: string; readonly servers: readonly McpServerEntry[] }
	| { readonly ok: false; readonly text: string; readonly error: string };

export function readMcpConfig(path: string, takesComments: boolean): McpConfig {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch {
		return { ok: true, text: "", servers: [] }; // no file: no servers
	}
	try {
		const file = (takesComments ? parseJsonWithComments(text) : JSON.parse(text)) as {
			readonly mcpServers?: Readonly<Record<string, Omit<McpServerEntry, "name">>>;
		};
		const servers = Object.entries(file.mcpServers ?? {}).map(([name, server]) => ({ ...server, name }));
		return { ok: true, text, servers };
	} catch (error) {
		return { ok: false, text, error: error instanceof Error ? error.message : String(error) };
	}
}
