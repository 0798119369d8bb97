/**
 * The provider: pi asks for an assistant message, a turn of agy writes it. Never throws; whatever goes wrong ends the
 * message with an error that says what to do.
 */

import { randomUUID } from "node:crypto";
import type { AssistantMessageEventStream, Model, SimpleStreamOptions, TranscriptContext } from "@earendil-works/pi-ai";
import { AgyError, toError } from "../shared/errors.ts";
import type { Binary } from "./binary.ts";
import { type Config, turnTimeoutMinOf } from "./config.ts";
import type { Engine, Profile } from "./engines/engine.ts";
import type { Hub } from "./hub.ts";
import type { Link } from "./link.ts";
import type { Catalog } from "./models.ts";
import { PiStream } from "./pi-stream.ts";
import { toRequest, toSidePrompt } from "./prompt.ts";
import type { SessionBindings, SessionKey } from "./sessions.ts";
import type { Steps } from "./steps.ts";
import { type Segment, type StepDisplay, Turn } from "./turn.ts";
import type { Verdict } from "./verdict.ts";

/** What the provider needs of the pi session it serves. */
export type Session = {
	readonly cwd: string;
	readonly hasTerminal: boolean;
	/** Shows the user a line, where there is a screen. */
	notify(text: string, level: "info" | "warning"): void;
	/** Name of the display tool while pi can run it, else null. */
	stepTool(): string | null;
};

export type ProviderOptions = {
	readonly config: Config;
	readonly engine: Engine;
	readonly hub: () => Hub;
	readonly bindings: SessionBindings;
	readonly steps: Steps;
	readonly catalog: () => Catalog;
	readonly session: () => Session;
};

type Ask = {
	readonly model: Model<string>;
	readonly options: SimpleStreamOptions;
	readonly stream: PiStream;
	readonly signal: AbortSignal;
	/** Null for a side request. */
	readonly sessionId: string | null;
};

export class Provider {
	readonly #options: ProviderOptions;
	/** The turn of each pi session that runs or waits for pi. */
	readonly #turns = new Map<string, Turn>();
	readonly #told = new Set<string>();

	constructor(options: ProviderOptions) {
		this.#options = options;
	}

	/** pi's entry point. */
	readonly streamSimple = (
		model: Model<string>,
		context: TranscriptContext,
		options: SimpleStreamOptions = {},
	): AssistantMessageEventStream => {
		const stream = new PiStream(model);
		const signal = options.signal ?? new AbortController().signal;
		const ask: Ask = {
			model,
			options,
			stream,
			signal,
			sessionId: isSideRequest(options) ? null : (options.sessionId ?? null),
		};
		if (!signal.aborted)
			signal.addEventListener("abort", () => stream.fail("aborted", "The turn was stopped."), { once: true });
		this.#answer(ask, context).catch((thrown: unknown) => this.#fail(ask, thrown));
		return stream.events;
	};

	/** pi has settled after an abort: a turn that waits for a tool's result waits for nothing now. */
	dropParked(sessionId: string): void {
		const turn = this.#turns.get(sessionId);
		if (!turn) return;
		this.#turns.delete(sessionId);
		turn.abort();
	}

	/** The session is over. */
	close(): void {
		for (const sessionId of [...this.#turns.keys()]) this.dropParked(sessionId);
	}

	async #answer(ask: Ask, context: TranscriptContext): Promise<void> {
		ask.signal.throwIfAborted();
		const { toolResultIds, prompt } = toRequest(context.messages);
		const current = ask.sessionId === null ? undefined : this.#turns.get(ask.sessionId);
		if (current && toolResultIds.some((callId) => current.owns(callId))) {
			ask.signal.addEventListener("abort", () => current.abort(), { once: true });
			current.resume(this.#segment(ask), prompt === "" ? null : prompt);
			return;
		}
		if (ask.sessionId !== null) this.dropParked(ask.sessionId);
		const text = ask.sessionId === null ? toSidePrompt(context) : prompt;
		if (text === "")
			throw new AgyError(
				"nothing-to-send",
				"There is nothing to send to agy: no user message follows its last answer.",
			);
		await this.#startTurn(ask, text);
	}

	async #startTurn(ask: Ask, prompt: string): Promise<void> {
		const { config, engine, bindings } = this.#options;
		const session = this.#options.session();
		const hub = this.#options.hub();
		const choice = this.#options.catalog().choose(ask.model.id, ask.options.reasoning);
		if (!choice.ok) throw new AgyError("model-unknown", choice.message);
		const binary = await hub.binaries.find(config);
		this.#warnOnce(binary);
		const key: SessionKey | null =
			ask.sessionId === null ? null : { sessionId: ask.sessionId, engineId: engine.id, cwd: session.cwd };
		const conversationId = key && (await bindings.find(key));
		const payload = engine.payload(prompt);
		const replaced = engine.parsePayload(await ask.options.onPayload?.(payload, ask.model)) ?? payload;
		const link = await hub.links.acquire(
			{
				sessionId: ask.sessionId,
				engine,
				profile: this.#profile(binary, session, choice.slug, key === null),
				conversationId,
				env: config.childEnv,
			},
			{
				signal: ask.signal,
				onWait: () => session.notify("All agy processes are busy; the turn waits for one.", "info"),
			},
		);
		if (ask.signal.aborted) {
			hub.links.release(link);
			return;
		}
		const turn = this.#makeTurn(ask, hub, link, key, conversationId);
		if (ask.sessionId !== null) this.#turns.set(ask.sessionId, turn);
		ask.signal.addEventListener("abort", () => turn.abort(), { once: true });
		turn.start(engine.encodePrompt(replaced));
	}

	#makeTurn(ask: Ask, hub: Hub, link: Link, key: SessionKey | null, askedFor: string | null): Turn {
		const { config, engine, steps, bindings } = this.#options;
		const session = this.#options.session();
		const turn: Turn = new Turn(
			{
				id: `agy-${randomUUID()}`,
				link,
				steps,
				stepDisplay: () => (key === null ? { as: "hidden" } : toStepDisplay(session.stepTool())),
				inactivityTimeoutMin: config.inactivityTimeoutMin,
				turnTimeoutMin: turnTimeoutMinOf(config, session.hasTerminal),
				encodePrompt: (text) => engine.encodePrompt(engine.payload(text)),
				onConversation: (conversationId) => {
					if (!key) return;
					bindings.bind(key, conversationId);
					if (askedFor === null || conversationId === askedFor || this.#told.has(conversationId)) return;
					this.#told.add(conversationId);
					session.notify(
						"agy no longer knows this conversation and started a fresh one: it does not remember what was said before.",
						"warning",
					);
				},
				onEnd: (verdict) => {
					if (ask.sessionId !== null && this.#turns.get(ask.sessionId) === turn && !turn.isUntold)
						this.#turns.delete(ask.sessionId);
					this.#endTurn(hub, link, key, verdict);
				},
			},
			this.#segment(ask),
		);
		return turn;
	}

	#endTurn(hub: Hub, link: Link, key: SessionKey | null, verdict: Verdict): void {
		if (verdict.stop === "error") hub.log.write("error", `turn ${verdict.kind}: ${verdict.summary} ${verdict.detail}`);
		if (key && !verdict.keepsConversation) this.#options.bindings.unbind(key);
		if (verdict.keepsProcess) hub.links.release(link);
		else void link.close();
	}

	#segment({ options, model, stream }: Ask): Segment {
		const { onResponse, onProviderStreamEvent } = options;
		return {
			stream,
			...(onResponse && { onResponse: () => onResponse({ status: 200, headers: {} }, model) }),
			...(onProviderStreamEvent && { onEvent: (event) => onProviderStreamEvent(event, model) }),
		};
	}

	#profile(binary: Binary, session: Session, modelSlug: string, isSide: boolean): Profile {
		const { mode, skipPermissions, agent, extraArgs } = this.#options.config;
		return {
			bin: binary.path,
			cwd: session.cwd,
			modelSlug,
			mode,
			skipPermissions: skipPermissions && !isSide,
			agent: isSide ? null : agent,
			extraArgs,
		};
	}

	#warnOnce({ warning }: Binary): void {
		if (warning === null || this.#told.has(warning)) return;
		this.#told.add(warning);
		this.#options.session().notify(warning, "warning");
	}

	#fail({ stream, signal }: Ask, thrown: unknown): void {
		if (signal.aborted) {
			stream.fail("aborted", "The turn was stopped.");
			return;
		}
		const error = toError(thrown);
		this.#options.hub().log.write("error", error.stack ?? error.message);
		stream.fail("error", error.message);
	}
}

/** pi's own summaries and other extensions' calls: no part of the user's conversation. */
function isSideRequest(options: SimpleStreamOptions): boolean {
	return options.cacheRetention === "none" || options.sessionId === undefined;
}

function toStepDisplay(tool: string | null): StepDisplay {
	return tool === null ? { as: "line" } : { as: "card", tool };
}
