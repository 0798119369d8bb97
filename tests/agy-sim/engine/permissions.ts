/**
 * What a tool may do in a run that cannot ask: decided by the command line and settings.json, never by a prompt.
 * A settings file with an unknown toolPermission is discarded as a whole.
 */
import { readFileSync } from "node:fs";
import type { RunOptions } from "../command-line/command.ts";
import type { Home } from "../process/home.ts";
import type { DeniedAction } from "../wire/envelopes.ts";

const PERMISSION_MODES = ["request-review", "always-proceed", "proceed-in-sandbox", "strict"] as const;
export type PermissionMode = (typeof PERMISSION_MODES)[number];

export type Permissions = {
	readonly mode: PermissionMode;
	readonly allowsEdits: boolean;
	/** Entries `action(target)` of permissions.allow. */
	readonly allow: readonly string[];
	readonly deny: readonly string[];
};

type SavedSettings = {
	readonly toolPermission?: unknown;
	readonly permissions?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
};

const ACTIONS: Readonly<Record<string, DeniedAction>> = {
	run_command: { action: "command", display_name: "RunCommand" },
	send_command_input: { action: "command", display_name: "SendCommandInput" },
	write_to_file: { action: "write_file", display_name: "WriteToFile" },
	replace_file_content: { action: "write_file", display_name: "ReplaceFileContent" },
	multi_replace_file_content: { action: "write_file", display_name: "MultiReplaceFileContent" },
	read_url_content: { action: "read_url", display_name: "ReadUrlContent" },
	call_mcp_tool: { action: "mcp", display_name: "CallMcpTool" },
};
const READ_FILE: DeniedAction = { action: "read_file", display_name: "ViewFile" };

export function readPermissions(home: Home, options: RunOptions, modeHonoured: boolean): Permissions {
	const saved = readSettings(home);
	const savedMode = PERMISSION_MODES.find((mode) => mode === saved.toolPermission) ?? "request-review";
	return {
		mode: options.skipPermissions ? "always-proceed" : savedMode,
		allowsEdits: modeHonoured && options.mode === "accept-edits",
		allow: saved.permissions?.allow ?? [],
		deny: saved.permissions?.deny ?? [],
	};
}

export function actionOf(toolName: string): DeniedAction {
	return ACTIONS[toolName] ?? READ_FILE;
}

export function isPermitted(permissions: Permissions, toolName: string, target: string): boolean {
	const { action } = actionOf(toolName);
	if (permissions.deny.some((entry) => covers(entry, action, target))) return false;
	if (permissions.mode === "always-proceed" || action === "read_file") return true;
	if (action === "write_file" && permissions.allowsEdits) return true;
	return permissions.allow.some((entry) => covers(entry, action, target));
}

/** `mcp(server/*)` covers every tool of the server, `command(*)` every command. */
function covers(entry: string, action: string, target: string): boolean {
	const [, entryAction, entryTarget = ""] = /^(\w+)\((.*)\)$/s.exec(entry) ?? [];
	if (entryAction !== action) return false;
	return entryTarget.endsWith("*") ? target.startsWith(entryTarget.slice(0, -1)) : target === entryTarget;
}

function readSettings(home: Home): SavedSettings {
	let saved: SavedSettings;
	try {
		saved = JSON.parse(readFileSync(home.settingsPath, "utf8"));
	} catch {
		return {}; // no settings, or not readable as JSON
	}
	const isKnown = saved.toolPermission === undefined || PERMISSION_MODES.some((mode) => mode === saved.toolPermission);
	return isKnown ? saved : {};
}
