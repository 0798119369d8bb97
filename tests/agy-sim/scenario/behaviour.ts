/**
 * Where agy's versions, or the reports about them, differ. The version decides every switch; a scenario may set any of
 * them by name, which is how two contradicting reports can both be played.
 */
import { count, flag, type Infer, oneOf, record } from "./shape.ts";

export const BEHAVIOUR = record(
	{},
	{
		/** `-p` followed by a flag: takes it as the prompt, or refuses. */
		swallowedFlag: oneOf("silent", "error"),
		/** A prompt given with -p beside stream input. */
		promptBesideStream: oneOf("discard", "error"),
		/** `error: ` before failures on stderr. */
		errorPrefix: flag,
		/** Subcommands wait for the end of an open stdin. */
		subcommandsReadStdin: flag,
		modelsBanner: oneOf("stdout", "stderr", "none"),
		modeFlagHonoured: flag,
		/** What follows the plan in plan mode: the agent goes on by itself, or stops there. */
		planReview: oneOf("proceeds", "stops"),
		schemaRootMustBeObject: flag,
		initAt: oneOf("start", "first-line"),
		initListsTools: flag,
		/** Where init has the conversation id: beside its payload as captured, or in it as some parsers expect. */
		initConversationId: oneOf("beside", "inside"),
		/** A stdin object without `event`: stderr only, or an ERROR result too. */
		missingEvent: oneOf("result", "stderr-only"),
		/** A user line whose text stands beside `event` instead of in `message`. */
		misplacedContent: oneOf("error", "empty-success"),
		/** Larger prompts are dropped silently; 0 takes any size. */
		promptLimitBytes: count,
		stepIndex: oneOf("continues", "resets"),
		/** Where tool output stands in a step. */
		toolOutput: oneOf("tool-info", "step"),
		toolErrorFailsTurn: flag,
		deniedTool: oneOf("ERROR", "DONE"),
		deniedRunStatus: oneOf("SUCCESS", "CANCELED"),
		listsDeniedActions: flag,
		/** Response of a turn with text in several steps. */
		response: oneOf("whole-turn", "last-step"),
		sendsCheckpoint: flag,
		/** A blank system_message after the user's input. */
		systemMessage: oneOf("on-resume", "every-turn", "never"),
		printTimeout: oneOf("error", "partial"),
		/** Seconds; 0 is no limit. */
		defaultPrintTimeoutSeconds: count,
		printTimeoutUsage: oneOf("zero", "real"),
		interruptUsage: oneOf("zero", "real"),
		/** SIGTERM during a turn: handled like SIGINT, or the process ends without a result. */
		terminateMidTurn: oneOf("result", "silent"),
		/** AGY_ERROR line and exit 3 on an API failure before any text, and after some text. */
		apiFailureExits: flag,
		midTurnFailureExits: flag,
		/** A second process on one conversation. */
		conversationInUse: oneOf("error", "share"),
		emptyHookAnswer: oneOf("allow", "deny"),
		hookTimeout: oneOf("block", "pass"),
		/** Hooks of <workspace>/.agents, and MCP servers of it and of every other added folder, beside the global files. */
		loadsWorkspaceConfig: flag,
		/** The MCP client first asks for a newer protocol; a strict one gives a server up that answers with an HTTP error. */
		mcpDiscovery: oneOf("none", "lenient", "strict"),
		/** Comments and trailing commas in mcp_config.json. */
		mcpConfigTakesComments: flag,
		mcpRejectsUndeclaredArguments: flag,
		/** `<`, `>` and `&` written as \u003c and so on. */
		escapeHtml: flag,
	},
);

export type BehaviourOverrides = Infer<typeof BEHAVIOUR>;
export type Behaviour = Readonly<Required<BehaviourOverrides>>;

export function behaviourOf(version: string, overrides: BehaviourOverrides): Behaviour {
	const since = (other: string) => isAtLeast(version, other);
	return {
		swallowedFlag: since("1.1.18") ? "error" : "silent",
		promptBesideStream: "discard",
		errorPrefix: since("1.1.28"),
		subcommandsReadStdin: !since("1.1.23"),
		modelsBanner: version === "1.1.25" ? "stderr" : "stdout",
		modeFlagHonoured: since("1.1.12"),
		planReview: since("1.1.28") ? "proceeds" : "stops",
		schemaRootMustBeObject: since("1.2.14"),
		initAt: version === "1.1.18" ? "first-line" : "start",
		initListsTools: since("1.1.9"),
		initConversationId: "beside",
		missingEvent: version === "1.2.7" || version === "1.2.9" ? "stderr-only" : "result",
		misplacedContent: version === "1.2.5" ? "empty-success" : "error",
		promptLimitBytes: 25_600,
		stepIndex: "continues",
		toolOutput: version === "1.1.17" ? "step" : "tool-info",
		toolErrorFailsTurn: !since("1.1.20"),
		deniedTool: version === "1.1.22" || version === "1.2.9" ? "DONE" : "ERROR",
		deniedRunStatus: version === "1.1.22" ? "CANCELED" : "SUCCESS",
		listsDeniedActions: since("1.1.27"),
		response: "whole-turn",
		sendsCheckpoint: !since("1.1.20"),
		systemMessage: "on-resume",
		printTimeout: since("1.1.28") ? "partial" : "error",
		defaultPrintTimeoutSeconds: since("1.2.6") ? 0 : 300,
		printTimeoutUsage: since("1.1.28") ? "zero" : "real",
		interruptUsage: version === "1.2.11" ? "real" : "zero",
		terminateMidTurn: "result",
		apiFailureExits: since("1.2.6"),
		midTurnFailureExits: since("1.2.10"),
		conversationInUse: "error",
		emptyHookAnswer: "allow",
		hookTimeout: "block",
		loadsWorkspaceConfig: false,
		mcpDiscovery: since("1.2.12") ? "strict" : "none",
		mcpConfigTakesComments: since("1.1.24"),
		mcpRejectsUndeclaredArguments: since("1.1.27"),
		escapeHtml: false,
		...overrides,
	};
}

/** Compares dotted numbers; a version that is no such number counts as newer than all. */
export function isAtLeast(version: string, other: string): boolean {
	const parts = version.split(".").map(Number);
	if (parts.some(Number.isNaN)) return true;
	for (const [index, wanted] of other.split(".").map(Number).entries()) {
		const part = parts[index] ?? 0;
		if (part !== wanted) return part > wanted;
	}
	return true;
}
