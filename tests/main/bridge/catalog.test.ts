import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { type CatalogInput, type PiTool, toCatalog } from "../../../src/main/bridge/catalog.ts";

const OPEN = { type: "object", additionalProperties: true };

function piTool(name: string, source: string, over: Partial<PiTool> = {}): PiTool {
	const path = source === "builtin" ? `builtin:${name}` : `/extensions/${source}`;
	return {
		name,
		description: `Does ${name}`,
		parameters: Type.Object({}),
		sourceInfo: { path, source, scope: "user", origin: "top-level" },
		...over,
	};
}

const TOOLS: readonly PiTool[] = [
	piTool("read", "builtin"),
	piTool("codemode", "builtin"),
	piTool("mcp__docs__search", "builtin", { namespace: { name: "mcp__docs" } }),
	piTool("list_mcp_resources", "builtin"),
	piTool("deploy", "local"),
	piTool("bash", "npm:ssh-tools"),
	piTool("jira", "npm:pi-mcp-adapter@2.0.0"),
	piTool("agy_step", "npm:pi-agy"),
];

function namesOf(over: Partial<CatalogInput> = {}): readonly string[] {
	return toCatalog({
		tools: TOOLS,
		active: TOOLS.map(({ name }) => name),
		mode: "all",
		hidden: new Set(),
		own: new Set(["agy_step"]),
		skills: [],
		...over,
	}).map(({ name }) => name);
}

const SKILL = { name: "review", description: "Reviews", filePath: "/s/review/SKILL.md", baseDir: "/s/review" };
const MCP = ["mcp__docs__search", "list_mcp_resources"];

describe("the catalog", () => {
	test.each<readonly [string, Partial<CatalogInput>, readonly string[]]>([
		["all but pi's own", {}, [...MCP, "deploy", "bash", "jira", "bridge_poll_result"]],
		["tools of MCP servers", { mode: "mcp" }, [...MCP, "jira", "bridge_poll_result"]],
		["nothing", { mode: "none", skills: [SKILL] }, []],
		["active tools only", { active: ["read", "deploy", "gone"] }, ["deploy", "bridge_poll_result"]],
		["no hidden tool", { hidden: new Set(["deploy", ...MCP]) }, ["bash", "jira", "bridge_poll_result"]],
		["no tool of pi-agy", { tools: [piTool("agy_step", "local")] }, ["bridge_poll_result"]],
		["skills when there are some", { active: [], skills: [SKILL] }, ["bridge_poll_result", "activate_skill"]],
		["no hidden skills", { active: [], skills: [SKILL], hidden: new Set(["activate_skill"]) }, ["bridge_poll_result"]],
		[
			"its own tools in the place of tools of their names",
			{
				tools: [piTool("activate_skill", "local"), piTool("bridge_poll_result", "local")],
				active: ["activate_skill", "bridge_poll_result"],
				skills: [SKILL],
			},
			["bridge_poll_result", "activate_skill"],
		],
	])("offers %s", (_name, over, expected) => {
		expect(namesOf(over)).toStrictEqual(expected);
	});

	test.each([
		["mcp__a__b", "anything", true],
		["search", "npm:pi-mcp-adapter", true],
		["search", "npm:@scope/pi-mcp-adapter", true],
		["search", "npm:not-pi-mcp-adapter", false],
		["search", "npm:pi-mcp-adapter-extras", false],
		["list_mcp_resources", "npm:other", false],
		["read", "builtin", false],
	])("takes %s of %s for a tool of an MCP server: %s", (name, source, expected) => {
		const names = namesOf({ mode: "mcp", tools: [piTool(name, source)], active: [name] });
		expect(names.includes(name)).toBe(expected);
	});

	test("keeps a tool's name and description, and copies its parameters", () => {
		const parameters = Type.Object({ path: Type.String({ description: "Where" }), deep: Type.Optional(Type.Number()) });
		const [tool] = toCatalog({
			...{ tools: [piTool("deploy", "local", { parameters })], active: ["deploy"], mode: "all" },
			...{ hidden: new Set(), own: new Set(), skills: [] },
		});
		expect(tool).toStrictEqual({
			name: "deploy",
			description: "Does deploy",
			inputSchema: {
				type: "object",
				required: ["path"],
				properties: { path: { type: "string", description: "Where" }, deep: { type: "number" } },
			},
		});
		expect(tool?.inputSchema.properties).not.toBe(parameters.properties);
	});

	const circular: Record<string, unknown> = { type: "object" };
	circular.self = circular;
	test.each([
		["none", undefined],
		["a schema that contains itself", circular],
		["a text", Type.String()],
		["a choice", Type.Union([Type.Object({}), Type.Object({})])],
		["a list", [1]],
		["a number JSON does not know", { type: "object", default: 1n }],
	])("offers a tool whose parameters are %s with any arguments", (_name, parameters) => {
		const [tool] = toCatalog({
			tools: [piTool("deploy", "local", { parameters: parameters as PiTool["parameters"] })],
			...{ active: ["deploy"], mode: "all", hidden: new Set(), own: new Set(), skills: [] },
		});
		expect(tool?.inputSchema).toStrictEqual(OPEN);
	});
});
