/**
 * Every setting, one row each. Values, where they come from, the picker, completions and what is said of a value that is
 * not understood are all made from it. A setting is added here, and where it is used.
 */

import { INACTIVITY_TIMEOUT_MIN } from "../../shared/limits.ts";
import {
	agentName,
	args,
	type Kind,
	key,
	minutes,
	names,
	oneOf,
	onOff,
	type Price,
	path,
	prices,
	seconds,
	THINKING_LEVELS,
	text,
	turnCount,
	url,
} from "./values.ts";

export type Row<T> = {
	/** Null for a setting that only a file can hold. */
	readonly variable: string | null;
	readonly kind: Kind<T>;
	readonly fallback: T;
	/** The default in words, where the value itself does not say it. */
	readonly fallbackText?: string;
	/** One line. */
	readonly about: string;
	/** It can limit what agy may do: a value that is not understood must not be taken for the default. */
	readonly isLimit?: true;
	/** It is needed before a session begins: a change applies after /reload, and a project cannot set it. */
	readonly needsReload?: true;
	/** A change applies at once, not only to the next turn. */
	readonly isAtOnce?: true;
};

type Marks = Pick<Row<unknown>, "fallbackText" | "isLimit" | "needsReload" | "isAtOnce">;

function row<T>(
	variable: string | null,
	kind: Kind<T>,
	fallback: NoInfer<T>,
	about: string,
	marks: Marks = {},
): Row<T> {
	return { variable, kind, fallback, about, ...marks };
}

/** One that has no value unless it is set. */
function open<T>(variable: string, kind: Kind<T>, fallbackText: string, about: string, marks: Marks = {}) {
	return row<T | null>(variable, kind, null, about, { fallbackText, ...marks });
}

const LIMIT = { isLimit: true } as const;
const RELOAD = { needsReload: true } as const;
const AT_ONCE = { isAtOnce: true } as const;
const PLAYER: readonly string[] = ["ffplay", "-nodisp", "-autoexit", "-loglevel", "error", "{file}"];
const NO_PRICES: Readonly<Record<string, Price>> = {};

export const TABLE = {
	bin: open("AGY_BIN", path, "first agy on PATH", "The agy to run: a path, or a name to look up on PATH."),
	engine: row("AGY_ENGINE", oneOf(["stream-json", "legacy-sqlite"]), "stream-json", "How agy is driven.", RELOAD),
	mode: row("AGY_MODE", oneOf(["default", "accept-edits", "plan"]), "default", "agy's --mode.", LIMIT),
	readonly: row("AGY_READONLY", onOff, false, "Refuse every turn and every delegated run.", LIMIT),
	skipPermissions: row(
		"AGY_SKIP_PERMISSIONS",
		onOff,
		true,
		"Let agy act without asking (--dangerously-skip-permissions); never in plan mode.",
		LIMIT,
	),
	turnTimeoutMin: open(
		"AGY_TURN_TIMEOUT_MIN",
		minutes,
		"off in the TUI, else 20",
		"Minutes a turn may take; time in which agy waits for pi does not count.",
	),
	inactivityTimeoutMin: row(
		"AGY_INACTIVITY_TIMEOUT_MIN",
		minutes,
		INACTIVITY_TIMEOUT_MIN,
		"Minutes agy may be silent within a turn.",
	),
	agent: open("AGY_AGENT", agentName, "none", "Custom agy agent (--agent).", LIMIT),
	systemPrompt: row("AGY_SYSTEM_PROMPT", onOff, true, "Give agy pi's system prompt."),
	digest: row("AGY_DIGEST", onOff, false, "Put what agy missed, shortened, beside the prompt instead of into a file."),
	steps: row("AGY_STEPS", oneOf(["cards", "lines"]), "cards", "How agy's own steps are shown."),
	bridgeTools: row(
		"AGY_BRIDGE_TOOLS",
		oneOf(["all", "mcp", "none"]),
		"all",
		"Which of pi's tools agy may use: all but pi's own, those of MCP servers, or none.",
		{ ...LIMIT, ...AT_ONCE },
	),
	askTool: row("AGY_ASK_TOOL", onOff, true, "Offer the tool AskAntigravity to other models.", { ...LIMIT, ...AT_ONCE }),
	defaultModel: open("AGY_DEFAULT_MODEL", text, "first of agy's list", "Model of a delegated run that names none."),
	defaultThinking: row(
		"AGY_DEFAULT_THINKING",
		oneOf(THINKING_LEVELS),
		"medium",
		"Thinking level of a delegated run that names none.",
	),
	extraArgs: row("AGY_EXTRA_ARGS", args, [], "More arguments for every turn's agy.", LIMIT),
	geminiDir: open("AGY_GEMINI_DIR", path, "~/.gemini", "Where agy keeps its agents and transcripts.", RELOAD),
	conversationsDir: open(
		"AGY_CONVERSATIONS_DIR",
		path,
		"antigravity-cli/conversations in geminiDir",
		"Where agy keeps its conversation databases, for legacy-sqlite.",
	),
	debug: row("AGY_DEBUG", onOff, false, "Log processes, turns and agy's stderr too.", RELOAD),
	prices: row(null, prices, NO_PRICES, "Dollars per million tokens by pi model id.", AT_ONCE),
	passEnv: row(null, names, [], "More environment variables that agy gets to see."),
	capture: row(
		"AGY_CAPTURE",
		turnCount,
		0,
		"Keep the raw lines of the last so many turns of each agy process.",
		RELOAD,
	),
	voiceKey: row("AGY_VOICE_KEY", key, "f12", "The key that starts and ends a recording.", RELOAD),
	voiceTranscriber: row(
		"AGY_VOICE_TRANSCRIBER",
		oneOf(["auto", "gemini", "command", "agy"]),
		"auto",
		"Who writes what was said; auto is the command if one is set, else gemini with a key, else agy.",
		AT_ONCE,
	),
	voiceLanguage: open("AGY_VOICE_LANGUAGE", text, "found out", "What is spoken, for example it.", AT_ONCE),
	voiceModel: open("AGY_VOICE_MODEL", text, "pi-agy's choice", "Gemini's model for transcription.", AT_ONCE),
	voiceGeminiUrl: open("AGY_VOICE_GEMINI_URL", url, "Google's", "Where Gemini's API is.", AT_ONCE),
	voiceCommand: row("AGY_VOICE_COMMAND", args, [], "Program and arguments of a transcriber.", AT_ONCE),
	voiceCommandFormat: row(
		"AGY_VOICE_COMMAND_FORMAT",
		oneOf(["ogg", "wav"]),
		"wav",
		"What that program is given.",
		AT_ONCE,
	),
	voiceFfmpeg: open("AGY_VOICE_FFMPEG", path, "first ffmpeg on PATH", "The ffmpeg to run.", AT_ONCE),
	voiceInput: row("AGY_VOICE_INPUT", args, [], "ffmpeg's input; without it the microphone is looked for.", AT_ONCE),
	voiceRecorder: row("AGY_VOICE_RECORDER", args, [], "Program that writes a sound file to its stdout.", AT_ONCE),
	voiceOutput: row("AGY_VOICE_OUTPUT", args, [], "ffmpeg's output for the start and stop sound.", AT_ONCE),
	voiceSounds: row("AGY_VOICE_SOUNDS", onOff, true, "Play a sound at the start and the end of a recording.", AT_ONCE),
	voiceMaxSeconds: row("AGY_VOICE_MAX_SECONDS", seconds(1, 1_800), 300, "The longest recording.", AT_ONCE),
	voiceSilenceSeconds: row(
		"AGY_VOICE_SILENCE_SECONDS",
		seconds(0, 60),
		0,
		"Silence after which a recording ends by itself; 0 is off.",
		AT_ONCE,
	),
	voiceInterpret: row(
		"AGY_VOICE_INTERPRET",
		onOff,
		false,
		"Have agy turn what was said into the request meant.",
		AT_ONCE,
	),
	voiceSend: row(
		"AGY_VOICE_SEND",
		onOff,
		false,
		"Send the words at once instead of putting them into the editor.",
		AT_ONCE,
	),
	voiceReadAloud: row("AGY_VOICE_READ_ALOUD", onOff, false, "Read each answer aloud.", AT_ONCE),
	voiceSpeakCommand: row("AGY_VOICE_SPEAK_COMMAND", args, [], "Program and arguments that speak.", AT_ONCE),
	voicePlayer: row("AGY_VOICE_PLAYER", args, PLAYER, "Program and arguments that play a sound file.", AT_ONCE),
};

export type Key = keyof typeof TABLE;

/** The value of each setting. */
export type Values = { readonly [K in Key]: (typeof TABLE)[K] extends Row<infer T> ? T : never };

export const KEYS = Object.keys(TABLE) as readonly Key[];

export function isKey(name: string): name is Key {
	return Object.hasOwn(TABLE, name);
}

export function rowOf(name: Key): Row<unknown> {
	return TABLE[name];
}
