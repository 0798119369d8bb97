/**
 * The only reader of the environment and of config.json: one frozen object, each value with where it came from.
 * The environment wins over the file. A value that cannot be used is named in `problems`, and the default applies; where
 * it may have been meant to limit agy, no turn is run instead.
 */

import { homedir } from "node:os";
import { delimiter, join } from "node:path";
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
	/** For each setting that is not the default: where its value stands. */
	readonly provenance: Readonly<Record<string, string>>;
	/** What was not understood, a sentence or two each. */
	readonly problems: readonly string[];
	/** The problem that no turn may be run with; null when there is none. */
	readonly refusal: string | null;
};

export type Price = { readonly input: number; readonly output: number; readonly cacheRead: number };

/** pi's own. */
export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** Set for the agy of a delegated run, and so for everything that it starts. */
export const DEPTH_VARIABLE = "PI_AGY_DEPTH";

type Env = Readonly<Record<string, string | undefined>>;
type Problem = (text: string) => void;

/**
 * What agy needs of the environment: where home is, how the terminal and the locale are, proxies and certificates, a
 * session bus for the keyring. Everything else, secrets of other programs above all, stays out.
 */
const CHILD_ENV_NAMES =
	/^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|TMPDIR|TEMP|TMP|DISPLAY|WAYLAND_DISPLAY|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|SSH_AUTH_SOCK|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|AGY_\w+|ANTIGRAVITY_\w+|GEMINI_API_KEY|GOOGLE_GEMINI_BASE_URL|SystemRoot|APPDATA|LOCALAPPDATA|USERPROFILE|PATHEXT|ComSpec|WINDIR)$/i;

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
		prices: Object.freeze(toPrices(file.prices, (text) => problems.push(text))),
		dataDir,
		geminiDir,
		childEnv: Object.freeze(childEnvOf(env, toNames(file.passEnv, note))),
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
