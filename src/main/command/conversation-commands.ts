/**
 * `/agy clear` and `/agy conversations`: which conversation of agy a session of pi goes on with. Only pi-agy's own record
 * is changed; agy keeps its conversations.
 */

import { access } from "node:fs/promises";
import { join } from "node:path";
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { AgyError } from "../../shared/errors.ts";
import { isConversationId } from "../brain.ts";
import type { Config } from "../config.ts";
import { inWords } from "../diagnostics/durations.ts";
import type { Engine } from "../engines/engine.ts";
import { NOTHING_TOLD } from "../history.ts";
import type { BoundConversation, SessionBindings, SessionKey } from "../sessions.ts";
import type { Answer, Completion, Request, Subcommand } from "./subcommand.ts";

export type ConversationParts = {
	readonly config: Pick<Config, "conversationsDir">;
	readonly engine: Engine;
	readonly bindings: SessionBindings;
};

const MAX_NAME_CHARS = 60;
/** The shortest start of an id that may stand for it. */
const MIN_PREFIX_CHARS = 4;
const SHORT_ID_CHARS = 8;
const USAGE = "Use /agy conversations, or with attach <id>, rename <id> <name>, forget <id>.";

export function conversationCommands(parts: ConversationParts): readonly Subcommand[] {
	return [
		{
			name: "clear",
			usage: "",
			about: "Forget this session's conversation: the next prompt starts a fresh one with the session's history.",
			run: async ({ context }) => clear(parts, context),
		},
		{
			name: "conversations",
			usage: "[attach <id> | rename <id> <name> | forget <id>]",
			about: "The conversations of agy that sessions go on with.",
			complete: (words) => complete(parts, words),
			run: (request) => runConversations(parts, request),
		},
	];
}

async function clear({ engine, bindings }: ConversationParts, context: ExtensionCommandContext): Promise<Answer> {
	requireIdle(context);
	const key = keyOf(engine, context);
	const before = await bindings.find(key);
	if (before === null) return { text: "This session has no conversation yet.", data: { cleared: null } };
	bindings.unbind(key);
	await bindings.settled();
	return {
		text: `Conversation ${before.conversationId} is forgotten. The next prompt starts a fresh one, which is told this session's history.`,
		data: { cleared: before.conversationId },
	};
}

async function runConversations(parts: ConversationParts, { words, rest, context }: Request): Promise<Answer> {
	const [action = "", id = ""] = words;
	const all = await parts.bindings.all();
	switch (action.toLowerCase()) {
		case "":
			return listing(all, parts, context);
		case "attach":
			return attach(parts, await toKnownOrAgys(all, id, parts), context);
		case "rename":
			return rename(parts, toKnown(all, id), rest.split(/\s+/).slice(2).join(" "));
		case "forget":
			return forget(parts, toKnown(all, id), context);
		default:
			throw new AgyError("bad-argument", `/agy conversations ${action} is unknown. ${USAGE}`);
	}
}

function listing(
	all: readonly BoundConversation[],
	{ engine }: ConversationParts,
	context: ExtensionCommandContext,
): Answer {
	const isHere = (bound: BoundConversation) =>
		bound.engineId === engine.id && bound.sessionId === context.sessionManager.getSessionId();
	const now = Date.now();
	const rows = all.map((bound) => ({ ...bound, ageMs: now - bound.boundAtMs, isHere: isHere(bound) }));
	if (rows.length === 0) return { text: "No session has a conversation yet.", data: { conversations: [] } };
	const lines = rows.map(({ conversationId, name, sessionId, engineId, cwd, ageMs, ...row }) => {
		const title = name === "" ? conversationId : `${conversationId} "${name}"`;
		const other = engineId === engine.id ? "" : `, ${engineId}`;
		return `${row.isHere ? "*" : " "} ${title}  ${inWords(ageMs)} ago, session ${sessionId.slice(0, SHORT_ID_CHARS)}${other}, in ${cwd}`;
	});
	return { text: lines.join("\n"), data: { conversations: rows } };
}

async function attach(
	{ engine, bindings }: ConversationParts,
	{ conversationId, cwd, engineId }: Pick<BoundConversation, "conversationId" | "cwd" | "engineId">,
	context: ExtensionCommandContext,
): Promise<Answer> {
	requireIdle(context);
	if (engineId !== engine.id)
		throw new AgyError(
			"bad-argument",
			`Conversation ${conversationId} was made with AGY_ENGINE=${engineId}, and this is ${engine.id}. Conversations do not cross over.`,
		);
	if (cwd !== context.cwd)
		throw new AgyError(
			"bad-argument",
			`Conversation ${conversationId} works in ${cwd}. Start pi there to go on with it.`,
		);
	const key = keyOf(engine, context);
	const before = await bindings.find(key);
	if (before?.conversationId === conversationId)
		return { text: "This session already goes on with it.", data: { attached: conversationId } };
	bindings.bind(key, { conversationId, told: NOTHING_TOLD, undelivered: [], instructions: "", usage: null });
	await bindings.settled();
	return {
		text: `This session goes on with conversation ${conversationId}. The next prompt tells it what was said here.`,
		data: { attached: conversationId },
	};
}

async function rename({ bindings }: ConversationParts, { conversationId }: BoundConversation, name: string) {
	if (name.length > MAX_NAME_CHARS)
		throw new AgyError("bad-argument", `A name has at most ${MAX_NAME_CHARS} characters.`);
	await bindings.rename(conversationId, name);
	const text =
		name === ""
			? `Conversation ${conversationId} has no name any more.`
			: `Conversation ${conversationId} is "${name}".`;
	return { text, data: { conversationId, name } };
}

async function forget(
	{ bindings }: ConversationParts,
	{ conversationId, engineId }: BoundConversation,
	context: ExtensionCommandContext,
): Promise<Answer> {
	const all = (await bindings.all()).filter((bound) => bound.conversationId === conversationId);
	if (all.some((bound) => bound.sessionId === context.sessionManager.getSessionId())) requireIdle(context);
	for (const { sessionId, cwd } of all) bindings.unbind({ sessionId, engineId, cwd });
	await bindings.settled();
	return {
		text: `Conversation ${conversationId} is forgotten; agy itself keeps it. A session that had it starts a fresh one.`,
		data: { forgotten: conversationId, sessions: all.length },
	};
}

/** By id, by the start of one, or by name. Throws when it is none, or several. */
function toKnown(all: readonly BoundConversation[], wanted: string): BoundConversation {
	if (wanted === "") throw new AgyError("bad-argument", `Which conversation? ${USAGE}`);
	const ids = new Set(all.map(({ conversationId }) => conversationId));
	const exact = all.find(({ conversationId, name }) => conversationId === wanted || name === wanted);
	const begun =
		wanted.length < MIN_PREFIX_CHARS ? [] : [...ids].filter((conversationId) => conversationId.startsWith(wanted));
	const found =
		exact ?? (begun.length === 1 ? all.find(({ conversationId }) => conversationId === begun[0]) : undefined);
	if (found !== undefined) return found;
	if (begun.length > 1)
		throw new AgyError(
			"conversation-unknown",
			`${begun.length} conversations begin with ${wanted}. Write more of the id.`,
		);
	throw new AgyError("conversation-unknown", `No session has a conversation ${wanted}. /agy conversations lists them.`);
}

/** One of a session, or one that only agy knows: it has a database then, and where it works cannot be told. */
async function toKnownOrAgys(
	all: readonly BoundConversation[],
	wanted: string,
	{ config, engine }: ConversationParts,
): Promise<Pick<BoundConversation, "conversationId" | "cwd" | "engineId">> {
	const isBound = all.some(({ conversationId, name }) => conversationId.startsWith(wanted) || name === wanted);
	const isId = isConversationId(wanted);
	const isAgys =
		!isBound &&
		isId &&
		(await access(join(config.conversationsDir, `${wanted}.db`)).then(
			() => true,
			() => false,
		));
	if (!isAgys) return toKnown(all, wanted);
	throw new AgyError(
		"conversation-unknown",
		`Conversation ${wanted} was not made by ${engine.id} of pi-agy. agy binds a conversation to the folder it was born in, which cannot be told from here; go on with it in agy itself.`,
	);
}

async function complete({ bindings }: ConversationParts, words: readonly string[]): Promise<readonly Completion[]> {
	if (words.length === 0)
		return [
			{ value: "attach", about: "Go on with one of them in this session." },
			{ value: "rename", about: "Give one a name." },
			{ value: "forget", about: "Take one out of the list." },
		];
	if (words.length > 1) return [];
	const all = await bindings.all();
	return all.map(({ conversationId, name, cwd }) => ({ value: conversationId, about: name === "" ? cwd : name }));
}

function keyOf(engine: Engine, { cwd, sessionManager }: ExtensionCommandContext): SessionKey {
	return { sessionId: sessionManager.getSessionId(), engineId: engine.id, cwd };
}

/** A turn that runs writes its conversation down again when it ends. */
function requireIdle(context: ExtensionCommandContext): void {
	if (!context.isIdle())
		throw new AgyError("bad-argument", "A turn is running. Let it end, or stop it with Escape, and try again.");
}
