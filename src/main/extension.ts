/**
 * pi-agy's entry: wires the parts of one pi session and ends them with it. Starts nothing by itself: pi calls the factory
 * for `--list-models` and `--help` too. Lanes and processes come with the first turn.
 */

import { join } from "node:path";
import type { ExtensionAPI, ExtensionContext, Skill } from "@earendil-works/pi-coding-agent";
import type { KeyId } from "@earendil-works/pi-tui";
import { AgyError } from "../shared/errors.ts";
import { SHUTDOWN_TIMEOUT_MS } from "../shared/limits.ts";
import { listAgents } from "./agent-list.ts";
import type { Binary } from "./binary.ts";
import { SessionBridge } from "./bridge/session-bridge.ts";
import { registerStepTool, STEP_TOOL_NAME } from "./cards/step-tool.ts";
import { agentCommand } from "./command/agent-command.ts";
import { registerAgyCommand } from "./command/agy-command.ts";
import { conversationCommands } from "./command/conversation-commands.ts";
import { diagnosticCommands } from "./command/diagnostic-commands.ts";
import { settingsCommands } from "./command/settings-commands.ts";
import { toolsCommand } from "./command/tools-command.ts";
import { voiceCommands } from "./command/voice-commands.ts";
import type { Config } from "./config.ts";
import { settlesWithin } from "./deadline.ts";
import { QuotaReader } from "./diagnostics/quota.ts";
import type { Engine } from "./engines/engine.ts";
import { legacySqliteEngine } from "./engines/legacy-sqlite.ts";
import { streamJsonEngine } from "./engines/stream-json.ts";
import { askForEngine, tellOfMissingAgy } from "./first-start.ts";
import { HubShare } from "./hub.ts";
import { JsonStore } from "./json-store.ts";
import { type Catalog, loadCatalog, ModelCache } from "./models.ts";
import { requireNode } from "./node-version.ts";
import { Provider } from "./provider.ts";
import { SessionBindings } from "./sessions.ts";
import { projectFileState } from "./settings/project-file.ts";
import { Settings } from "./settings/settings.ts";
import { Spill } from "./spill.ts";
import { Steps } from "./steps.ts";
import { ASK_TOOL_NAME } from "./tools/ask-antigravity.ts";
import { AskToolSwitch } from "./tools/ask-switch.ts";
import { type Session, TurnStarter } from "./turn-starter.ts";
import { lastAnswerText } from "./voice/answer-text.ts";
import { SessionVoice } from "./voice/session-voice.ts";
import { keyName } from "./voice/voice-footer.ts";

const ENGINES: Readonly<Record<Config["engine"], Engine>> = {
	"stream-json": streamJsonEngine,
	"legacy-sqlite": legacySqliteEngine,
};

const PROVIDER_ID = "antigravity";

export default function antigravity(pi: ExtensionAPI): void {
	requireNode(process.versions.node);
	const settings = new Settings();
	const { config } = settings;
	const engine = ENGINES[config.engine];
	const share = new HubShare(config);
	const steps = new Steps();
	const modelStore = new JsonStore(join(config.dataDir, "models-cache.json"));
	const bindings = new SessionBindings(new JsonStore(join(config.dataDir, "sessions.json")), (error) =>
		share.peek()?.log.write("error", `sessions.json: ${String(error)}`),
	);
	const ended = new AbortController();
	let { catalog, isFresh, fingerprint: listedBy } = loadCatalog(modelStore, config);
	let session: Session = headlessSession(pi);
	let context: ExtensionContext | null = null;

	let skills: readonly Skill[] = [];
	const bridge = new SessionBridge({
		mode: () => config.bridgeTools,
		tools: { all: () => pi.getAllTools(), active: () => pi.getActiveTools(), skills: () => skills },
		own: new Set([STEP_TOOL_NAME, ASK_TOOL_NAME]),
		shared: () => ({ server: share.get().bridgeServer, registration: share.get().bridges }),
		log: (...entry) => share.peek()?.log.write(...entry),
	});
	const spill = new Spill(join(config.dataDir, "spill"));
	const starter = new TurnStarter({
		config,
		engine,
		providerId: PROVIDER_ID,
		hub: () => share.get(),
		bindings,
		spill,
		steps,
		bridge,
		catalog: () => catalog,
		onBinary: ({ fingerprint }) => {
			if (listedBy === null || listedBy === fingerprint) return;
			listedBy = fingerprint; // Another agy than the one that listed the models: asked once.
			refreshInBackground();
		},
		session: () => session,
	});
	const provider = new Provider({ starter, log: (...entry) => share.peek()?.log.write(...entry) });

	function findAgy(): Promise<Binary> {
		return share.get().binaries.find(config, engine.requires);
	}

	async function refreshModels(signal: AbortSignal): Promise<Catalog> {
		const hub = share.get();
		const binary = await findAgy();
		const listed = await new ModelCache(modelStore, hub.registry).refresh(
			binary,
			config,
			AbortSignal.any([signal, ended.signal]),
		);
		if (listed) {
			catalog = listed;
			isFresh = true;
			listedBy = binary.fingerprint;
		}
		return catalog;
	}

	function refreshInBackground(): void {
		refreshModels(ended.signal)
			.then(
				() => {
					// pi takes nothing from a session that is over.
					if (!ended.signal.aborted) registerProvider();
				},
				() => {}, // Without agy the known list stays; a turn says why.
			)
			.catch((error: unknown) =>
				share.peek()?.log.write("warn", `the models could not be told to pi: ${String(error)}`),
			);
	}

	function registerProvider(): void {
		pi.registerProvider(PROVIDER_ID, {
			name: "Antigravity (agy)",
			baseUrl: "agy://antigravity",
			apiKey: "agy-signs-in-by-itself", // pi wants a literal; nothing is sent anywhere with it.
			api: "agy",
			models: catalog.toPiModels(config.prices),
			refreshModels: async ({ signal }) => {
				if (isFresh) return catalog.toPiModels(config.prices);
				const listed = await refreshModels(signal).catch(() => catalog); // Without agy the known list stays.
				return listed.toPiModels(config.prices);
			},
			streamSimple: provider.streamSimple,
		});
	}

	registerProvider();
	registerStepTool(pi, steps);
	const voice = new SessionVoice(pi, {
		...{ config, engine, providerId: PROVIDER_ID },
		hub: () => share.get(),
		catalog: () => catalog,
		context: () => context,
		log: (level, text) => share.peek()?.log.write(level, text),
	});
	const key = config.voice.key as KeyId; // Checked by config.ts.
	pi.registerShortcut(key, {
		description: "Voice: start or end a recording",
		handler: () => voice.toggle(),
	});
	const diagnostics = {
		...{ settings, engine, bindings },
		hub: () => share.get(),
		bridge: () => bridge.status,
		models: async () => ({ catalog, listedAtMs: (await modelStore.read()).fetchedAtMs }),
		quota: new QuotaReader(new JsonStore(join(config.dataDir, "quota.json")), () => share.get().registry),
		hasGoogleKey: () => voice.hasGoogleKey(),
	};
	const commands = [
		...settingsCommands({ settings, catalog: () => catalog }),
		agentCommand(settings, async () => {
			const { registry } = share.get();
			return listAgents(await findAgy(), config, session.cwd, registry);
		}),
		toolsCommand(bridge, () => config.bridgeTools),
		...diagnosticCommands(diagnostics, ended.signal),
		...conversationCommands({ config, engine, bindings }),
		...voiceCommands(voice, keyName(key), ended.signal),
	];
	registerAgyCommand(pi, commands, (...entry) => share.get().log.write(...entry));
	const askTool = new AskToolSwitch(pi, {
		config,
		engine,
		providerId: PROVIDER_ID,
		hub: () => share.get(),
		catalog: () => catalog,
		holdBridges: () => share.get().suppression.hold(),
	});
	settings.onChange((changed) => {
		if (changed.has("askTool")) askTool.follow();
		if (changed.has("prices")) registerProvider();
	});

	pi.on("session_start", ({ reason }, ctx) => {
		session = toSession(pi, ctx);
		context = ctx;
		settings.useProject(ctx.cwd, projectFileState(ctx, config.dataDir));
		if (ctx.mode === "tui") {
			if (reason === "startup") void askForEngine(settings, ctx, ended.signal);
			void tellOfMissingAgy(findAgy, ctx, ended.signal);
		}
		for (const problem of config.problems) {
			session.notify(`pi-agy: ${problem}`, "warning");
			share.get().log.write("warn", problem);
		}
		if (isFresh || !ctx.hasUI) return;
		refreshInBackground();
	});
	pi.on("before_agent_start", (event) => {
		skills = event.systemPromptOptions.skills ?? [];
	});
	pi.on("tool_execution_update", ({ toolCallId, partialResult }) => bridge.progressed(toolCallId, partialResult));
	pi.on("tool_execution_end", ({ toolCallId, result, isError }) => bridge.finished(toolCallId, result, isError));
	pi.on("agent_end", ({ messages }) => voice.answered(lastAnswerText(messages)));
	pi.on("agent_settled", (event, ctx) => {
		if (event.aborted) provider.dropParked(ctx.sessionManager.getSessionId());
	});
	pi.on("session_shutdown", async (_event, ctx) => {
		ended.abort(new AgyError("cancelled", "pi is shutting down."));
		// pi waits for this without a limit; what does not end in time is the guardian's.
		await settlesWithin(close(ctx.sessionManager.getSessionId()), SHUTDOWN_TIMEOUT_MS);
	});

	async function close(sessionId: string): Promise<void> {
		await Promise.all([provider.close(), askTool.close(), voice.close()]);
		context = null;
		await bridge.close();
		await share.peek()?.links.closeSession(sessionId);
		await Promise.all([bindings.settled(), settings.settled()]);
		await spill.close();
		await share.release();
	}
}

function toSession(pi: ExtensionAPI, ctx: ExtensionContext): Session {
	return {
		...headlessSession(pi),
		cwd: ctx.cwd,
		hasTerminal: ctx.mode === "tui",
		notify: (text, level) => ctx.ui.notify(text, level),
	};
}

/** Until pi has said more about the session, and where a host never does. */
function headlessSession(pi: ExtensionAPI): Session {
	return {
		cwd: process.cwd(),
		hasTerminal: false,
		notify: () => {}, // No screen: what matters is in the message's error.
		stepTool: () => (pi.getActiveTools().includes(STEP_TOOL_NAME) ? STEP_TOOL_NAME : null),
		nativeTools: () => {
			const builtins = pi.getAllTools().filter(({ sourceInfo }) => sourceInfo.source === "builtin");
			const active = new Set(pi.getActiveTools());
			return new Set(builtins.map(({ name }) => name).filter((name) => active.has(name)));
		},
	};
}
