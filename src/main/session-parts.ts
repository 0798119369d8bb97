/**
 * The parts of one pi session, wired, and ended with it. extension.ts opens them when the session begins; what the sessions
 * of a process share is the hub's. Lanes and processes come with the first turn.
 */

import { join } from "node:path";
import type {
	AgentEndEvent,
	ExtensionAPI,
	ExtensionContext,
	SessionShutdownEvent,
	Skill,
} from "@earendil-works/pi-coding-agent";
import { AgyError } from "../shared/errors.ts";
import { SessionActivity } from "./activity/session-activity.ts";
import { listAgents } from "./agent-list.ts";
import type { Binary } from "./binary.ts";
import { SessionBridge } from "./bridge/session-bridge.ts";
import { STEP_TOOL_NAME } from "./cards/step-tool.ts";
import { activityCommands } from "./command/activity-commands.ts";
import { agentCommand } from "./command/agent-command.ts";
import { conversationCommands } from "./command/conversation-commands.ts";
import { diagnosticCommands } from "./command/diagnostic-commands.ts";
import { patchCleanupCommand } from "./command/patch-cleanup-command.ts";
import { settingsCommands } from "./command/settings-commands.ts";
import type { Subcommand } from "./command/subcommand.ts";
import { toolsCommand } from "./command/tools-command.ts";
import { uninstallCommand } from "./command/uninstall-command.ts";
import { voiceCommands } from "./command/voice-commands.ts";
import type { Config } from "./config.ts";
import { QuotaReader } from "./diagnostics/quota.ts";
import type { Engine } from "./engines/engine.ts";
import { legacySqliteEngine } from "./engines/legacy-sqlite.ts";
import { streamJsonEngine } from "./engines/stream-json.ts";
import { askForEngine, tellOfMissingAgy } from "./first-start.ts";
import { HubShare } from "./hub.ts";
import { JsonStore } from "./json-store.ts";
import type { LogWriter } from "./log.ts";
import type { ModelList } from "./model-list.ts";
import { Provider } from "./provider.ts";
import { SessionBindings } from "./sessions.ts";
import { projectFileState } from "./settings/project-file.ts";
import type { Settings } from "./settings/settings.ts";
import { Spill } from "./spill.ts";
import type { Steps } from "./steps.ts";
import { AskTool } from "./tools/ask-antigravity.ts";
import { ASK_TOOL_NAME } from "./tools/ask-parameters.ts";
import { type Session, TurnStarter } from "./turn-starter.ts";
import { runAnswerText } from "./voice/answer-text.ts";
import { SessionVoice } from "./voice/session-voice.ts";
import { keyName } from "./voice/voice-footer.ts";

const ENGINES: Readonly<Record<Config["engine"], Engine>> = {
	"stream-json": streamJsonEngine,
	"legacy-sqlite": legacySqliteEngine,
};

/** What ended a session, as it is told; what else pi does leaves it for another. */
const ENDED_BY: Readonly<Record<string, string>> = { quit: "pi was closed", reload: "pi was reloaded" };
const UNINSTALLED = "pi-agy was uninstalled in this session. Start pi anew.";

export type SessionPartsOptions = {
	readonly settings: Settings;
	readonly models: ModelList;
	readonly steps: Steps;
	readonly providerId: string;
	/** Tells pi the models anew. */
	readonly registerProvider: () => void;
};

export class SessionParts {
	readonly provider: Provider;
	readonly bridge: SessionBridge;
	readonly voice: SessionVoice;
	readonly askTool: AskTool;
	/** What `/agy` knows. */
	readonly commands: readonly Subcommand[];
	readonly #pi: ExtensionAPI;
	readonly #options: SessionPartsOptions;
	readonly #engine: Engine;
	readonly #share: HubShare;
	readonly #bindings: SessionBindings;
	readonly #spill: Spill;
	readonly #activity = new SessionActivity();
	readonly #ended = new AbortController();
	/** What was begun on the side and may still write. */
	readonly #onTheSide = new Set<Promise<unknown>>();
	#closing: Promise<void> | null = null;
	#session: Session;
	#context: ExtensionContext | null = null;
	#skills: readonly Skill[] = [];
	/** Writes into the log, which is opened for it; into none any more when pi-agy was uninstalled. */
	readonly log: LogWriter = (...entry) => {
		if (!this.#share.isRetired) this.#share.get().log.write(...entry);
	};
	/** Writes into the log where it is open. */
	readonly #note: LogWriter = (...entry) => this.#share.peek()?.log.write(...entry);

	constructor(pi: ExtensionAPI, options: SessionPartsOptions) {
		this.#pi = pi;
		this.#options = options;
		const { models, steps, providerId } = options;
		const { config } = options.settings;
		const engine = ENGINES[config.engine];
		const share = new HubShare(config);
		const hub = () => share.get();
		const delegator = { config, engine, providerId, hub, catalog: () => models.catalog };
		this.#engine = engine;
		this.#share = share;
		this.#session = headlessSession(pi);
		this.#bindings = new SessionBindings(new JsonStore(join(config.dataDir, "sessions.json")), (error) =>
			this.#note("error", `sessions.json: ${String(error)}`),
		);
		this.#spill = new Spill(join(config.dataDir, "spill"));
		this.bridge = new SessionBridge({
			mode: () => config.bridgeTools,
			tools: { all: () => pi.getAllTools(), active: () => pi.getActiveTools(), skills: () => this.#skills },
			own: new Set([STEP_TOOL_NAME, ASK_TOOL_NAME]),
			shared: () => ({ server: hub().bridgeServer, registration: hub().bridges }),
			log: this.#note,
		});
		const starter = new TurnStarter({
			...delegator,
			steps,
			bindings: this.#bindings,
			spill: this.#spill,
			bridge: this.bridge,
			activity: this.#activity,
			onBinary: (binary) => {
				if (models.isOfAnother(binary)) this.#refreshInBackground();
			},
			session: () => this.#session,
		});
		this.provider = new Provider({ starter, log: this.#note });
		this.voice = new SessionVoice(pi, {
			...delegator,
			context: () => this.#context,
			log: this.#note,
		});
		this.askTool = new AskTool({ ...delegator, holdBridges: () => hub().suppression.hold() });
		this.commands = this.#makeCommands();
	}

	/** After an uninstall each command would write something of ours again. */
	get refusal(): string | null {
		return this.#share.isRetired ? UNINSTALLED : null;
	}

	/** pi has begun the session. */
	begin(reason: string, context: ExtensionContext): void {
		const { settings, models } = this.#options;
		this.#session = toSession(this.#pi, context);
		this.#context = context;
		settings.useProject(context.cwd, projectFileState(context, settings.config.dataDir));
		if (context.mode === "tui") {
			if (reason === "startup") void askForEngine(settings, context, this.#ended.signal);
			this.#onSide(tellOfMissingAgy(() => this.#findAgy(), context, this.#ended.signal));
		}
		for (const problem of settings.config.problems) {
			this.#session.notify(`pi-agy: ${problem}`, "warning");
			this.log("warn", problem);
		}
		if (!models.isFresh && context.hasUI) this.#refreshInBackground();
	}

	/** What pi offers in the run that begins. */
	useSkills(skills: readonly Skill[]): void {
		this.#skills = skills;
	}

	/** pi's agent has ended its run. */
	answered(messages: AgentEndEvent["messages"]): void {
		this.voice.answered(runAnswerText(messages));
	}

	/** Asks agy for its models; without agy the known list stays. */
	async refreshModels(signal: AbortSignal): Promise<void> {
		await this.#refresh(signal).catch(() => {}); // A turn says why.
	}

	/** Ends the session: nothing of it runs any more, and requests are told `why`. May be called twice. */
	close(sessionId: string, reason: SessionShutdownEvent["reason"], why?: string): Promise<void> {
		this.#closing ??= this.#close(sessionId, ENDED_BY[reason] ?? "the session was left", why);
		return this.#closing;
	}

	async #close(sessionId: string, endedBy: string, why?: string): Promise<void> {
		this.#ended.abort(new AgyError("cancelled", "pi is shutting down."));
		const steps: readonly (() => Promise<unknown>)[] = [
			() => Promise.all([this.provider.close(why), this.askTool.close()]),
			() => this.voice.close(endedBy),
			() => this.bridge.close(),
			async () => this.#share.peek()?.links.closeSession(sessionId),
			() => Promise.all([this.#bindings.settled(), this.#options.settings.settled()]),
			() => this.#spill.close(),
		];
		// A step that fails, as on a disk that cannot be written, must not keep the hub open.
		for (const step of steps)
			await step().catch((error: unknown) => this.#note("error", `end of the session: ${String(error)}`));
		this.#context = null;
		await this.#share.release();
	}

	#makeCommands(): readonly Subcommand[] {
		const { settings, models } = this.#options;
		const { config } = settings;
		const [engine, bindings, share, voice] = [this.#engine, this.#bindings, this.#share, this.voice];
		const { signal } = this.#ended;
		const diagnostics = {
			...{ settings, engine, bindings },
			hub: () => share.get(),
			bridge: () => this.bridge.status,
			models: async () => ({ catalog: models.catalog, listedAtMs: await models.listedAtMs() }),
			quota: new QuotaReader(new JsonStore(join(config.dataDir, "quota.json")), () => share.get().registry),
			hasGoogleKey: () => voice.hasGoogleKey(),
		};
		return [
			...settingsCommands({ settings, catalog: () => models.catalog }),
			agentCommand(settings, async () =>
				listAgents(await this.#findAgy(), config, this.#session.cwd, share.get().registry),
			),
			toolsCommand(this.bridge, () => config.bridgeTools),
			...diagnosticCommands(diagnostics, signal),
			...conversationCommands({ config, engine, bindings }),
			...activityCommands({
				...{ config, engine, bindings, activity: this.#activity },
				hub: () => share.peek(),
				context: () => this.#context,
			}),
			patchCleanupCommand(config),
			uninstallCommand({
				config,
				hub: () => share.peek(),
				otherSessions: () => share.others,
				source: () => this.#pi.getAllTools().find(({ name }) => name === STEP_TOOL_NAME)?.sourceInfo ?? null,
				end: () => this.#endForGood(),
			}),
			...voiceCommands(voice, keyName(config.voice.key)),
		];
	}

	/** For an uninstall: nothing is started or written by this session any more. */
	async #endForGood(): Promise<void> {
		this.#share.retire(UNINSTALLED);
		await this.close(this.#context?.sessionManager.getSessionId() ?? "", "quit", UNINSTALLED);
		await Promise.allSettled(this.#onTheSide); // Stopped by now, and done with what they write.
	}

	#onSide(work: Promise<unknown>): void {
		const done = work.finally(() => this.#onTheSide.delete(done));
		this.#onTheSide.add(done);
	}

	#findAgy(): Promise<Binary> {
		return this.#share.get().binaries.find(this.#options.settings.config, this.#engine.requires);
	}

	async #refresh(signal: AbortSignal): Promise<void> {
		const { registry } = this.#share.get();
		await this.#options.models.refresh(await this.#findAgy(), registry, AbortSignal.any([signal, this.#ended.signal]));
	}

	#refreshInBackground(): void {
		const refreshed = this.#refresh(this.#ended.signal)
			.then(
				() => {
					// pi takes nothing from a session that is over.
					if (!this.#ended.signal.aborted) this.#options.registerProvider();
				},
				() => {}, // Without agy the known list stays; a turn says why.
			)
			.catch((error: unknown) => this.#note("warn", `the models could not be told to pi: ${String(error)}`));
		this.#onSide(refreshed);
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
