/**
 * The state of pi-agy, gathered for `/agy doctor` and reports: what is installed, what runs, what was set, how busy the
 * threads are, and first of all what to fix. Spends no tokens; agy is asked for its version at most. Never throws: what
 * cannot be found out is said in its place. Nothing in it is content of a conversation, and no secret.
 */

import { access, constants, readFile } from "node:fs/promises";
import { VERSION } from "@earendil-works/pi-coding-agent";
import type { Drift } from "../../shared/drift.ts";
import { toError } from "../../shared/errors.ts";
import { WARN_AGY_VERSION } from "../../shared/limits.ts";
import { redact } from "../../shared/redact.ts";
import type { Timing } from "../../shared/timing.ts";
import type { Binary } from "../binary.ts";
import type { BridgeStatus } from "../bridge/session-bridge.ts";
import type { Config } from "../config.ts";
import type { Engine } from "../engines/engine.ts";
import type { Hub } from "../hub.ts";
import type { LanePool, LaneReport, TaskTimes } from "../lanes.ts";
import type { Link } from "../link.ts";
import type { Catalog } from "../models.ts";
import { findProgram } from "../programs.ts";
import type { SessionBindings } from "../sessions.ts";
import type { Settings } from "../settings/settings.ts";
import { transcriberNameOf } from "../voice/transcriber-choice.ts";
import { type Problem, problemsOf } from "./health.ts";
import type { LifecycleEntry } from "./lifecycle.ts";
import type { Quota, QuotaReader } from "./quota.ts";
import { type MaskedSetting, maskedSettings } from "./setting-rows.ts";
import { voiceProblemsOf } from "./voice-check.ts";

export type DoctorParts = {
	readonly settings: Settings;
	readonly engine: Engine;
	readonly hub: () => Hub;
	readonly bindings: SessionBindings;
	readonly bridge: () => BridgeStatus;
	/** `listedAtMs` is as the file has it. */
	readonly models: () => Promise<{ readonly catalog: Catalog; readonly listedAtMs: unknown }>;
	readonly quota: QuotaReader;
	readonly hasGoogleKey: () => Promise<boolean>;
};

export type LinkRow = {
	readonly pid: number | null;
	/** Null for a side request. */
	readonly session: string | null;
	readonly state: Link["state"];
	readonly conversation: string | null;
	readonly model: string;
	readonly turns: number;
	readonly ageMs: number;
	readonly idleMs: number;
};

export type Doctor = {
	readonly atMs: number;
	readonly isHealthy: boolean;
	/** The most important first. */
	readonly problems: readonly Problem[];
	readonly versions: {
		readonly piAgy: string;
		readonly pi: string;
		readonly node: string;
		readonly platform: string;
	};
	readonly agy: {
		readonly path: string | null;
		readonly version: string | null;
		readonly needs: string;
		readonly warnsBelow: string;
		/** How many flags its help lists; null when it says nothing usable. */
		readonly flags: number | null;
		readonly missingFlags: readonly string[];
		readonly printTimeout: string | null;
	};
	readonly engine: Config["engine"];
	readonly links: {
		readonly open: readonly LinkRow[];
		readonly started: number;
		readonly reused: number;
		readonly recycled: LinkRecycles;
	};
	readonly conversations: { readonly bound: number; readonly here: string | null };
	readonly bridge: BridgeStatus;
	readonly models: { readonly count: number; readonly isListed: boolean; readonly ageMs: number | null };
	readonly quota: Quota | null;
	readonly settings: readonly MaskedSetting[];
	readonly log: { readonly directory: string; readonly isDebugging: boolean };
	readonly audio: {
		readonly ffmpeg: string | null;
		/** The recorder that worked last. */
		readonly recorder: string | null;
		readonly transcriber: string;
		readonly hasGoogleKey: boolean;
	};
	readonly workers: {
		readonly lanes: readonly LaneReport[];
		readonly kinds: LanePool["history"];
		readonly tasks: TaskTimes;
		readonly mainLoopDelay: Timing;
	};
	readonly drift: readonly Drift[];
	readonly events: readonly LifecycleEntry[];
};

type LinkRecycles = Hub["links"]["recycles"];

const PACKAGE_FILE = new URL("../../../package.json", import.meta.url);

export async function examine(parts: DoctorParts, sessionId: string): Promise<Doctor> {
	const { engine } = parts;
	const { config } = parts.settings;
	const hub = parts.hub();
	const [found, lanes, conversations, quota, hasGoogleKey, ffmpeg, piAgy, dataDirProblem, models, voiceProblems] =
		await Promise.all([
			hub.binaries.find(config, engine.requires).then(
				(binary) => ({ binary, problem: null }),
				(error: unknown) => ({ binary: null, problem: redact(toError(error).message) }),
			),
			hub.lanes.report(),
			parts.bindings.all(),
			parts.quota.kept(config),
			parts.hasGoogleKey().catch(() => false), // Only whether there is one is wanted.
			config.voice.ffmpeg ?? findProgram("ffmpeg", config.searchPath),
			ownVersion(),
			problemOfFolder(config.dataDir),
			parts.models(),
			voiceProblemsOf(config),
		]);
	const atMs = Date.now();
	const events = hub.log.lifecycle;
	const problems = problemsOf({
		...{ config, quota, lanes, events, nowMs: atMs, dataDirProblem, voiceProblems },
		agyProblem: found.problem,
		agyWarning: found.binary?.warning ?? null,
		kinds: hub.lanes.history,
	});
	const here = conversations.find((bound) => bound.sessionId === sessionId && bound.engineId === engine.id);
	return {
		atMs,
		isHealthy: problems.length === 0,
		problems,
		versions: {
			piAgy,
			pi: VERSION,
			node: process.versions.node,
			platform: `${process.platform} ${process.arch}`,
		},
		agy: toAgyRow(found.binary, engine),
		engine: config.engine,
		links: {
			open: hub.links.links.map(toLinkRow),
			...hub.links.uses,
			recycled: { ...hub.links.recycles },
		},
		conversations: { bound: conversations.length, here: here?.conversationId ?? null },
		bridge: parts.bridge(),
		models: toModelRow(models, atMs),
		quota,
		settings: maskedSettings(parts.settings),
		log: { directory: hub.log.directory, isDebugging: config.debug },
		audio: {
			ffmpeg,
			recorder: hub.microphone.recorder,
			transcriber: transcriberNameOf(config.voice, hasGoogleKey),
			hasGoogleKey,
		},
		workers: {
			lanes,
			kinds: hub.lanes.history,
			tasks: hub.lanes.taskTimes,
			mainLoopDelay: hub.loopDelay.timing,
		},
		drift: hub.drift.all,
		events,
	};
}

function toModelRow(
	{ catalog, listedAtMs }: Awaited<ReturnType<DoctorParts["models"]>>,
	nowMs: number,
): Doctor["models"] {
	const { isListed } = catalog;
	const ageMs = isListed && typeof listedAtMs === "number" ? Math.max(0, nowMs - listedAtMs) : null;
	return { count: catalog.toPiModels().length, isListed, ageMs };
}

function toAgyRow(binary: Binary | null, engine: Engine): Doctor["agy"] {
	return {
		path: binary?.path ?? null,
		version: binary?.version ?? null,
		needs: engine.requires.version,
		warnsBelow: WARN_AGY_VERSION,
		flags: binary?.flags?.length ?? null,
		missingFlags: binary?.missingFlags ?? [],
		printTimeout: binary?.printTimeout ?? null,
	};
}

function toLinkRow(link: Link): LinkRow {
	const now = performance.now();
	return {
		pid: link.pid,
		session: link.spec.sessionId,
		state: link.state,
		conversation: link.conversationId,
		model: link.spec.profile.modelSlug,
		turns: link.turns,
		ageMs: Math.round(now - link.openedAtMs),
		idleMs: link.state === "idle" ? Math.round(now - link.lastUsedMs) : 0,
	};
}

async function ownVersion(): Promise<string> {
	try {
		const { version } = JSON.parse(await readFile(PACKAGE_FILE, "utf8")) as { readonly version?: unknown };
		return String(version);
	} catch {
		return "unknown"; // A copy without its package.json works all the same.
	}
}

/** Null when it can be written, or is not there yet. */
async function problemOfFolder(path: string): Promise<string | null> {
	return access(path, constants.W_OK).then(
		() => null,
		({ code }: NodeJS.ErrnoException) => (code === "ENOENT" ? null : `${path} cannot be written (${code}).`),
	);
}
