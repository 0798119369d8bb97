/**
 * One delegated run: an agy process of its own, one prompt, and how it ended. It is a turn like any other, with a message
 * that nobody shows. While its process lives no agy may see the bridge to this pi: `holdBridges` is held from before the
 * start until the process is gone, also when that is long after the answer.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { AssistantMessage, Model } from "@earendil-works/pi-ai";
import { AgyError } from "../../shared/errors.ts";
import type { AgyEvent, JsonObject } from "../../shared/events.ts";
import { READY_WAIT_MS } from "../../shared/limits.ts";
import type { Binary } from "../binary.ts";
import { transcriptPathOf } from "../brain.ts";
import { type Config, DEPTH_VARIABLE } from "../config.ts";
import { settlesWithin } from "../deadline.ts";
import type { Engine, Profile } from "../engines/engine.ts";
import type { Hub } from "../hub.ts";
import type { Link } from "../link.ts";
import type { Catalog } from "../models.ts";
import { PiStream } from "../pi-stream.ts";
import { composePrompt, type Section, toFileSection } from "../prompt.ts";
import { Spill } from "../spill.ts";
import { Steps } from "../steps.ts";
import { Turn } from "../turn.ts";
import type { TurnEnd } from "../turn-contract.ts";
import type { Verdict } from "../verdict.ts";

const FREE: Model<string>["cost"] = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export type HoldBridges = () => Promise<() => Promise<void>>;

/** What is asked of agy, checked. */
export type Order = {
	readonly prompt: string;
	readonly cwd: string;
	readonly model: Model<string>;
	readonly slug: string;
	readonly mode: Profile["mode"];
	/** Absolute paths. */
	readonly files: readonly string[];
	/** To go on with; null for a fresh one. */
	readonly conversationId: string | null;
	readonly schema: JsonObject | null;
	/** Minutes. */
	readonly timeoutMin: number;
	/** The transcript of the session that asks; null when it is not to be passed on. */
	readonly context: string | null;
};

/** What everything that has agy work outside a session's conversation takes. */
export type DelegatorParts = {
	readonly config: Config;
	readonly engine: Engine;
	readonly providerId: string;
	readonly hub: () => Hub;
	readonly catalog: () => Catalog;
};

export type DelegationParts = {
	readonly config: Config;
	readonly engine: Engine;
	readonly hub: Hub;
	readonly binary: Binary;
	readonly holdBridges: HoldBridges;
};

export type DelegationEnd = {
	readonly verdict: Verdict;
	/** Everything the turn wrote as text, in one piece. */
	readonly text: string;
	readonly usage: AssistantMessage["usage"];
	/** As agy named it, else the one that was asked for. */
	readonly conversationId: string | null;
	/** Resolves when the process is gone and nothing of the run is left. Never rejects. */
	readonly gone: Promise<void>;
	/** Stops what the process left running. */
	stop(): void;
};

/**
 * Runs it to its end. Throws an AgyError when nothing was sent to agy: what opening a link throws, `conversation-busy`,
 * `conversation-unknown` when agy does not have the conversation, and the signal's reason when it aborts before.
 */
export async function delegate(
	order: Order,
	parts: DelegationParts,
	signal: AbortSignal,
	onEvent: (event: AgyEvent) => void,
): Promise<DelegationEnd> {
	const { config, hub, holdBridges } = parts;
	signal.throwIfAborted();
	const spill = new Spill(join(config.dataDir, "spill"));
	const releaseConversation = claim(order, hub);
	let releaseBridges: () => Promise<void> = async () => {};
	const cleanUp = async () => {
		for (const step of [() => spill.close(), releaseBridges]) {
			await step().catch((error: unknown) => hub.log.write("error", `delegated run: ${String(error)}`));
		}
	};
	let link: Link | null = null;
	try {
		releaseBridges = await holdBridges();
		const prompt = await toPrompt(order, parts, spill);
		link = await open(order, parts, { prompt, spill, signal });
		const gone = link.closed.then(cleanUp);
		return { ...(await run(order, parts, { link, prompt, signal, onEvent })), gone };
	} catch (error) {
		if (link === null) await cleanUp();
		else await link.close();
		throw error;
	} finally {
		releaseConversation(); // Whoever goes on with it now has the pool end this process first.
	}
}

/** One run per conversation; the session's own turn on it is found by the pool of links. */
function claim({ conversationId }: Order, hub: Hub): () => void {
	if (conversationId === null) return () => {};
	if (hub.links.links.some((link) => link.conversationId === conversationId && link.state === "running")) {
		throw new AgyError(
			"conversation-busy",
			`A turn or another delegated run is working in the conversation ${conversationId}. Wait for it, or leave conversationId out to start a fresh one.`,
		);
	}
	return hub.delegations.claim(conversationId);
}

async function toPrompt(order: Order, { engine, binary }: DelegationParts, spill: Spill): Promise<string> {
	const { prompt, files, schema, context } = order;
	const sections: Section[] = [
		...(context === null ? [] : [await toFileSection("the conversation that this task comes from", context, spill)]),
		...(files.length === 0
			? []
			: [{ name: "the list of files", heading: "These files belong to the task:", text: files.join("\n") }]),
		...(schema === null || hasSchemaFlag(binary)
			? []
			: [
					{
						name: "the form of the answer",
						heading: "Answer with one JSON value that fits this JSON schema, and with nothing else:",
						text: JSON.stringify(schema),
					},
				]),
		{ name: "the task", heading: "", text: prompt },
	];
	const encode = (text: string) => engine.encodePrompt(engine.payload(text));
	const text = await composePrompt(sections, encode, spill);
	// Where agy's slash commands are on, a text that begins like one must not be taken for it.
	return encode(text.startsWith("/") ? `The task: ${text}` : text);
}

function hasSchemaFlag({ flags }: Binary): boolean {
	return flags === null || flags.includes("json-schema");
}

/** The process for the run. One that resumes has to confirm the conversation before it gets the prompt, where it can. */
async function open(
	order: Order,
	parts: DelegationParts,
	{ prompt, spill, signal }: { readonly prompt: string; readonly spill: Spill; readonly signal: AbortSignal },
): Promise<Link> {
	const { config, engine, hub, binary } = parts;
	const { conversationId } = order;
	const link = await hub.links.acquire(
		{
			sessionId: null,
			engine,
			profile: await toProfile(order, parts, spill),
			conversationId,
			env: { ...config.childEnv, [DEPTH_VARIABLE]: "1" },
			run: engine.isOneShot ? { prompt, conversationsDir: config.conversationsDir } : null,
		},
		{ signal, onWait: () => hub.log.write("info", "a delegated run waits: all agy processes are busy") },
	);
	if (conversationId !== null && !engine.isOneShot && binary.namesItselfFirst)
		await settlesWithin(link.ready, READY_WAIT_MS, signal);
	if (!signal.aborted && (conversationId === null || link.conversationId === conversationId)) return link;
	await link.close();
	signal.throwIfAborted();
	throw new AgyError(
		"conversation-unknown",
		`agy does not have the conversation ${conversationId} (any more). Nothing was sent. Leave conversationId out to start a fresh one.`,
	);
}

async function toProfile(order: Order, { config, binary }: DelegationParts, spill: Spill): Promise<Profile> {
	const { cwd, slug: modelSlug, mode, schema } = order;
	const { skipPermissions, agent, extraArgs } = config;
	const { path: bin, missingFlags } = binary;
	const schemaArgs =
		schema !== null && hasSchemaFlag(binary)
			? ["--json-schema", await spill.write("schema", "json", JSON.stringify(schema))]
			: [];
	return {
		...{ bin, cwd, modelSlug, mode, skipPermissions, agent, missingFlags },
		addDirs: [await spill.directory()],
		extraArgs: [...extraArgs, ...schemaArgs],
	};
}

type Run = {
	readonly link: Link;
	readonly prompt: string;
	readonly signal: AbortSignal;
	readonly onEvent: (event: AgyEvent) => void;
};

async function run(
	order: Order,
	{ config, hub }: DelegationParts,
	{ link, prompt, signal, onEvent }: Run,
): Promise<Omit<DelegationEnd, "gone">> {
	const stream = new PiStream(order.model);
	const message = discard(stream);
	const { promise: ended, resolve: onEnd } = Promise.withResolvers<TurnEnd>();
	const turn = new Turn(
		{
			id: `ask-${randomUUID()}`,
			link,
			steps: new Steps(),
			stepDisplay: () => ({ as: "hidden" }),
			files: null,
			inactivityTimeoutMin: config.inactivityTimeoutMin,
			turnTimeoutMin: order.timeoutMin,
			usageBefore: order.conversationId === null ? { input: 0, output: 0, thinking: 0, cacheRead: 0 } : null,
			takesFollowUps: false,
			encodePrompt: (text) => text,
			transcriptPath: (conversationId) => transcriptPathOf(config, conversationId),
			onConversation: () => {},
			onRead: () => {},
			onMessage: () => {},
			onRetry: () => false,
			onEnd,
		},
		{ stream, onEvent },
	);
	const onAbort = () => turn.abort();
	signal.addEventListener("abort", onAbort, { once: true });
	turn.start(prompt);
	if (signal.aborted) turn.abort();
	const { verdict } = await ended;
	signal.removeEventListener("abort", onAbort);
	const { content, usage } = await message;
	finish(verdict, link, hub);
	return {
		verdict,
		text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
		usage,
		conversationId: link.conversationId,
		stop: () => void link.close(),
	};
}

function finish({ kind, summary, detail, stop, process }: Verdict, link: Link, hub: Hub): void {
	const where = `agy ${link.pid}, conversation ${link.conversationId ?? "unnamed"}`;
	hub.log.write(stop === "error" ? "error" : "info", `delegated run ${kind}: ${summary} ${detail} (${where})`, {
		event: "ask-end",
		kind,
	});
	if (link.stderrTail !== "") hub.log.write("debug", `agy ${link.pid} wrote to stderr: ${link.stderrTail}`);
	if (process === "keep") hub.links.release(link);
	else if (process === "drain") link.drain();
	else void link.close();
}

/** What the message of a run is written for: nobody sees it, only its price matters. */
export function unseenModel(id: string, provider: string, cost: Model<string>["cost"] = FREE): Model<string> {
	return {
		...{ id, name: id, api: "agy", provider, baseUrl: "", reasoning: false, input: ["text"], cost },
		...{ contextWindow: 0, maxTokens: 0 },
	};
}

/** Nobody shows the message: its events are dropped as they come. Resolves with all of it. */
async function discard({ events }: PiStream): Promise<AssistantMessage> {
	for await (const event of events) {
		if (event.type === "done" || event.type === "error") break;
	}
	return events.result();
}
