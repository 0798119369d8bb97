/**
 * From arguments to a session, in agy's order: start-up faults of the scenario, the choice of model and schema, the
 * conversation, then hooks and MCP servers. Whatever fails before the session exists shows as one lone ERROR result, and
 * the process leaves with code 1.
 */
import { closeSync } from "node:fs";
import { resolve } from "node:path";
import { readAnswerSchema } from "../command-line/answer-schema.ts";
import type { RunOptions } from "../command-line/command.ts";
import { chooseModel, DEFAULT_MODELS } from "../command-line/model-choice.ts";
import { Hooks } from "../integrations/hooks.ts";
import { McpServers } from "../integrations/mcp-servers.ts";
import { touchMarker, waitForGate } from "../process/gates.ts";
import { StdinLines } from "../wire/stdin-lines.ts";
import { NATIVE_TOOL_NAMES } from "../wire/tool-names.ts";
import { NO_USAGE } from "../wire/usage.ts";
import { lockConversation, openConversation, unlockConversation } from "./open-conversation.ts";
import { readPermissions } from "./permissions.ts";
import { makeReporter, type Reporter } from "./reporter.ts";
import type { Session } from "./session.ts";
import type { Simulation } from "./simulation.ts";

const NEVER = new AbortController().signal;

export async function startSession(simulation: Simulation, options: RunOptions): Promise<Session> {
	const { home, scenario, behaviour, version } = simulation;
	const reporter = makeReporter(simulation, options.output);
	if (options.logFile !== undefined) simulation.logTo(options.logFile);
	simulation.log(`Language server version: ${version}`);
	await playStartUpFaults(simulation, reporter);

	const choice = chooseModel(scenario.models?.rows ?? DEFAULT_MODELS, options.model, options.effort);
	if (!choice.ok) return failToStart(simulation, reporter, choice.error);
	const answer = readAnswerSchema(options.jsonSchema, behaviour);
	if (!answer.ok) return failToStart(simulation, reporter, answer.error);

	const addedDir = options.addDirs[0];
	const wantedWorkspace = addedDir === undefined ? home.scratchPath : resolve(addedDir);
	const { conversation, resumed, warning } = openConversation(home, options, wantedWorkspace, scenario);
	if (warning !== undefined) await simulation.writeStderr(warning);
	const holder = lockConversation(home, conversation.id);
	if (holder === undefined) {
		simulation.onLeave(() => unlockConversation(home, conversation.id));
	} else if (behaviour.conversationInUse === "error") {
		const error = `conversation "${conversation.id}" is in use by another process (pid ${holder})`;
		return failToStart(simulation, reporter, error);
	}
	simulation.log(`${resumed ? "Streaming" : "Created"} conversation ${conversation.id}`);
	const hasDatabase = simulation.settings.database ?? scenario.database !== undefined;
	const database = hasDatabase
		? await (await import("../database/open-recorder.ts")).openRecorder(simulation, conversation, options)
		: undefined;
	if (options.mode === "plan" && !options.slashCommands) {
		await simulation.writeStderr("warning: --mode plan has no effect while slash command expansion is disabled.");
	}

	const { workspace } = conversation.record;
	const permissions = readPermissions(home, options, behaviour.modeFlagHonoured);
	const hooks = new Hooks(simulation, workspace);
	const mcp = new McpServers(simulation, [workspace, ...options.addDirs]);
	await mcp.start();
	let isFirstTurn = true;
	let announced = scenario.start?.init === "never";
	return {
		simulation,
		options,
		reporter,
		conversation,
		database,
		takeSystemMessage: () => {
			const isDue = behaviour.systemMessage === "on-resume" ? resumed && isFirstTurn : true;
			isFirstTurn = false;
			return isDue && behaviour.systemMessage !== "never";
		},
		announce: async () => {
			if (announced) return;
			announced = true;
			await reporter.init(conversation.id, {
				model: scenario.start?.initModel ?? choice.model,
				agent: options.agent,
				cwd: process.cwd(),
				tools: behaviour.initListsTools ? NATIVE_TOOL_NAMES : undefined,
				permissionMode: permissions.mode,
				jsonSchema: answer.schema,
			});
		},
		model: choice.model,
		schema: answer.schema,
		workspace,
		permissions,
		hooks,
		mcp,
		stdin: openStdin(simulation, options),
	};
}

async function playStartUpFaults(simulation: Simulation, reporter: Reporter): Promise<void> {
	const { scenario, home, journal } = simulation;
	const start = scenario.start ?? {};
	simulation.signals.ignore(start.ignoreSignals ?? []);
	for (const line of start.stdout ?? []) await simulation.stdout.writeLine(line);
	for (const line of start.stderr ?? []) await simulation.writeStderr(line);
	if (start.marker !== undefined) touchMarker(home, journal, start.marker);
	if (start.waitForGate !== undefined) await waitForGate(home, start.waitForGate, NEVER);
	if (start.exitCode !== undefined) await simulation.leave(start.exitCode);
	if (start.failure !== undefined) await failToStart(simulation, reporter, start.failure);
}

async function failToStart(simulation: Simulation, reporter: Reporter, error: string): Promise<never> {
	await reporter.result({
		conversationId: "",
		status: "ERROR",
		response: "",
		error,
		durationSeconds: 0,
		numTurns: 0,
		usage: NO_USAGE,
	});
	await simulation.writeError(error);
	return simulation.leave(1);
}

function openStdin(simulation: Simulation, options: RunOptions): StdinLines | undefined {
	const use = simulation.scenario.start?.stdin ?? "read";
	if (use === "closed") closeSync(0);
	return options.streamInput && use === "read" ? new StdinLines(process.stdin, simulation.journal) : undefined;
}
