/**
 * pi-agy's entry: names to pi the provider, the tools, the key and the command, and opens the parts of a session when it
 * begins. Starts nothing and loads little by itself: pi calls the factory for `--list-models` and `--help` too.
 */

import type { Model, SimpleStreamOptions, TranscriptContext } from "@earendil-works/pi-ai";
import { lazyStream } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { KeyId } from "@earendil-works/pi-tui";
import { AgyError } from "../shared/errors.ts";
import { SHUTDOWN_TIMEOUT_MS } from "../shared/limits.ts";
import { registerStepTool } from "./cards/step-tool.ts";
import { registerAgyCommand } from "./command/agy-command.ts";
import { settlesWithin } from "./deadline.ts";
import { ModelList } from "./model-list.ts";
import { requireNode } from "./node-version.ts";
import type { SessionParts } from "./session-parts.ts";
import { Settings } from "./settings/settings.ts";
import { Steps } from "./steps.ts";
import { AskToolSwitch } from "./tools/ask-switch.ts";

const PROVIDER_ID = "antigravity";

export default function antigravity(pi: ExtensionAPI): void {
	requireNode(process.versions.node);
	const settings = new Settings();
	const { config } = settings;
	const models = new ModelList(config);
	const steps = new Steps();
	/** Null until the session has begun. */
	let parts: SessionParts | null = null;
	let opening: Promise<SessionParts> | null = null;
	let isOver = false;

	/** A host may ask the provider without ever beginning a session. */
	function open(): Promise<SessionParts> {
		if (isOver) return Promise.reject(new AgyError("cancelled", "This session of pi is over."));
		opening ??= import("./session-parts.ts").then((module) => {
			parts = new module.SessionParts(pi, { settings, models, steps, providerId: PROVIDER_ID, registerProvider });
			return parts;
		});
		return opening;
	}

	function streamSimple(model: Model<string>, context: TranscriptContext, options?: SimpleStreamOptions) {
		if (parts !== null) return parts.provider.streamSimple(model, context, options);
		const begin = async () => (await open()).provider.streamSimple(model, context, options);
		return lazyStream(model, begin, undefined, options?.signal);
	}

	function registerProvider(): void {
		pi.registerProvider(PROVIDER_ID, {
			name: "Antigravity (agy)",
			baseUrl: "agy://antigravity",
			apiKey: "agy-signs-in-by-itself", // pi wants a literal; nothing is sent anywhere with it.
			api: "agy",
			models: models.catalog.toPiModels(config.prices),
			refreshModels: async ({ signal }) => {
				if (!models.isFresh) await (await open()).refreshModels(signal);
				return models.catalog.toPiModels(config.prices);
			},
			streamSimple,
		});
	}

	registerProvider();
	registerStepTool(pi, steps);
	const askTool = new AskToolSwitch(pi, config, async () => (await open()).askTool);
	settings.onChange((changed) => {
		if (changed.has("askTool")) askTool.follow();
		if (changed.has("prices")) registerProvider();
	});
	pi.registerShortcut(config.voice.key as KeyId, {
		description: "Voice: start or end a recording",
		handler: async () => (await open()).voice.pressed(),
	});
	registerAgyCommand(pi, open);

	pi.on("session_start", async ({ reason }, ctx) => (await open()).begin(reason, ctx));
	pi.on("before_agent_start", ({ systemPromptOptions }) => {
		settings.reread();
		parts?.useSkills(systemPromptOptions.skills ?? []);
	});
	pi.on("tool_execution_update", ({ toolCallId, partialResult }) =>
		parts?.bridge.progressed(toolCallId, partialResult),
	);
	pi.on("tool_execution_end", ({ toolCallId, result, isError }) => parts?.bridge.finished(toolCallId, result, isError));
	pi.on("agent_end", ({ messages }) => parts?.answered(messages));
	pi.on("agent_settled", ({ aborted }, { sessionManager }) => {
		if (aborted) parts?.provider.dropParked(sessionManager.getSessionId());
	});
	pi.on("session_shutdown", async ({ reason }, { sessionManager }) => {
		isOver = true;
		if (opening === null) return;
		// pi waits for this without a limit; what does not end in time is the guardian's.
		const closed = opening.then((opened) => opened.close(sessionManager.getSessionId(), reason));
		await settlesWithin(closed, SHUTDOWN_TIMEOUT_MS);
	});
}
