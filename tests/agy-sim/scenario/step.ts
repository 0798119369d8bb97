/**
 * The steps a turn script is made of. Each kind is a shape, so this file is both the format of scenario files and the types
 * the engine works with. Strings may hold placeholders such as {{prompt}} or {{workspace}} (see placeholders.ts).
 */
import { ANSWER_ROW, DATABASE_STEPS, TOOL_ROW } from "./database.ts";
import { amount, anyObject, anything, count, flag, type Infer, list, oneOf, record, text, variant } from "./shape.ts";

export const USAGE = record(
	{},
	{ inputTokens: count, outputTokens: count, thinkingTokens: count, cacheReadTokens: count },
);

/** One model call that says something. */
const TEXT = record(
	{ text },
	{
		/** Characters (code points) of each delta; 0 says everything on the DONE frame. Default: uneven pieces. */
		deltaChars: count,
		/** The exact deltas; overrides the cutting of `text`. */
		deltas: list(text),
		/** What the DONE frame carries: the last piece (default), only "\n", or nothing; or there is no DONE frame. */
		finish: oneOf("last-delta", "newline", "bare", "none"),
		field: oneOf("text_delta", "response_text", "thinking_delta", "thought_text"),
		/** After this many deltas: make the marker, then wait for the gate. */
		pauseAfter: count,
		marker: text,
		gate: text,
		/** Each frame repeats everything said so far. */
		cumulative: flag,
		usage: USAGE,
		durationSeconds: amount,
		database: ANSWER_ROW,
	},
);

/** Deltas of one size at one rate, for measurements. */
const STEADY = record({ deltas: count, deltaBytes: count }, { deltasPerSecond: amount });

/** A model call without text: one DONE frame with usage. */
const THINK = record({}, { usage: USAGE, durationSeconds: amount, database: ANSWER_ROW });

/** A file the tool writes for real. */
const WRITES = record({ path: text }, { in: oneOf("workspace", "brain"), text, base64: text });

const TOOL_FIELDS = {
	/** What the stream shows. */
	parameters: anyObject,
	/** What hooks get to see; default: the parameters. */
	arguments: anyObject,
	output: text,
	/** Output of this many bytes, for very long lines. */
	outputBytes: count,
	/** Number of ACTIVE frames, default 1. */
	active: count,
	/** Output so far, one after the other, each on a further ACTIVE frame. */
	progress: list(text),
	/** After the last ACTIVE frame: make the marker, then wait for the gate. */
	marker: text,
	gate: text,
	/** How it ends; `rejected` never becomes a tool step, `open` stays ACTIVE. Default: done. */
	end: oneOf("done", "error", "denied", "rejected", "open"),
	error: text,
	/** `by-flags` (default) denies what the command line and settings.json do not permit. */
	permission: oneOf("by-flags", "allowed"),
	/** After a denial the turn ends (default), or the script goes on. */
	afterDenial: oneOf("end-turn", "go-on"),
	writes: WRITES,
	durationSeconds: amount,
	database: TOOL_ROW,
} as const;

const TOOL = record({ name: text }, TOOL_FIELDS);

/** Tools that run at once: all ACTIVE first, then the ends in the given order of positions. */
const PARALLEL = record({ tools: list(TOOL) }, { finishOrder: list(count) });

/** Really calls a tool of a configured MCP server. */
const MCP = record(
	{},
	{
		/** Default: the first configured server, its first tool. */
		server: text,
		tool: text,
		/** Only a server of an added folder will do, which is this session's own; the call fails without one. */
		ownServer: flag,
		arguments: anyObject,
		/** Takes tool and arguments from a prompt of the form `tool {"some":"arguments"}`. */
		fromPrompt: flag,
		/** Calls made at once, default 1. */
		copies: count,
		/** The model looks at the cached schema first. */
		readsSchema: flag,
		permission: oneOf("by-flags", "allowed"),
		/** Says the tool's answer as text afterwards. */
		tellsOutput: flag,
	},
);

const SUBAGENT = record(
	{ prompt: text },
	{
		typeName: text,
		role: text,
		/** Old form: id and log beside the list. */
		flat: flag,
		/** Never reports back. */
		silent: flag,
		/** What the sub-agent answers in its own database. */
		answer: text,
	},
);

/** A step of any type without text: system_message, error_message, checkpoint, title, or one nobody knows yet. */
const STEP = record({ stepType: text }, { state: text, usage: USAGE, durationSeconds: amount, repeat: count });

/** A whole event of our own making. */
const EVENT = record({ event: text }, { payload: anything });

/** Bytes as they are; a line feed follows unless `newline` is false. */
const RAW = record({}, { text, base64: text, newline: flag });

const STDERR = record({ line: text }, {});

/** Exactly one of the fields. */
const WAIT = record({}, { gate: text, signal: text, stdin: oneOf("line", "eof") });

const TOUCH = record({ marker: text }, {});

/** Ends the process at once, without a result. */
const CRASH = record(
	{},
	{
		exitCode: count,
		signal: text,
		/** Half a line left behind on stdout. */
		cutLine: text,
		stderr: text,
	},
);

/** Nothing more happens; signals still work unless they are ignored. */
const HANG = record({}, { ignoreSignals: list(text), marker: text });

/** A process in its own group that keeps stdout open until its gate opens or its pid is killed. */
const GRANDCHILD = record({ gate: text }, { ignoreSignals: list(text) });

/** A run of a global hook other than those that come with tools. */
const HOOK = record({ event: oneOf("PreInvocation", "PostInvocation", "Stop") }, {});

/** The model API fails: attempts show as error_message steps, then the turn ends with an ERROR. */
const API_FAILURE = record(
	{ error: text },
	{
		/** Further keys of AGY_ERROR. */
		errorFields: anyObject,
		attempts: count,
		shortError: text,
		exits: flag,
		retriesUntilTimeout: flag,
		/** In the database every attempt is a row of its own (default), or the first row is rewritten. */
		rows: oneOf("repeat", "rewrite"),
	},
);

/** An answer that reaches the transcript and never stdout. */
const TRANSCRIPT = record({ text }, {});

export const STEP_SHAPE = variant({
	text: TEXT,
	steady: STEADY,
	think: THINK,
	tool: TOOL,
	parallel: PARALLEL,
	mcp: MCP,
	subagent: SUBAGENT,
	step: STEP,
	event: EVENT,
	raw: RAW,
	stderr: STDERR,
	wait: WAIT,
	touch: TOUCH,
	crash: CRASH,
	hang: HANG,
	grandchild: GRANDCHILD,
	hook: HOOK,
	"api-failure": API_FAILURE,
	transcript: TRANSCRIPT,
	...DATABASE_STEPS,
});

export type Step = Infer<typeof STEP_SHAPE>;
export type StepOf<K extends Step["kind"]> = Extract<Step, { readonly kind: K }>;
export type ToolScript = Infer<typeof TOOL>;
export type FileToWrite = Infer<typeof WRITES>;
