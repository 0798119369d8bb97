/**
 * One question to agy outside every conversation: a delegated run that may change nothing and whose words are the answer.
 * It has neither the permissions flag nor the user's agent, and does not see pi's tools.
 */

import { AgyError } from "../../shared/errors.ts";
import { requireRunnable } from "../config.ts";
import { chooseModel } from "../tools/delegate-model.ts";
import { type DelegatorParts, delegate, unseenModel } from "../tools/delegation.ts";

/** Minutes. What is asked here takes agy seconds; its start and a slow network take the rest. */
const TIMEOUT_MIN = 2;

export type Question = {
	readonly prompt: string;
	/** What agy works in and may read, absolute. */
	readonly cwd: string;
	readonly signal: AbortSignal;
};

/** agy's answer, trimmed. Throws what a delegated run throws, and `agy-failed` when it ended without a whole answer. */
export async function askOnce({ prompt, cwd, signal }: Question, parts: DelegatorParts): Promise<string> {
	const { engine, providerId, catalog } = parts;
	const config = { ...parts.config };
	requireRunnable(config);
	const hub = parts.hub();
	const { defaultModel, defaultThinking } = config;
	const chosen = chooseModel(catalog(), { model: defaultModel ?? undefined, thinking: undefined, defaultThinking });
	hub.lanes.warmUp(engine.laneKind);
	const giveBack = await hub.delegations.take(signal, () => {});
	try {
		const binary = await hub.binaries.find(config, engine.requires);
		const end = await delegate(
			{
				...{ prompt, cwd, slug: chosen.slug, model: unseenModel(chosen.id, providerId), mode: "default", files: [] },
				...{ conversationId: null, schema: null, timeoutMin: TIMEOUT_MIN, context: null },
			},
			{
				config: { ...config, skipPermissions: false, agent: null },
				...{ engine, hub, binary, holdBridges: () => hub.suppression.hold() },
			},
			signal,
			() => {},
		);
		end.stop();
		await end.gone;
		signal.throwIfAborted();
		const text = end.text.trim();
		if (end.verdict.stop === "stop" && text !== "") return text;
		throw new AgyError("agy-failed", end.verdict.summary === "" ? "agy gave no answer." : end.verdict.summary);
	} finally {
		giveBack();
	}
}
