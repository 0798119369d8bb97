/**
 * Calls of MCP tools: in the stream a native tool called call_mcp_tool, underneath a real request to the configured
 * server. Several copies run at once, each its own step.
 */
import { join } from "node:path";
import type { StepOf } from "../../scenario/step.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";
import { sayText } from "./text.ts";
import { beginTool, endTool, runTool } from "./tool.ts";

type McpTarget = {
	readonly server: string;
	readonly tool: string;
	readonly args: Readonly<Record<string, unknown>>;
};

type EndedCall = { readonly output: string; readonly outcome: StepOutcome };

export async function callMcp(run: TurnRun, step: StepOf<"mcp">): Promise<StepOutcome> {
	const target = findTarget(run, step);
	if (step.readsSchema) {
		const path = join(run.session.simulation.home.mcpSchemasPath, target.server, `${target.tool}.json`);
		const parameters = { AbsolutePath: path };
		await runTool(run, { name: "view_file", active: 0, parameters, output: "14 lines, 310 bytes" });
	}
	const copies = Array.from({ length: step.copies ?? 1 }, () => callOnce(run, step, target));
	const ended = await Promise.all(copies);
	if (ended.some(({ outcome }) => outcome === "end-turn")) return "end-turn";
	if (!step.tellsOutput) return "go-on";
	return sayText(run, { kind: "text", text: "", deltas: [ended.map(({ output }) => output).join("\n")] });
}

async function callOnce(run: TurnRun, step: StepOf<"mcp">, target: McpTarget): Promise<EndedCall> {
	const { mcp } = run.session;
	const { server, tool, args } = target;
	const mistake = mcp.findMistake(server, tool, args);
	if (mistake !== undefined) {
		const outcome = await runTool(run, { name: "call_mcp_tool", end: "rejected" });
		return { output: `model output error: invalid tool call error (invalid_args) ${mistake}`, outcome };
	}
	const call = await beginTool(run, {
		name: "call_mcp_tool",
		parameters: { Arguments: args, ServerName: server, ToolName: tool },
		...(step.permission === undefined ? {} : { permission: step.permission }),
	});
	if (call === undefined || call.refusal !== undefined) {
		return { output: "", outcome: call === undefined ? "go-on" : await endTool(run, call) };
	}
	const answer = await mcp.call(server, tool, args, run.signal);
	const ending = answer.ok ? { output: answer.output } : ({ end: "error", error: answer.message } as const);
	const outcome = await endTool(run, { ...call, tool: { ...call.tool, ...ending } });
	return { output: answer.ok ? answer.output : answer.message, outcome };
}

/** What to call: the prompt (`tool {"arguments":…}`) when the step says so, else the step, else the first tool there is. */
function findTarget(run: TurnRun, step: StepOf<"mcp">): McpTarget {
	const { mcp } = run.session;
	const [, promptTool, promptArgs] = (step.fromPrompt && /^\s*([\w.-]+)\s*(\{.*\})?\s*$/s.exec(run.prompt)) || [];
	const tool = promptTool ?? step.tool ?? mcp.firstTool?.tool ?? "";
	if (step.ownServer) return { server: mcp.ownServerOf(tool) ?? "", tool, args: run.fill(step.arguments ?? {}) };
	return {
		server: step.server ?? mcp.serverOf(tool) ?? mcp.firstTool?.server ?? "",
		tool,
		args: promptArgs === undefined ? run.fill(step.arguments ?? {}) : JSON.parse(promptArgs),
	};
}
