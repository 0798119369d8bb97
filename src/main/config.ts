/**
 * The only reader of the environment. What the parts of pi-agy get to know of the settings: one object, made from the values
 * that settings/load.ts found, each with where it came from.
 */

import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { AudioContainer } from "../shared/audio.ts";
import { AgyError } from "../shared/errors.ts";
import { HEADLESS_TURN_TIMEOUT_MIN } from "../shared/limits.ts";
import { JsonStore } from "./json-store.ts";
import { childEnvOf, voiceEnvOf } from "./settings/child-env.ts";
import { type Env, type Loaded, load, PROJECT_LABEL, type SettingsFile } from "./settings/load.ts";
import type { Values } from "./settings/table.ts";
import { expandHome, type Price } from "./settings/values.ts";

export type Config = {
	/** How agy is driven. Default: stream-json. */
	readonly engine: "stream-json" | "legacy-sqlite";
	/** Where agy keeps its conversation databases. Default: antigravity-cli/conversations in `geminiDir`. */
	readonly conversationsDir: string;
	/** The agy to run: AGY_BIN, else the first `agy` on PATH is looked up when needed. */
	readonly bin: string | null;
	/** Directories of PATH, in order. */
	readonly searchPath: readonly string[];
	readonly mode: "default" | "accept-edits" | "plan";
	/** Run no turn and no delegated run. Default: false. */
	readonly isReadOnly: boolean;
	/** Pass --dangerously-skip-permissions. Default: true, because headless agy cannot ask and would refuse instead. */
	readonly skipPermissions: boolean;
	/** Minutes; 0 is off. Default: null, which is off on a terminal and 20 without one. */
	readonly turnTimeoutMin: number | null;
	/** Minutes of silence within a turn; 0 is off. Default: 5. */
	readonly inactivityTimeoutMin: number;
	readonly agent: string | null;
	/** Give agy pi's system prompt. Default: true. */
	readonly systemPrompt: boolean;
	/** Put what agy missed beside the prompt, shortened, instead of into a file. Default: false. */
	readonly digest: boolean;
	/** How agy's own steps are shown: as cards, or as lines in the thinking text. Default: cards. */
	readonly steps: "cards" | "lines";
	/** Which of pi's tools agy may use: all but pi's own, those of MCP servers, or none. Default: all. */
	readonly bridgeTools: "all" | "mcp" | "none";
	/** Offer the delegation tool to models. Default: true. */
	readonly askTool: boolean;
	/** Model of a delegated run that names none, in the words the tool takes. Default: null, the first of agy's list. */
	readonly defaultModel: string | null;
	/** Thinking level of a delegated run that names none. Default: medium. */
	readonly defaultThinking: Values["defaultThinking"];
	/** pi itself was started from within an agy: by a command of a delegated run, or of any other agy. */
	readonly isWithinAgy: boolean;
	/** More arguments for every agy process, split at spaces. */
	readonly extraArgs: readonly string[];
	/** Log everything, not only warnings and errors. */
	readonly debug: boolean;
	/** Keep the raw lines of the last so many turns of each agy process. Default: 0, none. */
	readonly capture: number;
	/** Dollars per million tokens, by pi model id. Default: none, everything costs 0. */
	readonly prices: Readonly<Record<string, Price>>;
	/** `<pi agent dir>/pi-agy` */
	readonly dataDir: string;
	/** Where agy keeps its settings, agents and transcripts. Default: ~/.gemini. */
	readonly geminiDir: string;
	/** What an agy process gets to see. */
	readonly childEnv: Readonly<Record<string, string>>;
	readonly voice: VoiceConfig;
	/** The key of Google's API that the environment holds, for voice; a function, so that no print of the settings shows it. */
	readonly googleKey: () => string | null;
	/** For each setting that is not the default, by its key: where its value stands. */
	readonly provenance: Readonly<Record<string, string>>;
	/** What was not understood, a sentence or two each. */
	readonly problems: readonly string[];
	/** The problem that no turn may be run with; null when there is none. */
	readonly refusal: string | null;
};

export type VoiceConfig = {
	/** The key that starts and stops a recording, as pi names keys. Default: f12. */
	readonly key: string;
	/** Default: auto, which is gemini with a key, else the command, else agy. */
	readonly transcriber: "auto" | "gemini" | "command" | "agy";
	/** What is spoken, for example "it". Default: null, the transcriber finds out. */
	readonly language: string | null;
	/** Gemini's model. Default: null, that of gemini.ts. */
	readonly model: string | null;
	/** Where Gemini's API is. Default: null, Google's. */
	readonly geminiUrl: string | null;
	/** Program and arguments of a transcriber. Default: none. */
	readonly command: readonly string[];
	/** What the command is given. Default: wav, which all of them read. */
	readonly commandFormat: AudioContainer;
	/** The ffmpeg to run. Default: null, the first on PATH. */
	readonly ffmpeg: string | null;
	/** ffmpeg's input, as its arguments. Default: none, the system's microphone is looked for. */
	readonly input: readonly string[];
	/** Program and arguments of a recorder that writes a sound file to its stdout. Default: none. */
	readonly recorder: readonly string[];
	/** ffmpeg's output for the start and stop sound, as its arguments. Default: none, the system's. */
	readonly output: readonly string[];
	/** Play a sound at the start and at the end of a recording. Default: true. */
	readonly sounds: boolean;
	/** The longest recording. Default: 300. */
	readonly maxSeconds: number;
	/** Silence after which a recording ends by itself; 0 is off. Default: 0. */
	readonly silenceSeconds: number;
	/** Have agy turn what was said into the request that was meant. Default: false. */
	readonly interpret: boolean;
	/** Send the result at once instead of putting it into the editor. Default: false. */
	readonly send: boolean;
	/** Read each answer aloud. Default: false. */
	readonly readAloud: boolean;
	/** Program and arguments that speak. Default: none. */
	readonly speakCommand: readonly string[];
	/** Program and arguments that play a sound file. Default: ffplay. */
	readonly player: readonly string[];
	/** What programs that record, transcribe or speak get to see: no key, nothing of agy's. */
	readonly env: Readonly<Record<string, string>>;
};

/** Set for the agy of a delegated run, and so for everything that it starts. */
export const DEPTH_VARIABLE = "PI_AGY_DEPTH";

/** The environment as it is now. */
export function environment(): Env {
	return { ...process.env };
}

/** `<pi agent dir>/pi-agy` */
function dataDirOf(env: Env): string {
	const agentDir = env.PI_CODING_AGENT_DIR ? expandHome(env.PI_CODING_AGENT_DIR) : join(homedir(), ".pi", "agent");
	return join(agentDir, "pi-agy");
}

/** The user's config.json. */
export function readUserFile(env: Env): SettingsFile {
	const store = new JsonStore(join(dataDirOf(env), "config.json"));
	return { layer: "user", label: "config.json", path: store.path, ...store.inspectSync() };
}

/** The configuration of the environment and the user's file. Never throws. */
export function loadConfig(env: Env = environment()): Config {
	const config = toConfig(env, load(env, [readUserFile(env)]));
	return Object.freeze({ ...config, voice: Object.freeze(config.voice) });
}

export function toConfig(env: Env, { values, sources, problems, refusal }: Loaded): Config {
	const geminiDir = values.geminiDir ?? join(homedir(), ".gemini");
	const passEnv = new Set(values.passEnv);
	const { engine, bin, mode, skipPermissions, turnTimeoutMin, inactivityTimeoutMin, agent, systemPrompt } = values;
	const { digest, steps, bridgeTools, askTool, defaultModel, defaultThinking, extraArgs, debug, capture, prices } =
		values;
	return {
		...{ engine, bin, mode, skipPermissions, turnTimeoutMin, inactivityTimeoutMin, agent, systemPrompt },
		...{ digest, steps, bridgeTools, askTool, defaultModel, defaultThinking, extraArgs, debug, capture, prices },
		isReadOnly: values.readonly,
		geminiDir,
		conversationsDir: values.conversationsDir ?? join(geminiDir, "antigravity-cli", "conversations"),
		searchPath: (env.PATH ?? "").split(delimiter).filter((directory) => directory !== ""),
		// The second is what agy sets for its commands.
		isWithinAgy: Boolean(env[DEPTH_VARIABLE] || env.ANTIGRAVITY_AGENT),
		dataDir: dataDirOf(env),
		childEnv: childEnvOf(env, passEnv),
		voice: toVoice(values, voiceEnvOf(env, passEnv)),
		googleKey: () => env.GEMINI_API_KEY || env.GOOGLE_API_KEY || null,
		provenance: Object.freeze(Object.fromEntries(Object.entries(sources).map(([key, { name }]) => [key, name]))),
		problems: Object.freeze(problems),
		refusal,
	};
}

function toVoice(values: Values, env: VoiceConfig["env"]): VoiceConfig {
	return {
		key: values.voiceKey,
		transcriber: values.voiceTranscriber,
		language: values.voiceLanguage,
		model: values.voiceModel,
		geminiUrl: values.voiceGeminiUrl,
		command: values.voiceCommand,
		commandFormat: values.voiceCommandFormat,
		ffmpeg: values.voiceFfmpeg,
		input: values.voiceInput,
		recorder: values.voiceRecorder,
		output: values.voiceOutput,
		sounds: values.voiceSounds,
		maxSeconds: values.voiceMaxSeconds,
		silenceSeconds: values.voiceSilenceSeconds,
		interpret: values.voiceInterpret,
		send: values.voiceSend,
		readAloud: values.voiceReadAloud,
		speakCommand: values.voiceSpeakCommand,
		player: values.voicePlayer,
		env,
	};
}

/** Throws where the settings allow no agy to be run: `bad-setting`, or `read-only`. */
export function requireRunnable({ refusal, isReadOnly, provenance }: Config): void {
	if (refusal !== null) throw new AgyError("bad-setting", refusal);
	if (!isReadOnly) return;
	const source = provenance.readonly ?? "";
	const remedy = source.startsWith("AGY_")
		? `unset ${source}`
		: source.startsWith(PROJECT_LABEL)
			? `take readonly out of ${PROJECT_LABEL}`
			: "/agy readonly off";
	throw new AgyError(
		"read-only",
		`Nothing was sent to agy: readonly is on (${source}), and agy may change files in each of its modes. To go on: ${remedy}.`,
	);
}

/** The cap of a whole turn in minutes, 0 when there is none. */
export function turnTimeoutMinOf(config: Config, hasTerminal: boolean): number {
	return config.turnTimeoutMin ?? (hasTerminal ? 0 : HEADLESS_TURN_TIMEOUT_MIN);
}
