/** Scenarios around the shared configuration: MCP servers and hooks. They need the files a test puts under config/. */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Step } from "../scenario/step.ts";

const MCP_CALL: Step = { kind: "mcp", fromPrompt: true, readsSchema: true, tellsOutput: true };
const WRITE: Step = {
	kind: "tool",
	name: "write_to_file",
	permission: "allowed",
	parameters: { TargetFile: "{{workspace}}/hooked.txt" },
	arguments: { TargetFile: "{{workspace}}/hooked.txt", CodeContent: "hooked\n", Overwrite: true },
	writes: { path: "hooked.txt", text: "hooked\n" },
};
const ANSWER: Step = { kind: "text", text: "Done.\n", deltaChars: 0 };

export const INTEGRATIONS: ScenarioFamily = {
	"mcp-call": {
		about:
			'calls the MCP tool the prompt names (`tool {"some":"arguments"}`), else the first one; answers with its output',
		turns: [{ steps: [{ kind: "think" }, MCP_CALL] }],
	},
	"mcp-parallel": {
		about: "120 calls of that tool at once",
		turns: [{ steps: [{ kind: "mcp", fromPrompt: true, copies: 120 }, ANSWER] }],
	},
	"mcp-abandon": {
		about: "gives a call up after 300 ms instead of 180 s",
		mcpAbandonMs: 300,
		turns: [{ steps: [{ kind: "mcp", fromPrompt: true }, ANSWER] }],
	},
	"mcp-lenient": {
		about: "an HTTP error in answer to server/discover does not matter",
		behaviour: { mcpDiscovery: "lenient" },
		turns: [{ steps: [MCP_CALL] }],
	},
	"mcp-reload": {
		about: "two calls with gate `go` between them (marker `called`): change mcp_config.json meanwhile",
		turns: [
			{
				steps: [
					{ kind: "mcp", fromPrompt: true, tellsOutput: true },
					{ kind: "touch", marker: "called" },
					{ kind: "wait", gate: "go" },
					{ kind: "mcp", fromPrompt: true, tellsOutput: true },
				],
			},
		],
	},
	hooked: { about: "write_to_file with its full arguments for a PreToolUse hook", turns: [{ steps: [WRITE, ANSWER] }] },
	"hook-empty-denies": {
		about: "a hook that answers {} denies",
		behaviour: { emptyHookAnswer: "deny" },
		turns: [{ steps: [WRITE, ANSWER] }],
	},
	"hook-timeout-passes": {
		about: "a hook that times out does not block",
		behaviour: { hookTimeout: "pass" },
		turns: [{ steps: [WRITE, ANSWER] }],
	},
	"hook-stop": {
		about: "runs the invocation hooks; a Stop hook that answers `continue` gets a second answer",
		turns: [
			{
				steps: [
					{ kind: "hook", event: "PreInvocation" },
					{ kind: "text", text: "First answer.\n" },
					{ kind: "hook", event: "PostInvocation" },
					{ kind: "hook", event: "Stop" },
					{ kind: "text", text: "Second answer.\n" },
				],
			},
		],
	},
	"workspace-config": {
		about: "hooks of <workspace>/.agents are loaded too, and MCP servers of it and of the other added folders",
		behaviour: { loadsWorkspaceConfig: true },
		turns: [{ steps: [WRITE, MCP_CALL] }],
	},
	plan: {
		about: "for --mode plan: after the plan the agent edits hooked.txt in the workspace anyway",
		turns: [{ steps: [{ kind: "text", text: "Following the plan.\n" }, WRITE, ANSWER] }],
	},
};
