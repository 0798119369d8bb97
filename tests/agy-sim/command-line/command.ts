/**
 * What one start of agy is asked to do. Refusals of the command line itself are values here; they all end with exit code 2,
 * a message on stderr and, for flag mistakes, the usage text.
 */
import { type Behaviour, isAtLeast } from "../scenario/behaviour.ts";
import { parseGoDuration } from "./go-duration.ts";
import { type FlagKind, type FlagUse, parseGoFlags } from "./go-flags.ts";

export type RunOptions = {
	readonly prompt: string | undefined;
	readonly streamInput: boolean;
	readonly output: "text" | "json" | "stream-json";
	readonly jsonSchema: string | undefined;
	readonly model: string | undefined;
	readonly effort: string | undefined;
	readonly mode: string | undefined;
	readonly agent: string | undefined;
	readonly conversation: string | undefined;
	readonly continueLast: boolean;
	readonly addDirs: readonly string[];
	readonly skipPermissions: boolean;
	readonly slashCommands: boolean;
	/** Undefined when not given; 0 is no limit. */
	readonly printTimeoutMs: number | undefined;
	readonly logFile: string | undefined;
};

export type Command =
	| { readonly kind: "version" }
	| { readonly kind: "help" }
	| { readonly kind: "models" }
	| { readonly kind: "agents" }
	| { readonly kind: "mcp-list" }
	| { readonly kind: "run"; readonly options: RunOptions }
	| { readonly kind: "refused"; readonly message: string; readonly showUsage: boolean };

type FlagFact = { readonly kind: FlagKind; readonly since?: string };

const FLAGS: Readonly<Record<string, FlagFact>> = {
	p: { kind: "string" },
	print: { kind: "string" },
	prompt: { kind: "string" },
	"input-format": { kind: "string", since: "1.1.15" },
	"output-format": { kind: "string", since: "1.1.8" },
	"json-schema": { kind: "string", since: "1.1.8" },
	model: { kind: "string" },
	effort: { kind: "string" },
	mode: { kind: "string" },
	agent: { kind: "string" },
	conversation: { kind: "string" },
	c: { kind: "boolean" },
	continue: { kind: "boolean" },
	"add-dir": { kind: "string" },
	project: { kind: "string" },
	"new-project": { kind: "boolean" },
	"dangerously-skip-permissions": { kind: "boolean" },
	sandbox: { kind: "boolean" },
	"disable-slash-commands": { kind: "boolean", since: "1.1.9" },
	"print-timeout": { kind: "string" },
	"log-file": { kind: "string" },
	i: { kind: "string" },
	"prompt-interactive": { kind: "string" },
	"remote-control": { kind: "boolean" },
	version: { kind: "boolean" },
	help: { kind: "boolean" },
	h: { kind: "boolean" },
};

export const USAGE_TEXT = [
	"Usage of agy (simulated):",
	...Object.entries(FLAGS).map(([name, flag]) => `  --${name}${flag.kind === "string" ? " string" : ""}`),
	"Commands: models, agents, mcp list",
].join("\n");

export function parseCommand(args: readonly string[], version: string, behaviour: Behaviour): Command {
	const subcommand = args[0]?.startsWith("-") ? undefined : args[0];
	if (subcommand !== undefined) return parseSubcommand(subcommand, args.slice(1));

	const known = Object.entries(FLAGS).filter(([, flag]) => isAtLeast(version, flag.since ?? "0"));
	const parsed = parseGoFlags(args, Object.fromEntries(known.map(([name, flag]) => [name, flag.kind])));
	if (!parsed.ok) return { kind: "refused", message: parsed.message, showUsage: true };

	const swallowed = parsed.uses.find((use) => isPrompt(use) && use.separate && /^--?[a-z]/.test(use.value));
	if (swallowed !== undefined && behaviour.swallowedFlag === "error") {
		const flagName = swallowed.value.split("=", 1)[0];
		return refusal(`${swallowed.spelled} took "${flagName}" as its prompt; give the prompt directly after it`);
	}
	if (parsed.positionals.length > 0 && behaviour.swallowedFlag === "error") {
		return refusal(`unexpected argument "${parsed.positionals[0]}"; a prompt is given with -p`);
	}
	return toCommand(parsed.uses, behaviour);
}

function parseSubcommand(name: string, rest: readonly string[]): Command {
	const unknownFlag = rest.find((argument) => argument.startsWith("-"));
	if (unknownFlag !== undefined) {
		const flagName = unknownFlag.replace(/^--?/, "").split("=", 1)[0];
		return { kind: "refused", message: `flags provided but not defined: -${flagName}`, showUsage: true };
	}
	if (name === "models") return { kind: "models" };
	if (name === "agents" || name === "agent") return { kind: "agents" };
	if (name === "mcp" && rest[0] === "list") return { kind: "mcp-list" };
	return refusal(`unknown command "${[name, ...rest].join(" ")}"`);
}

function toCommand(uses: readonly FlagUse[], behaviour: Behaviour): Command {
	const last = (...names: string[]) => uses.findLast((use) => names.includes(use.name))?.value;
	const isSet = (...names: string[]) => last(...names) === "true";
	if (isSet("version")) return { kind: "version" };
	if (isSet("help", "h")) return { kind: "help" };

	const input = last("input-format") ?? "text";
	const output = last("output-format") ?? "text";
	if (input !== "text" && input !== "stream-json") return refusal(`invalid --input-format "${input}"`);
	if (output !== "text" && output !== "json" && output !== "stream-json") {
		return refusal(`invalid --output-format "${output}"`);
	}
	const streamInput = input === "stream-json";
	if (streamInput && output !== "stream-json") {
		return refusal("--input-format stream-json requires --output-format stream-json");
	}
	const prompt = last("p", "print", "prompt");
	if (streamInput && prompt && behaviour.promptBesideStream === "error") {
		return refusal("--print and --input-format stream-json are mutually exclusive");
	}
	const mode = last("mode");
	if (mode !== undefined && mode !== "accept-edits" && mode !== "plan") return refusal(`invalid --mode "${mode}"`);
	const timeout = last("print-timeout");
	const printTimeoutMs = timeout === undefined ? undefined : parseGoDuration(timeout);
	if (timeout !== undefined && printTimeoutMs === undefined) {
		const message = `invalid value "${timeout}" for flag -print-timeout: parse error`;
		return { kind: "refused", message, showUsage: true };
	}
	return {
		kind: "run",
		options: {
			prompt: streamInput ? undefined : prompt,
			streamInput,
			output,
			jsonSchema: last("json-schema"),
			model: last("model"),
			effort: last("effort"),
			mode,
			agent: last("agent"),
			conversation: last("conversation"),
			continueLast: isSet("continue", "c"),
			addDirs: uses.filter((use) => use.name === "add-dir").map((use) => use.value),
			skipPermissions: isSet("dangerously-skip-permissions"),
			slashCommands: !isSet("disable-slash-commands"),
			printTimeoutMs,
			logFile: last("log-file"),
		},
	};
}

function isPrompt(use: FlagUse): boolean {
	return use.name === "p" || use.name === "print" || use.name === "prompt";
}

function refusal(message: string): Command {
	return { kind: "refused", message, showUsage: false };
}
