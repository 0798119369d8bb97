/**
 * The hooks of config/hooks.json: shell commands asked before and after tools and around model calls. Files are read once,
 * at start-up. A call runs unless some hook says no, or goes wrong.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Session } from "../engine/session.ts";
import type { Simulation } from "../engine/simulation.ts";
import { brainPath, transcriptPath } from "../process/home.ts";
import { type HookAnswer, type HookCommand, runHookCommand } from "./hook-command.ts";

export type ToolCallSeenByHook = {
	readonly stepIndex: number;
	readonly name: string;
	/** The full arguments, more than the stream shows. */
	readonly args: unknown;
};

export type InvocationEvent = "PreInvocation" | "PostInvocation" | "Stop";

type HookBlock = {
	readonly enabled?: boolean;
	readonly PreToolUse?: readonly ToolHooks[];
	readonly PostToolUse?: readonly ToolHooks[];
	readonly PreInvocation?: readonly HookCommand[];
	readonly PostInvocation?: readonly HookCommand[];
	readonly Stop?: readonly HookCommand[];
};
type ToolHooks = { readonly matcher?: string; readonly hooks?: readonly HookCommand[] };
/** Commands run in the folder of their file. */
type LoadedBlock = { readonly folder: string; readonly block: HookBlock };

export class Hooks {
	readonly #simulation: Simulation;
	readonly #blocks: readonly LoadedBlock[];

	constructor(simulation: Simulation, workspace: string) {
		this.#simulation = simulation;
		const { home, behaviour } = simulation;
		const workspaceFile = join(workspace, ".agents", "hooks.json");
		const files = behaviour.loadsWorkspaceConfig ? [home.hooksPath, workspaceFile] : [home.hooksPath];
		this.#blocks = files.flatMap((path) => readBlocks(path));
	}

	/** The reason when a hook turns the call down; undefined when it may run. */
	async beforeTool(session: Session, call: ToolCallSeenByHook): Promise<string | undefined> {
		for (const answer of await this.#askToolHooks(session, "PreToolUse", call)) {
			if (answer.decision === "deny") return answer.reason;
		}
		return undefined;
	}

	async afterTool(session: Session, call: ToolCallSeenByHook): Promise<void> {
		await this.#askToolHooks(session, "PostToolUse", call);
	}

	/** The last decision given, if any. */
	async aroundInvocation(session: Session, event: InvocationEvent): Promise<string | undefined> {
		let decision: string | undefined;
		for (const { folder, block } of this.#blocks) {
			for (const command of block[event] ?? []) {
				decision = (await this.#ask(session, event, folder, command, undefined)).decision;
			}
		}
		return decision;
	}

	async #askToolHooks(
		session: Session,
		event: "PreToolUse" | "PostToolUse",
		call: ToolCallSeenByHook,
	): Promise<readonly HookAnswer[]> {
		const answers: HookAnswer[] = [];
		for (const { folder, block } of this.#blocks) {
			for (const { matcher, hooks } of block[event] ?? []) {
				if (!matches(matcher, call.name)) continue;
				for (const command of hooks ?? []) answers.push(await this.#ask(session, event, folder, command, call));
			}
		}
		return answers;
	}

	async #ask(
		session: Session,
		event: string,
		folder: string,
		command: HookCommand,
		call: ToolCallSeenByHook | undefined,
	): Promise<HookAnswer> {
		const { home, journal, behaviour } = this.#simulation;
		const { id } = session.conversation;
		const question = {
			conversationId: id,
			modelName: session.model ?? "",
			stepIdx: call?.stepIndex ?? session.conversation.record.nextStepIndex,
			workspacePaths: session.options.addDirs,
			transcriptPath: transcriptPath(home, id),
			artifactDirectoryPath: brainPath(home, id),
			toolCall: call === undefined ? undefined : { name: call.name, args: call.args },
		};
		const answer = await runHookCommand(command, folder, question, behaviour);
		journal.append({ kind: "hook", event, command: command.command, tool: call?.name, ...answer });
		return answer;
	}
}

function readBlocks(path: string): readonly LoadedBlock[] {
	let file: Readonly<Record<string, HookBlock>>;
	try {
		file = JSON.parse(readFileSync(path, "utf8"));
	} catch {
		return []; // no hooks, or a file nobody can read
	}
	return Object.values(file)
		.filter((block) => block.enabled !== false)
		.map((block) => ({ folder: dirname(path), block }));
}

function matches(matcher: string | undefined, toolName: string): boolean {
	if (matcher === undefined || matcher === "" || matcher === "*") return true;
	return new RegExp(`^(?:${matcher})$`).test(toolName);
}
