/**
 * Which of pi's tools agy is offered, in the form of MCP. Pure; made anew for every list and every call, so that a tool that
 * was switched off cannot be called from a list that agy remembers.
 *
 * `all`: every active tool that is not pi's own, for agy has its own ways to read, edit and run. Tools of MCP servers
 * count as foreign although pi's built-in extension registers them. `mcp`: only tools of MCP servers. `none`: nothing.
 * A tool that pi does not declare to a model (`"exposure": "codemode"`, the default of MCP servers) is not active and not
 * offered.
 */

import type { ToolInfo } from "@earendil-works/pi-coding-agent";
import type { JsonObject } from "../../shared/events.ts";
import type { BridgeTool } from "./mcp-server.ts";
import { POLL_TOOL, pollTool } from "./parked-calls.ts";
import { type BridgeSkill, SKILL_TOOL, skillTool } from "./skills.ts";

export type BridgeMode = "all" | "mcp" | "none";

/** What the catalog looks at, as `pi.getAllTools()` gives it. */
export type PiTool = Pick<ToolInfo, "name" | "description" | "parameters" | "sourceInfo" | "namespace">;

export type CatalogInput = {
	readonly tools: readonly PiTool[];
	/** Names, as `pi.getActiveTools()` gives them. */
	readonly active: readonly string[];
	readonly mode: BridgeMode;
	/** Tools the user has hidden from agy in this session. */
	readonly hidden: ReadonlySet<string>;
	/** Tools that pi-agy registers with pi: cards of agy's own steps, and ways back to agy. */
	readonly own: ReadonlySet<string>;
	readonly skills: readonly BridgeSkill[];
};

/** pi's source of everything that ships with it. */
const BUILTIN_SOURCE = "builtin";
const MCP_PREFIX = "mcp__";
/** pi's tools that reach the resources of every MCP server. */
const MCP_RESOURCE_TOOLS: ReadonlySet<string> = new Set([
	"list_mcp_resources",
	"list_mcp_resource_templates",
	"read_mcp_resource",
]);
/** An extension that connects MCP servers in pi's place; its tools have names of their own. */
const MCP_ADAPTER = /(^|[/:@])pi-mcp-adapter($|[/@])/;
/** Tools the bridge answers itself: no tool of pi may take their place. */
export const ANSWERED_BY_BRIDGE: ReadonlySet<string> = new Set([POLL_TOOL, SKILL_TOOL]);
/** For a tool whose parameters are no object schema that JSON can carry. */
const OPEN_SCHEMA: JsonObject = { type: "object", additionalProperties: true };

export function toCatalog(input: CatalogInput): readonly BridgeTool[] {
	if (input.mode === "none") return [];
	const active = new Set(input.active);
	const offered = input.tools
		.filter((tool) => active.has(tool.name) && !input.hidden.has(tool.name) && !input.own.has(tool.name))
		.filter((tool) => !ANSWERED_BY_BRIDGE.has(tool.name))
		.filter((tool) => isMcpTool(tool) || (input.mode === "all" && tool.sourceInfo.source !== BUILTIN_SOURCE))
		.map(toBridgeTool);
	const skills = input.skills.length > 0 && !input.hidden.has(SKILL_TOOL) ? [skillTool(input.skills)] : [];
	return [...offered, pollTool(), ...skills];
}

function isMcpTool({ name, namespace, sourceInfo }: PiTool): boolean {
	if (name.startsWith(MCP_PREFIX) || namespace?.name.startsWith(MCP_PREFIX)) return true;
	if (sourceInfo.source === BUILTIN_SOURCE) return MCP_RESOURCE_TOOLS.has(name);
	return MCP_ADAPTER.test(sourceInfo.source) || MCP_ADAPTER.test(sourceInfo.path);
}

function toBridgeTool({ name, description, parameters }: PiTool): BridgeTool {
	return { name, description, inputSchema: toObjectSchema(parameters) };
}

/** A copy without what JSON does not carry. */
function toObjectSchema(parameters: unknown): JsonObject {
	try {
		const copy: unknown = JSON.parse(JSON.stringify(parameters));
		return isObjectSchema(copy) ? copy : OPEN_SCHEMA;
	} catch {
		return OPEN_SCHEMA; // No parameters, or a schema that contains itself.
	}
}

/** MCP wants an object at the top. */
function isObjectSchema(value: unknown): value is JsonObject {
	return typeof value === "object" && value !== null && "type" in value && value.type === "object";
}
