/**
 * The delegation tool: a model of any other provider hands a task to agy and gets its answer. Each call is an agy process
 * of its own, through the same lanes, links and limits as a turn. It never runs from within agy, and at most a few run at
 * once in a process; the others wait and can be stopped meanwhile.
 *
 * What refuses a call throws. A run that has begun always returns, with what agy had said, what it did, and the
 * conversation that can be gone on with; a failed one is marked as an error.
 */

import type { Model } from "@earendil-works/pi-ai";
import type { AgentToolResult, AgentToolUpdateCallback, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { AgyError } from "../../shared/errors.ts";
import { requireRunnable } from "../config.ts";
import type { Hub } from "../hub.ts";
import { runCommand } from "../processes/run.ts";
import { transcriptOf } from "../session-transcript.ts";
import { checkArguments, requireFlags } from "./ask-arguments.ts";
import { ASK_TOOL_NAME, type AskArguments } from "./ask-parameters.ts";
import { type AskDetails, type AskOutcome, isFailed, progressLine, toTexts } from "./ask-report.ts";
import { ChangedFiles, GIT_MAX_BYTES, GIT_TIMEOUT_MS, type Git } from "./changed-files.ts";
import { type ChosenModel, chooseModel } from "./delegate-model.ts";
import {
	type DelegationEnd,
	type DelegatorParts,
	delegate,
	type HoldBridges,
	type Order,
	unseenModel,
} from "./delegation.ts";
import { DelegationRecord } from "./delegation-record.ts";
import { parseJsonAnswer } from "./json-answer.ts";

/** Between two updates of the card; a step shows at once. */
const UPDATE_MS = 1_000;

export type AskToolOptions = DelegatorParts & {
	/** Keeps every agy from seeing the bridge, until what it resolves to is called. Default: nothing is held. */
	readonly holdBridges?: HoldBridges;
};

type Result = AgentToolResult<AskDetails>;
type OnUpdate = AgentToolUpdateCallback<AskDetails> | undefined;

export class AskTool {
	readonly #options: AskToolOptions;
	readonly #closed = new AbortController();
	readonly #running = new Set<Promise<unknown>>();
	/** Runs that have answered and left a command running. */
	readonly #draining = new Set<DelegationEnd>();

	constructor(options: AskToolOptions) {
		this.#options = options;
	}

	async execute(
		args: AskArguments,
		signal: AbortSignal | undefined,
		onUpdate: OnUpdate,
		ctx: Pick<ExtensionContext, "cwd" | "model" | "sessionManager">,
	): Promise<Result> {
		const stop = AbortSignal.any([this.#closed.signal, ...(signal ? [signal] : [])]);
		const running = this.#ask(args, stop, onUpdate, ctx);
		this.#running.add(running);
		try {
			return await running;
		} catch (error) {
			if (!stop.aborted) throw error;
			throw new AgyError("cancelled", "The delegated run was stopped before anything was sent to agy.", {
				cause: error,
			});
		} finally {
			this.#running.delete(running);
		}
	}

	/** Stops every run of the session. Resolves when their processes are gone. May be called twice. */
	async close(): Promise<void> {
		this.#closed.abort();
		await Promise.allSettled(this.#running);
		for (const { stop } of this.#draining) stop();
		await Promise.all([...this.#draining].map(({ gone }) => gone));
	}

	async #ask(
		args: AskArguments,
		stop: AbortSignal,
		onUpdate: OnUpdate,
		ctx: Pick<ExtensionContext, "cwd" | "model" | "sessionManager">,
	): Promise<Result> {
		const { engine, catalog, holdBridges = holdNothing } = this.#options;
		const config = { ...this.#options.config }; // What changes meanwhile is for the next run.
		this.#requireNoRecursion(ctx.model?.provider);
		requireRunnable(config);
		if (!config.askTool)
			throw new AgyError(
				"bad-setting",
				`${ASK_TOOL_NAME} is switched off (${config.provenance.askTool}). The user can switch it on: /agy ask on.`,
			);
		const checked = await checkArguments(args, config, ctx.cwd);
		const chosen = chooseModel(catalog(), {
			model: args.model ?? config.defaultModel ?? undefined,
			thinking: args.thinking,
			defaultThinking: config.defaultThinking,
		});
		const order: Order = {
			...checked,
			slug: chosen.slug,
			model: this.#toModel(chosen),
			context: args.includeContext ? transcriptOf(ctx) : null,
		};
		const progress = new Progress(order, chosen, onUpdate);
		const hub = this.#options.hub();
		try {
			const giveBack = await hub.delegations.take(stop, () => progress.show());
			try {
				requireRunnable(this.#options.config); // Switched on while it waited.
				progress.start();
				hub.lanes.warmUp(engine.laneKind);
				const binary = await hub.binaries.find(config, engine.requires);
				requireFlags(binary, order.mode, config.agent);
				const changed = await ChangedFiles.since(order.cwd, this.#git(hub));
				const end = await delegate(order, { config, engine, hub, binary, holdBridges }, stop, (event) =>
					progress.note(event),
				);
				await this.#settle(end);
				return await this.#toResult(order, progress, end, changed);
			} finally {
				giveBack();
			}
		} finally {
			progress.stop();
		}
	}

	#requireNoRecursion(provider: string | undefined): void {
		if (provider === this.#options.providerId) {
			throw new AgyError(
				"recursion",
				"The active model is agy's own: it does not delegate to itself. Do the task here, or choose a model of another provider with /model.",
			);
		}
		if (this.#options.config.isWithinAgy) {
			throw new AgyError("recursion", "This pi was started from within agy, which does not delegate to itself.");
		}
	}

	/** The answer is not given before the process is gone, unless it left a command running that may take long. */
	async #settle(end: DelegationEnd): Promise<void> {
		if (end.verdict.process !== "drain") return end.gone;
		this.#draining.add(end);
		void end.gone.then(() => this.#draining.delete(end));
		if (this.#closed.signal.aborted) end.stop();
	}

	async #toResult(order: Order, progress: Progress, end: DelegationEnd, changed: ChangedFiles): Promise<Result> {
		const { verdict, usage } = end;
		const { record } = progress;
		const parts = record.answer(end.text);
		// What agy said between its tools is no part of the value.
		const json =
			order.schema === null || verdict.stop !== "stop" ? null : parseJsonAnswer(parts.at(-1) ?? "", order.schema);
		const answer = json?.ok ? (parts.at(-1) ?? "") : parts.join("\n\n");
		const isFit = json === null || json.ok;
		const isBad = isFailed({ verdict, jsonProblem: isFit ? "" : json.problem });
		const details: AskDetails = {
			...progress.details(isBad ? "failed" : "done"),
			conversationId: verdict.keepsConversation ? end.conversationId : null,
			verdict: verdict.kind,
			usage: {
				input: usage.input,
				output: usage.output,
				thinking: usage.reasoning ?? 0,
				cacheRead: usage.cacheRead,
			},
			filesChanged: await changed.report(record.editedFiles),
			timedOut: verdict.kind === "timed-out",
			aborted: verdict.stop === "aborted",
			...(json?.ok && { json: json.value }),
		};
		const outcome: AskOutcome = {
			...{ verdict, answer, details },
			jsonProblem: isFit ? "" : json.problem,
			askedConversationId: order.conversationId,
			timeoutMin: order.timeoutMin,
		};
		return {
			content: toTexts(outcome).map((text) => ({ type: "text", text })),
			details,
			usage,
			...(isBad && { isError: true }),
		};
	}

	/** What the message of the run is written for; only its price matters. */
	#toModel({ id }: ChosenModel): Model<string> {
		const { catalog, config, providerId } = this.#options;
		const found = catalog()
			.toPiModels(config.prices)
			.find((model) => model.id === id);
		return unseenModel(id, providerId, found?.cost);
	}

	/** Looks only: takes no lock, and runs no program that the work tree's settings name. */
	#git(hub: Hub): Git {
		const { childEnv } = this.#options.config;
		return (args) =>
			runCommand(
				{
					bin: "git",
					args: ["-c", "core.fsmonitor=false", ...args],
					env: { ...childEnv, GIT_OPTIONAL_LOCKS: "0" },
					timeoutMs: GIT_TIMEOUT_MS,
					maxBytes: GIT_MAX_BYTES,
				},
				hub.registry,
			);
	}
}

/** What a run shows while it goes on. */
class Progress {
	readonly record: DelegationRecord;
	readonly #order: Order;
	readonly #chosen: ChosenModel;
	readonly #onUpdate: OnUpdate;
	readonly #timer: NodeJS.Timeout;
	#startedAtMs = performance.now();
	#state: "waiting" | "running" = "waiting";

	constructor(order: Order, chosen: ChosenModel, onUpdate: OnUpdate) {
		this.record = new DelegationRecord(order.cwd);
		this.#order = order;
		this.#chosen = chosen;
		this.#onUpdate = onUpdate;
		this.#timer = setInterval(() => this.show(), UPDATE_MS);
	}

	/** It waits no longer: from here on its time counts. */
	start(): void {
		this.#state = "running";
		this.#startedAtMs = performance.now();
		this.show();
	}

	note(event: Parameters<DelegationRecord["note"]>[0]): void {
		if (this.record.note(event)) this.show();
	}

	show(): void {
		const details = this.details(this.#state);
		this.#onUpdate?.({ content: [{ type: "text", text: progressLine(details) }], details });
	}

	stop(): void {
		clearInterval(this.#timer);
	}

	details(state: AskDetails["state"]): AskDetails {
		const { cwd, mode, conversationId } = this.#order;
		const { stepCount, steps, commands, lastLine } = this.record;
		return {
			...{ state, cwd, mode, conversationId, stepCount, steps, commands, lastLine },
			model: this.#chosen.id,
			slug: this.#chosen.slug,
			thinking: this.#chosen.effort,
			durationMs: Math.round(performance.now() - this.#startedAtMs),
			verdict: null,
			usage: null,
			filesChanged: null,
			timedOut: false,
			aborted: false,
		};
	}
}

async function holdNothing(): Promise<() => Promise<void>> {
	return async () => {};
}
