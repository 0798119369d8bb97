/**
 * A scenario: everything one simulated agy does, as data. Built-in scenarios are written against the type, files are
 * checked by the shape (see load.ts); both are the same thing.
 */
import { BEHAVIOUR } from "./behaviour.ts";
import { DATABASE } from "./database.ts";
import { amount, anyObject, anything, count, flag, type Infer, list, oneOf, pattern, record, text } from "./shape.ts";
import { STEP_SHAPE, USAGE } from "./step.ts";

const MODELS = record(
	{},
	{
		rows: list(record({ id: text, label: text }, {})),
		/** Printed before the rows, as they are. */
		extraLines: list(text),
		signedIn: flag,
		/** This many calls fail before one succeeds. */
		failures: count,
		waitForGate: text,
	},
);

const START = record(
	{},
	{
		/** When init is printed; default: by version. */
		init: oneOf("start", "first-line", "after-user-input", "never"),
		/** Nothing happens before this gate opens. */
		waitForGate: text,
		/** Marker made when the process is about to wait for the gate. */
		marker: text,
		/** Lines before anything else. */
		stdout: list(text),
		stderr: list(text),
		/** A lone ERROR result instead of a session, exit 1. */
		failure: text,
		/** Ends at once with this code, after the lines above. */
		exitCode: count,
		/** stdin is never read, or closed. */
		stdin: oneOf("read", "ignored", "closed"),
		ignoreSignals: list(text),
		/** Id of a new conversation; default: the next free one. */
		conversationId: text,
		/** A known conversation is not found. */
		resume: oneOf("same", "other"),
		/** Model that init names instead of the one asked for. */
		initModel: text,
	},
);

/** Overrides of the result line that ends a turn. */
const RESULT = record(
	{},
	{
		status: text,
		response: text,
		error: text,
		/** `turn`: this turn's figures instead of the conversation's. */
		usage: oneOf("zero", "turn"),
		exactUsage: USAGE,
		/** No result at all; the process stays. */
		omit: flag,
		structuredOutput: anything,
		/** Further fields, added at the end. */
		extra: anyObject,
		/** Leaves with this code after the result. */
		exitCode: count,
	},
);

const TURN = record(
	{ steps: list(STEP_SHAPE) },
	{
		/** A regular expression (case-insensitive) on the prompt: the turn is for such prompts only. */
		match: pattern,
		/** False: the user_input step is not sent. */
		userInput: flag,
		/** Steps before the frame of the turn begins, and after its result. */
		before: list(STEP_SHAPE),
		after: list(STEP_SHAPE),
		result: RESULT,
	},
);

export const SCENARIO = record(
	{ turns: list(TURN) },
	{
		/** The fact or fault it stands for, one line. */
		about: text,
		version: text,
		/** Versions of successive starts in one state folder; the last one stays. */
		versions: list(text),
		/** What --version prints instead of the bare number. */
		versionText: text,
		behaviour: BEHAVIOUR,
		tokensPerSecond: amount,
		models: MODELS,
		agents: list(text),
		/** What the end of stdin brings: the process leaves (default), or stays for ever. */
		atEof: oneOf("leave", "hang"),
		start: START,
		/** The MCP client gives a call up after this long; default 180 s. */
		mcpAbandonMs: count,
		mcpConnectMs: count,
		/** What `-p /usage` reports. */
		usage: anyObject,
		/** Writes the conversation database; without it there is none, unless $AGY_SIM_DATABASE is on. */
		database: DATABASE,
	},
);

export type Scenario = Infer<typeof SCENARIO>;
export type Turn = Infer<typeof TURN>;
export type ResultOverride = Infer<typeof RESULT>;
export type ModelRow = { readonly id: string; readonly label: string };
