/**
 * The only reader of the environment and of config.json: one frozen object, each value with where it came from.
 * The environment wins over the file. A value that cannot be used is named in `problems`, and the default applies; where
 * it may have been meant to limit agy, no turn is run instead.
 */

import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { AudioContainer } from "../shared/audio.ts";
import { HEADLESS_TURN_TIMEOUT_MIN, INACTIVITY_TIMEOUT_MIN } from "../shared/limits.ts";
import { JsonStore } from "./json-store.ts";

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
	readonly defaultThinking: (typeof THINKING_LEVELS)[number];
	/** pi itself was started from within an agy: by a command of a delegated run, or of any other agy. */
	readonly isWithinAgy: boolean;
	/** More arguments for every agy process, split at spaces. */
	readonly extraArgs: readonly string[];
	/** Log everything, not only warnings and errors. */
	readonly debug: boolean;
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
	/** For each setting that is not the default: where its value stands. */
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

export type Price = { readonly input: number; readonly output: number; readonly cacheRead: number };

/** pi's own. */
export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** Set for the agy of a delegated run, and so for everything that it starts. */
export const DEPTH_VARIABLE = "PI_AGY_DEPTH";

const TRANSCRIBERS = ["auto", "gemini", "command", "agy"] as const;
const DEFAULT_PLAYER: readonly string[] = ["ffplay", "-nodisp", "-autoexit", "-loglevel", "error", "{file}"];
/** Modifiers and one key. pi's list of keys is longer than ours has to be: one it does not know does nothing. */
const KEY = /^((ctrl|shift|alt|super)\+)*([a-z0-9]|f([1-9]|1[0-2])|space|insert|pageUp|pageDown|home|end)$/;

type Env = Readonly<Record<string, string | undefined>>;
type Problem = (text: string) => void;

/**
 * What agy needs of the environment: where home is, how the terminal and the locale are, proxies and certificates, a
 * session bus for the keyring. Everything else, secrets of other programs above all, stays out.
 */
const CHILD_ENV_NAMES =
	/^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|TMPDIR|TEMP|TMP|DISPLAY|WAYLAND_DISPLAY|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|SSH_AUTH_SOCK|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|AGY_\w+|ANTIGRAVITY_\w+|GEMINI_API_KEY|GOOGLE_GEMINI_BASE_URL|SystemRoot|APPDATA|LOCALAPPDATA|USERPROFILE|PATHEXT|ComSpec|WINDIR)$/i;

/** Where the sound system is. */
const SOUND_ENV_NAMES = /^(PULSE_\w+|PIPEWIRE_\w+|ALSA_\w+|AUDIODEV|AUDIODRIVER)$/;
/** agy's own, which other programs have no use for. */
const AGY_ENV_NAMES = /^(AGY_\w+|ANTIGRAVITY_\w+|GEMINI_API_KEY|GOOGLE_GEMINI_BASE_URL|SSH_AUTH_SOCK)$/i;

/** Settings that can limit what agy may do: one of them that is not understood must not be taken for its default. */
const LIMITS: ReadonlySet<string> = new Set([
	"mode",
	"skipPermissions",
	"agent",
	"askTool",
	"extraArgs",
	"bridgeTools",
]);
/** What else config.json may hold. */
const FILE_ONLY: ReadonlySet<string> = new Set(["version", "prices", "passEnv"]);

/** Reads the configuration. Never throws. */
export function loadConfig(env: Env = process.env): Config {
	const agentDir = env.PI_CODING_AGENT_DIR ? expandHome(env.PI_CODING_AGENT_DIR) : join(homedir(), ".pi", "agent");
	const dataDir = join(agentDir, "pi-agy");
	const store = new JsonStore(join(dataDir, "config.json"));
	const { object: file, problem: damage } = store.inspectSync();
	const provenance: Record<string, string> = {};
	const problems: string[] = [];
	const refusals: string[] = [];
	const known = new Set<string>();

	function note(text: string, isLimit: boolean): void {
		problems.push(`${text} ${isLimit ? "No turn is run until it is corrected." : "The default applies."}`);
		if (isLimit) refusals.push(problems.at(-1) ?? "");
	}

	if (damage !== "") note(`${store.path} cannot be used: ${damage}.`, true);

	function setting<T>(
		name: string,
		variable: string,
		fallback: T,
		parse: (raw: unknown, problem: Problem) => T | undefined,
	): T {
		known.add(name);
		const places = [
			{ raw: env[variable] || undefined, source: variable },
			{ raw: file[name], source: `config.json: ${name}` },
		];
		for (const { raw, source } of places) {
			if (raw === undefined) continue;
			const value = parse(raw, (allowed) =>
				note(`${source} is ${JSON.stringify(raw)}, which is not understood. Allowed: ${allowed}.`, LIMITS.has(name)),
			);
			if (value === undefined) return fallback;
			provenance[name] = source;
			return value;
		}
		return fallback;
	}

	const passEnv = toNames(file.passEnv, note);
	const geminiDir = setting("geminiDir", "AGY_GEMINI_DIR", null, parsePath) ?? join(homedir(), ".gemini");
	const settings = {
		engine: setting("engine", "AGY_ENGINE", "stream-json", oneOf(["stream-json", "legacy-sqlite"])),
		conversationsDir:
			setting("conversationsDir", "AGY_CONVERSATIONS_DIR", null, parsePath) ??
			join(geminiDir, "antigravity-cli", "conversations"),
		bin: setting("bin", "AGY_BIN", null, parsePath),
		searchPath: (env.PATH ?? "").split(delimiter).filter((directory) => directory !== ""),
		mode: setting("mode", "AGY_MODE", "default", oneOf(["default", "accept-edits", "plan"])),
		skipPermissions: setting("skipPermissions", "AGY_SKIP_PERMISSIONS", true, parseSwitch),
		turnTimeoutMin: setting<number | null>("turnTimeoutMin", "AGY_TURN_TIMEOUT_MIN", null, parseMinutes),
		inactivityTimeoutMin: setting(
			"inactivityTimeoutMin",
			"AGY_INACTIVITY_TIMEOUT_MIN",
			INACTIVITY_TIMEOUT_MIN,
			parseMinutes,
		),
		agent: setting("agent", "AGY_AGENT", null, parseText),
		systemPrompt: setting("systemPrompt", "AGY_SYSTEM_PROMPT", true, parseSwitch),
		digest: setting("digest", "AGY_DIGEST", false, parseSwitch),
		steps: setting("steps", "AGY_STEPS", "cards", oneOf(["cards", "lines"])),
		bridgeTools: setting("bridgeTools", "AGY_BRIDGE_TOOLS", "all", oneOf(["all", "mcp", "none"])),
		askTool: setting("askTool", "AGY_ASK_TOOL", true, parseSwitch),
		defaultModel: setting("defaultModel", "AGY_DEFAULT_MODEL", null, parseText),
		defaultThinking: setting("defaultThinking", "AGY_DEFAULT_THINKING", "medium", oneOf(THINKING_LEVELS)),
		// The second is what agy sets for its commands.
		isWithinAgy: Boolean(env[DEPTH_VARIABLE] || env.ANTIGRAVITY_AGENT),
		extraArgs: setting("extraArgs", "AGY_EXTRA_ARGS", [], parseArgs),
		debug: setting("debug", "AGY_DEBUG", false, parseSwitch),
		voice: Object.freeze({
			key: setting("voiceKey", "AGY_VOICE_KEY", "f12", parseKey),
			transcriber: setting("voiceTranscriber", "AGY_VOICE_TRANSCRIBER", "auto", oneOf(TRANSCRIBERS)),
			language: setting("voiceLanguage", "AGY_VOICE_LANGUAGE", null, parseText),
			model: setting("voiceModel", "AGY_VOICE_MODEL", null, parseText),
			geminiUrl: setting("voiceGeminiUrl", "AGY_VOICE_GEMINI_URL", null, parseUrl),
			command: setting("voiceCommand", "AGY_VOICE_COMMAND", [], parseArgs),
			commandFormat: setting("voiceCommandFormat", "AGY_VOICE_COMMAND_FORMAT", "wav", oneOf(["ogg", "wav"])),
			ffmpeg: setting("voiceFfmpeg", "AGY_VOICE_FFMPEG", null, parsePath),
			input: setting("voiceInput", "AGY_VOICE_INPUT", [], parseArgs),
			recorder: setting("voiceRecorder", "AGY_VOICE_RECORDER", [], parseArgs),
			output: setting("voiceOutput", "AGY_VOICE_OUTPUT", [], parseArgs),
			sounds: setting("voiceSounds", "AGY_VOICE_SOUNDS", true, parseSwitch),
			maxSeconds: setting("voiceMaxSeconds", "AGY_VOICE_MAX_SECONDS", 300, parseSeconds({ min: 1, max: 1_800 })),
			silenceSeconds: setting("voiceSilenceSeconds", "AGY_VOICE_SILENCE_SECONDS", 0, parseSeconds({ min: 0, max: 60 })),
			interpret: setting("voiceInterpret", "AGY_VOICE_INTERPRET", false, parseSwitch),
			send: setting("voiceSend", "AGY_VOICE_SEND", false, parseSwitch),
			readAloud: setting("voiceReadAloud", "AGY_VOICE_READ_ALOUD", false, parseSwitch),
			speakCommand: setting("voiceSpeakCommand", "AGY_VOICE_SPEAK_COMMAND", [], parseArgs),
			player: setting("voicePlayer", "AGY_VOICE_PLAYER", DEFAULT_PLAYER, parseArgs),
			env: Object.freeze(voiceEnvOf(env, passEnv)),
		}),
		googleKey: () => env.GEMINI_API_KEY || env.GOOGLE_API_KEY || null,
		prices: Object.freeze(toPrices(file.prices, (text) => problems.push(text))),
		dataDir,
		geminiDir,
		childEnv: Object.freeze(childEnvOf(env, passEnv)),
	};
	for (const name of Object.keys(file)) {
		if (!known.has(name) && !FILE_ONLY.has(name)) problems.push(`config.json: ${name} is no setting of pi-agy.`);
	}
	return Object.freeze({
		...settings,
		provenance: Object.freeze(provenance),
		problems: Object.freeze(problems),
		refusal: refusals[0] ?? null,
	});
}

/** The cap of a whole turn in minutes, 0 when there is none. */
export function turnTimeoutMinOf(config: Config, hasTerminal: boolean): number {
	return config.turnTimeoutMin ?? (hasTerminal ? 0 : HEADLESS_TURN_TIMEOUT_MIN);
}

function childEnvOf(env: Env, more: ReadonlySet<string>): Record<string, string> {
	const child: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) {
		if (value !== undefined && (CHILD_ENV_NAMES.test(name) || more.has(name))) child[name] = value;
	}
	return child;
}

function voiceEnvOf(env: Env, more: ReadonlySet<string>): Record<string, string> {
	const child: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) {
		const isWanted = (CHILD_ENV_NAMES.test(name) && !AGY_ENV_NAMES.test(name)) || SOUND_ENV_NAMES.test(name);
		if (value !== undefined && (isWanted || more.has(name))) child[name] = value;
	}
	return child;
}

function toNames(raw: unknown, note: (text: string, isLimit: boolean) => void): ReadonlySet<string> {
	const entries: readonly unknown[] = Array.isArray(raw) ? raw : [];
	const names = entries.filter((name) => typeof name === "string");
	if (raw !== undefined && (!Array.isArray(raw) || names.length < entries.length)) {
		note(`config.json: passEnv is ${JSON.stringify(raw)}, which is not understood. Allowed: a list of names.`, false);
	}
	return new Set(names);
}

function toPrices(value: unknown, problem: Problem): Record<string, Price> {
	const prices: Record<string, Price> = {};
	if (value === undefined || value === null) return prices;
	const refuse = (what: string, raw: unknown) =>
		problem(
			`config.json: ${what} is ${JSON.stringify(raw)}, which is not understood. Allowed: for each model id its input, output and, if it differs, cacheRead, in dollars per million tokens. What has no price costs 0.`,
		);
	if (typeof value !== "object" || Array.isArray(value)) {
		refuse("prices", value);
		return prices;
	}
	for (const [modelId, price] of Object.entries(value)) {
		const { input, output, cacheRead = input } = (price ?? {}) as Readonly<Record<string, unknown>>;
		if (isAmount(input) && isAmount(output) && isAmount(cacheRead)) prices[modelId] = { input, output, cacheRead };
		else refuse(`prices of ${modelId}`, price);
	}
	return prices;
}

function isAmount(value: unknown): value is number {
	return typeof value === "number" && value >= 0;
}

function parseText(raw: unknown, problem: Problem): string | null | undefined {
	if (typeof raw === "string" && raw.trim() !== "") return raw.trim();
	problem("a text");
	return undefined;
}

function parsePath(raw: unknown, problem: Problem): string | null | undefined {
	const text = parseText(raw, problem);
	return typeof text === "string" ? expandHome(text) : text;
}

function parseArgs(raw: unknown, problem: Problem): readonly string[] | undefined {
	if (typeof raw === "string") return raw.split(/\s+/).filter((argument) => argument !== "");
	if (Array.isArray(raw) && raw.every((argument) => typeof argument === "string" && !argument.includes("\0")))
		return raw;
	problem("arguments separated by spaces");
	return undefined;
}

function parseSwitch(raw: unknown, problem: Problem): boolean | undefined {
	if (typeof raw === "boolean") return raw;
	if (/^(1|true|on|yes)$/i.test(String(raw))) return true;
	if (/^(0|false|off|no)$/i.test(String(raw))) return false;
	problem("on, off");
	return undefined;
}

function parseMinutes(raw: unknown, problem: Problem): number | undefined {
	const minutes = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
	if (typeof minutes === "number" && Number.isFinite(minutes) && minutes >= 0) return minutes;
	problem("minutes, 0 for off");
	return undefined;
}

function parseSeconds({ min, max }: { readonly min: number; readonly max: number }) {
	return (raw: unknown, problem: Problem): number | undefined => {
		const seconds = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
		if (typeof seconds === "number" && seconds >= min && seconds <= max) return seconds;
		problem(`seconds, ${min} to ${max}`);
		return undefined;
	};
}

function parseKey(raw: unknown, problem: Problem): string | undefined {
	if (typeof raw === "string" && KEY.test(raw)) return raw;
	problem("a key as pi names it, such as f12, ctrl+space or alt+v");
	return undefined;
}

function parseUrl(raw: unknown, problem: Problem): string | null | undefined {
	if (typeof raw === "string" && /^https?:\/\//.test(raw) && URL.canParse(raw)) return raw;
	problem("an http or https address");
	return undefined;
}

function oneOf<const T extends string>(values: readonly T[]): (raw: unknown, problem: Problem) => T | undefined {
	return (raw, problem) => {
		const value = values.find((candidate) => candidate === raw);
		if (value === undefined) problem(values.join(", "));
		return value;
	};
}

function expandHome(path: string): string {
	return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
