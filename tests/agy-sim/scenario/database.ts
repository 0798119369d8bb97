/**
 * What a scenario says about the conversation database: the `database` block of a scenario, which also switches it on, and
 * the steps that write to it directly.
 */
import { fromHex, messageDescription } from "../database/field-description.ts";
import {
	amount,
	anyObject,
	count,
	flag,
	type Infer,
	list,
	oneOf,
	record,
	ScenarioError,
	type Shape,
	text,
} from "./shape.ts";

/** Where the writer stops: touches the marker, then waits for the gate. */
const PAUSE = record(
	{
		/**
		 * `start`: what lies in the folder before is there, the file is not. `before-commit`: within the transaction, its rows
		 * written.
		 */
		at: oneOf("start", "empty-file", "schema", "wal", "before-commit", "after-commit"),
	},
	{
		/** Which commit of this process, counted from 1; default: every one, with `-<number>` after marker and gate. */
		number: count,
		marker: text,
		gate: text,
	},
);

/** Another conversation in the same folder. */
const NEIGHBOUR_FIELDS = {
	id: text,
	/** Default: "Something else entirely." */
	prompt: text,
	workspace: text,
	/** Makes it a subagent's; {{conversation}} is the one of this session. */
	parentId: text,
	/** This process holds it open; default: closed and complete. */
	keepsOpen: flag,
} as const;

const SCHEMA = record(
	{},
	{
		withoutColumns: list(text),
		withoutTables: list(text),
		/** Further columns of `steps`, as declared: "subagent_info blob". */
		extraColumns: list(text),
		extraTables: list(text),
		userVersion: count,
	},
);

export const DATABASE = record(
	{},
	{
		/** `scripted`: nothing but the rows of the script. Default: all, as the turn goes. */
		rows: oneOf("all", "scripted"),
		createdAt: oneOf("start", "first-turn"),
		/** When a growing answer is committed: with every delta (default), or only once it is complete. */
		cadence: oneOf("chunk", "done"),
		/** Commits a growing answer at most this often instead. */
		everyMs: count,
		/** Default: by version. */
		dialect: oneOf("kinds", "generic"),
		/** When the row of a model call is saved; default with-done. */
		genMetadata: oneOf("with-done", "own-commit", "every-commit", "none"),
		/** Size of the newest model call's prompt; default 112,000. */
		promptBytes: count,
		/** Types of further rows that a reader has to hide, after the reminder: 139, 101. */
		extraNoise: list(count),
		/** The checkpoint row is DONE so long after the answer; agy takes 700. Default 0. */
		checkpointMs: amount,
		/** An open row of a turn that is stopped from outside; default: canceled in place. */
		stopped: oneOf("cancel", "leave"),
		/** At the end of the process: leaves -wal and -shm behind (default), or checkpoints and removes them. */
		close: oneOf("leave", "clean"),
		locking: oneOf("normal", "exclusive"),
		journal: oneOf("wal", "delete"),
		/** Every transaction is held open so long. */
		commitMs: amount,
		pauses: list(PAUSE),
		schema: SCHEMA,
		neighbours: list(record({ when: oneOf("before", "together", "after") }, NEIGHBOUR_FIELDS)),
		/** So many finished conversations lie in the folder already. */
		oldFiles: count,
	},
);

/** What the database knows of an answer and the stream does not. */
export const ANSWER_ROW = record(
	{},
	{
		/** Pieces of thinking before the text, each a commit. */
		thinking: list(text),
		/** What the row holds with each frame, instead of the text so far; what is left comes before the row is done. */
		stored: list(text),
		/** The second copy of the text at the end; default: the text. */
		modified: text,
		/** An empty row first, with this status. */
		placeholder: oneOf("generating", "done"),
	},
);

/** What the database knows of a tool and the stream does not. */
export const TOOL_ROW = record(
	{},
	{
		/** Statuses until it runs, each a commit; default 1, 2. 9 asks the user, 11 is queued. */
		statuses: list(count),
		/** Output so far while it runs, each a commit. */
		outputs: list(text),
		exitCode: wholeNumber,
		/** Status at the end instead of 3 or 7. */
		endStatus: count,
	},
);

/** A value of a column: as JSON has it, a string being text; a message of fields, or `{"$hex": …}`, is bytes. */
const COLUMN_VALUE: Shape<string | number | null | Readonly<Record<string, unknown>>> = (value, path) => {
	if (value === null || typeof value === "string" || typeof value === "number") return value;
	return messageDescription(value, path);
};

/** Payload of a row: hexadecimal bytes, NULL, `{"$text": …}` to store text, or the fields of the message. */
const PAYLOAD: Shape<string | null | Readonly<Record<string, unknown>>> = (value, path) => {
	if (value === null) return value;
	if (typeof value === "object" && "$text" in value) return record({ $text: text }, {})(value, path);
	if (typeof value !== "string") return messageDescription(value, path);
	try {
		fromHex(value);
	} catch (cause) {
		throw new ScenarioError(`${path} must be hexadecimal`, { cause });
	}
	return value;
};

/** One row of `steps`, inserted or changed in place. */
const ROW = record(
	{ idx: count, type: count, status: count },
	{
		/** Default: only the envelope. */
		payload: PAYLOAD,
		/** False: the fields are the payload as they are; else type, status and metadata are put before them. */
		envelope: flag,
		/** Further columns, or others than the payload has. */
		columns: columnValues,
	},
);

/** Any SQL: pragmas, other tables, damage. */
const SQL = record({ sql: text }, { parameters: list(COLUMN_VALUE) });

const NOTHING = record({}, {});

/** Rows from `to` on are gone, their numbers are used again, and the trajectory has another id. */
const REWIND = record({ to: count }, {});

/** A copy under another id, which can be resumed. */
const FORK = record({}, { id: text });

/** The file is deleted and made again at the same path. */
const RECREATE = record({}, { keepsRows: flag });

/** Ends the oldest tool that was left open. */
const FINISH_TOOL = record({}, { output: text, status: count });

const NEIGHBOUR = record({}, NEIGHBOUR_FIELDS);

/** Rewrites cache/last_conversations.json in place; with marker and gate it is torn in between. */
const LAST_CONVERSATIONS = record({}, { conversation: text, marker: text, gate: text });

export const DATABASE_STEPS = {
	row: ROW,
	sql: SQL,
	/** All rows up to `commit` or `rollback` are one transaction. */
	begin: NOTHING,
	commit: NOTHING,
	rollback: NOTHING,
	rewind: REWIND,
	fork: FORK,
	recreate: RECREATE,
	"finish-tool": FINISH_TOOL,
	neighbour: NEIGHBOUR,
	"last-conversations": LAST_CONVERSATIONS,
} as const;

export type DatabaseOptions = Infer<typeof DATABASE>;
export type PauseScript = Infer<typeof PAUSE>;
export type AnswerRowScript = Infer<typeof ANSWER_ROW>;
export type ToolRowScript = Infer<typeof TOOL_ROW>;
export type NeighbourScript = Infer<typeof NEIGHBOUR>;
export type RowScript = Infer<typeof ROW>;
export type ColumnValue = Infer<typeof COLUMN_VALUE>;

function columnValues(value: unknown, path: string): Readonly<Record<string, Infer<typeof COLUMN_VALUE>>> {
	const entries = Object.entries(anyObject(value, path));
	return Object.fromEntries(entries.map(([name, column]) => [name, COLUMN_VALUE(column, `${path}.${name}`)]));
}

function wholeNumber(value: unknown, path: string): number {
	if (!Number.isSafeInteger(value)) throw new ScenarioError(`${path} must be a whole number`);
	return Number(value);
}
