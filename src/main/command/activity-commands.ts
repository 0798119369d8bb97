/** `/agy tasks`, `/agy subagents` and `/agy artifacts`: what agy left running, started and made in this session's conversation. */

import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { AgyError } from "../../shared/errors.ts";
import { type Artifact, findArtifact, listArtifacts } from "../activity/artifacts.ts";
import { type BackgroundTask, listTasks, tailOfTask, taskNumbers } from "../activity/background-tasks.ts";
import { isShownSafely, openFile } from "../activity/open-file.ts";
import type { SessionActivity } from "../activity/session-activity.ts";
import { listSubagents, type Subagent } from "../activity/subagents.ts";
import { brainDirOf, isConversationId, tasksDirOf } from "../brain.ts";
import type { Config } from "../config.ts";
import { inWords, sizeInWords } from "../diagnostics/durations.ts";
import type { Engine } from "../engines/engine.ts";
import type { Hub } from "../hub.ts";
import { heldOpen } from "../processes/open-files.ts";
import type { SessionBindings } from "../sessions.ts";
import type { Answer, Completion, Subcommand } from "./subcommand.ts";

export type ActivityParts = {
	readonly config: Pick<Config, "geminiDir" | "searchPath" | "voice">;
	readonly engine: Engine;
	readonly bindings: SessionBindings;
	readonly activity: SessionActivity;
	/** Null while nothing was started. */
	readonly hub: () => Hub | null;
	/** This session of pi; null before it has begun. */
	readonly context: () => Pick<ExtensionCommandContext, "cwd" | "sessionManager"> | null;
};

type Context = Pick<ExtensionCommandContext, "cwd" | "sessionManager">;

const NO_CONVERSATION = "This session has no conversation with agy yet.";
const SHORT_ID_CHARS = 8;
/** A row of a listing stays one line. */
const MAX_COLUMN_CHARS = 100;

export function activityCommands(parts: ActivityParts): readonly Subcommand[] {
	return [
		{
			name: "tasks",
			usage: "[tail <number>]",
			about: "Commands that agy runs or left to run, or the end of what one printed.",
			complete: (words) => completeTask(parts, words),
			run: async ({ words, context }) => {
				const id = await conversationOf(parts, context);
				const [action = "", number = ""] = words;
				if (action === "") return id === null ? none("tasks") : showTasks(parts, id);
				if (action.toLowerCase() === "tail") return showTail(parts, id, number);
				throw new AgyError(
					"bad-argument",
					`/agy tasks ${action} is unknown. Use /agy tasks, or /agy tasks tail <number>.`,
				);
			},
		},
		{
			name: "subagents",
			usage: "",
			about: "The sub-agents that agy started.",
			run: async ({ context }) => {
				const id = await conversationOf(parts, context);
				return id === null ? none("subagents") : showSubagents(parts, id);
			},
		},
		{
			name: "artifacts",
			usage: "[open <number or name>]",
			about: "Plans, pictures and other files that agy made beside the workspace; opens one.",
			complete: (words) => completeArtifact(parts, words),
			run: async ({ words, rest, context }) => {
				const id = await conversationOf(parts, context);
				const [action = ""] = words;
				const artifacts = id === null ? [] : await listArtifacts(brainDirOf(parts.config, id), Date.now());
				if (action === "") return id === null ? none("artifacts") : showArtifacts(artifacts, id);
				if (action.toLowerCase() === "open")
					return openArtifact(parts, artifacts, rest.slice(action.length).trim(), context);
				throw new AgyError(
					"bad-argument",
					`/agy artifacts ${action} is unknown. Use /agy artifacts, or /agy artifacts open <number or name>.`,
				);
			},
		},
	];
}

/** The conversation that the session is bound to, or, while its first turn runs, that of its process. */
async function conversationOf({ bindings, engine, hub }: ActivityParts, context: Context): Promise<string | null> {
	const sessionId = context.sessionManager.getSessionId();
	const binding = await bindings.find({ sessionId, engineId: engine.id, cwd: context.cwd });
	const link = hub()?.links.links.find(({ spec }) => spec.sessionId === sessionId);
	const id = binding?.conversationId ?? link?.conversationId ?? null;
	return id !== null && isConversationId(id) ? id : null;
}

function none(what: "tasks" | "subagents" | "artifacts"): Answer {
	return { text: NO_CONVERSATION, data: { conversation: null, [what]: [] } };
}

async function showTasks({ config, activity, hub }: ActivityParts, id: string): Promise<Answer> {
	const links = hub()?.links.links ?? [];
	const tasks = await listTasks({
		directory: tasksDirOf(config, id),
		commands: activity.commands(id),
		heldOpen: (paths) => heldOpen(paths, config.searchPath),
		isAgyThere: links.some(({ conversationId, state }) => conversationId === id && state !== "closed"),
		nowMs: Date.now(),
	});
	const data = { conversation: id, tasks };
	if (tasks.length === 0) return { text: "agy has started no command that goes on in the background.", data };
	return { text: tasks.map(toTaskLine).join("\n"), data };
}

function toTaskLine({ number, state, command, ageMs, quietMs, bytes }: BackgroundTask): string {
	const printed =
		bytes === null || quietMs === null ? "no output file" : `${sizeInWords(bytes)}, the last ${inWords(quietMs)} ago`;
	const what = command === null ? "(started before this pi session)" : toOneLine(command);
	return `${String(number).padStart(4)}  ${state.padEnd(7)}  started ${inWords(ageMs)} ago, ${printed}  ${what}`;
}

async function showTail({ config }: ActivityParts, id: string | null, wanted: string): Promise<Answer> {
	const number = Number(/^(?:task-)?(\d{1,9})$/i.exec(wanted)?.[1] ?? Number.NaN);
	if (Number.isNaN(number))
		throw new AgyError("bad-argument", "Which one? Use /agy tasks tail <number>; /agy tasks lists them.");
	const lines = id === null ? null : await tailOfTask(tasksDirOf(config, id), number);
	if (lines === null)
		throw new AgyError(
			"bad-argument",
			`Task ${number} has no output file in this conversation. /agy tasks lists them.`,
		);
	const text = lines.join("\n").trimEnd();
	return { text: text === "" ? `Task ${number} has printed nothing.` : text, data: { task: number, lines } };
}

async function showSubagents({ config, activity }: ActivityParts, id: string): Promise<Answer> {
	const subagents = await listSubagents(config, id, activity.subagents(id), Date.now());
	const data = { conversation: id, subagents };
	if (subagents.length === 0) return { text: "agy has started no sub-agent in this conversation.", data };
	const note = "agy tells when a sub-agent starts, and not when it has finished; its answer comes with agy's own.";
	return { text: [...subagents.map(toSubagentLine), note].join("\n"), data };
}

function toSubagentLine({ conversationId, state, type, role, prompt, ageMs, quietMs }: Subagent): string {
	const name =
		type === null ? "(started before this pi session)" : [type, role].filter((text) => text !== "").join(", ");
	const age = ageMs === null ? "" : `  ${inWords(ageMs)} ago`;
	const quiet = quietMs === null ? "" : `, last active ${inWords(quietMs)} ago`;
	const task = prompt === null || prompt === "" ? "" : `: ${toOneLine(prompt)}`;
	return `${conversationId?.slice(0, SHORT_ID_CHARS) ?? "(unnamed)"}  ${state}${age}${quiet}  ${toOneLine(name)}${task}`;
}

function showArtifacts(artifacts: readonly Artifact[], id: string): Answer {
	const data = { conversation: id, artifacts };
	if (artifacts.length === 0) return { text: "agy has made no artifact in this conversation.", data };
	const lines = artifacts.map(({ name, kind, bytes, ageMs }, index) => {
		const sort = kind === "artifact" ? "" : `, ${kind}`;
		return `${String(index + 1).padStart(3)}  ${toOneLine(name)}  (${sizeInWords(bytes)}${sort}, ${inWords(ageMs)} ago)`;
	});
	return { text: [...lines, "/agy artifacts open <number or name> opens one."].join("\n"), data };
}

async function openArtifact(
	{ config }: ActivityParts,
	artifacts: readonly Artifact[],
	wanted: string,
	{ mode, hasUI }: ExtensionCommandContext,
): Promise<Answer> {
	const artifact = findArtifact(artifacts, wanted);
	if (artifact === null)
		throw new AgyError(
			"bad-argument",
			`${wanted === "" ? "Which one?" : `"${wanted}" is none of the artifacts, or several.`} /agy artifacts lists them.`,
		);
	const { path, name } = artifact;
	if (!hasUI || mode === "print") return { text: path, data: { path, opened: false } };
	if (!isShownSafely(path))
		return {
			text: `${name} is not opened: its kind may be run instead of shown. It is ${path}`,
			data: { path, opened: false },
			level: "warning",
		};
	await openFile(path, { searchPath: config.searchPath, env: config.voice.env });
	return { text: `Opened ${path}`, data: { path, opened: true } };
}

async function completeTask(parts: ActivityParts, words: readonly string[]): Promise<readonly Completion[]> {
	if (words.length === 0) return [{ value: "tail", about: "The last lines that one printed." }];
	const id = words.length === 1 ? await conversationHere(parts) : null;
	if (id === null) return [];
	const commands = new Map(parts.activity.commands(id).map(({ task, step, command }) => [task ?? step, command]));
	const numbers = await taskNumbers(tasksDirOf(parts.config, id));
	return numbers.map((number) => ({ value: String(number), about: toOneLine(commands.get(number) ?? "") }));
}

async function completeArtifact(parts: ActivityParts, words: readonly string[]): Promise<readonly Completion[]> {
	if (words.length === 0) return [{ value: "open", about: "Open one with the system's program for it." }];
	const id = words.length === 1 ? await conversationHere(parts) : null;
	if (id === null) return [];
	const artifacts = await listArtifacts(brainDirOf(parts.config, id), Date.now());
	return artifacts.map(({ name, ageMs }) => ({ value: name, about: `${inWords(ageMs)} ago` }));
}

async function conversationHere(parts: ActivityParts): Promise<string | null> {
	const context = parts.context();
	return context === null ? null : conversationOf(parts, context);
}

function toOneLine(text: string): string {
	const line = text.replaceAll(/\s+/g, " ").trim();
	return line.length > MAX_COLUMN_CHARS ? `${line.slice(0, MAX_COLUMN_CHARS)}…` : line;
}
