/**
 * A session that has started: one conversation in one process, with everything a turn needs. Made by start-session.ts.
 */
import type { JsonSchema } from "../command-line/answer-schema.ts";
import type { RunOptions } from "../command-line/command.ts";
import type { Recorder } from "../database/recorder.ts";
import type { Hooks } from "../integrations/hooks.ts";
import type { McpServers } from "../integrations/mcp-servers.ts";
import type { StdinLines } from "../wire/stdin-lines.ts";
import type { Conversation } from "./conversation.ts";
import type { Permissions } from "./permissions.ts";
import type { Reporter } from "./reporter.ts";
import type { Simulation } from "./simulation.ts";

export type Session = {
	readonly simulation: Simulation;
	readonly options: RunOptions;
	readonly reporter: Reporter;
	readonly conversation: Conversation;
	/** Writes the conversation database; absent unless the scenario or the environment wants one. */
	readonly database: Recorder | undefined;
	/** Whether a system_message step is due in the turn that begins: usually only in the first after a resume. */
	readonly takeSystemMessage: () => boolean;
	/** Prints init; only the first call does. */
	readonly announce: () => Promise<void>;
	readonly model: string | undefined;
	readonly schema: JsonSchema | undefined;
	/** Where the agent works: the added folder, not the working directory of the process. */
	readonly workspace: string;
	readonly permissions: Permissions;
	readonly hooks: Hooks;
	readonly mcp: McpServers;
	/** Absent in print mode, and when the scenario does not read it. */
	readonly stdin: StdinLines | undefined;
};
