/**
 * Conversation databases: how an answer and its tools grow in them, what a reader must survive, and what happens to the file.
 * Where a test has to look at a moment between two commits, a marker is touched and a gate waited for.
 */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { AnswerRowScript, DatabaseOptions } from "../scenario/database.ts";
import type { Scenario } from "../scenario/scenario.ts";
import type { Step, StepOf, ToolScript } from "../scenario/step.ts";

const ANSWER: StepOf<"text"> = { kind: "text", text: "Done.\n", deltaChars: 0 };
const SPOKEN = ["Six times ", "seven ", "is ", "forty-two.\n"];
const RUN: ToolScript = {
	name: "run_command",
	permission: "allowed",
	parameters: { CommandLine: "make test" },
	arguments: { CommandLine: "make test", Cwd: "{{workspace}}" },
	output: "building\n4 passed\r\n",
};
const VIEW: ToolScript = {
	name: "view_file",
	parameters: { AbsolutePath: "{{workspace}}/a.txt" },
	output: "first line\n",
};
const EDIT: ToolScript = {
	name: "replace_file_content",
	permission: "allowed",
	parameters: { TargetFile: "{{workspace}}/a.txt" },
	arguments: { TargetFile: "{{workspace}}/a.txt", TargetContent: "first", ReplacementContent: "second" },
};
const TOOL_LOOP: readonly Step[] = [
	{ kind: "text", text: "I will look first.\n", database: { thinking: ["Where is it?"] } },
	{ kind: "parallel", tools: [VIEW, EDIT] },
	{ kind: "think" },
	{ kind: "tool", ...RUN },
	ANSWER,
];
const HOLD: readonly Step[] = [
	{ kind: "touch", marker: "held" },
	{ kind: "wait", gate: "go" },
];
const SYSTEM_ENVELOPE = "<SYSTEM_MESSAGE>\n[Message] timestamp=2030-01-01T00:00:00Z sender=task-7\nThe task is done.";

function script(about: string, database: DatabaseOptions, ...steps: readonly Step[]): Scenario {
	return { about, database, turns: [{ steps }] };
}

/** An answer of several frames, held before the last; its row holds something else than the frames. */
function answer(about: string, row: AnswerRowScript, options: DatabaseOptions = {}): Scenario {
	const deltas = row.stored?.slice(0, -1) ?? SPOKEN;
	const final = row.stored?.at(-1) ?? "";
	const text: Step = {
		kind: "text",
		text: "",
		deltas: row.stored === undefined ? deltas : [...deltas, final],
		pauseAfter: deltas.length - (row.stored === undefined ? 1 : 0),
		marker: "held",
		gate: "go",
		database: row,
	};
	return script(about, options, text);
}

/** Rows of the script alone: the prompt's, then these. */
function rows(about: string, ...steps: readonly Step[]): Scenario {
	const user: Step = {
		kind: "row",
		idx: 0,
		type: 14,
		status: 3,
		payload: { 19: { 2: "{{prompt}}", 3: { 1: "{{prompt}}" } } },
	};
	return script(about, { rows: "scripted" }, user, ...steps);
}

function planner(idx: number, status: number, content: object): StepOf<"row"> {
	return { kind: "row", idx, type: 15, status, payload: { 20: content } };
}

const TURNS: ScenarioFamily = {
	"db-text": answer(
		"thinking, then text that grows with every delta, held before the last (marker `held`, gate `go`)",
		{
			thinking: ["Six times seven", ": that is known."],
		},
	),
	"db-paced": ({ ms = 100, rate = 40 }) => ({
		about: "ms=100,rate=40: a growing answer is committed at most every so many ms, at so many tokens a second",
		tokensPerSecond: rate,
		database: { everyMs: ms },
		turns: [{ steps: [{ kind: "text", text: "One sentence follows another. ".repeat(12) }] }],
	}),
	"db-steady": ({ deltas = 200, bytes = 24, rate = 100, ms = 0 }) => ({
		about: "deltas=200,bytes=24,rate=100,ms=0: numbered deltas, committed one by one or at most every so many ms",
		database: ms > 0 ? { everyMs: ms } : {},
		turns: [{ steps: [{ kind: "steady", deltas, deltaBytes: bytes, deltasPerSecond: rate }] }],
	}),
	"db-done-only": answer("the row of the answer appears complete", {}, { cadence: "done" }),
	"db-placeholder": answer("an empty row with status DONE before the text", { placeholder: "done" }),
	"db-tools": script(
		"a tool loop whose results are all of the generic type (since 1.2.0)",
		{ dialect: "generic" },
		...TOOL_LOOP,
	),
	"db-tools-kinds": script("the same with a type for each tool (before 1.2.0)", { dialect: "kinds" }, ...TOOL_LOOP),
	"db-live-output": script(
		"a queued command asks for permission; its output grows while it runs (marker `held`, gate `go`)",
		{ dialect: "kinds", pauses: [{ at: "after-commit", number: 12, marker: "held", gate: "go" }] },
		{
			kind: "tool",
			...RUN,
			database: { statuses: [11, 9, 1, 2], outputs: ["building\n", "building\n4 pas"], exitCode: -9 },
		},
		ANSWER,
	),
	"db-tool-endings": script(
		"tools that fail, are denied, canceled and interrupted",
		{ dialect: "kinds" },
		{ kind: "tool", ...VIEW, end: "error", error: "no such file" },
		{ kind: "tool", ...RUN, end: "denied", afterDenial: "go-on" },
		{ kind: "tool", ...RUN, database: { endStatus: 6 } },
		{ kind: "tool", ...RUN, database: { endStatus: 12 } },
		ANSWER,
	),
	"db-background": script(
		"a command is still running when later rows are done, and ends behind them (marker `held`, gate `go`)",
		{ dialect: "kinds" },
		{ kind: "tool", ...RUN, end: "open" },
		ANSWER,
		...HOLD,
		{ kind: "finish-tool", output: "built\n" },
		{ kind: "step", stepType: "system_message" },
	),
	"db-subagent": script(
		"a subagent with a database of its own, held open by the same process (marker `held`, gate `go`)",
		{},
		{ kind: "subagent", prompt: "Find the sum.", answer: "It is 42.\n" },
		...HOLD,
		ANSWER,
	),
	"db-quota": script("quota: five rows with the provider's answer, exit 3", {}, quota("repeat")),
	"db-retry": script("the same with one row that every attempt rewrites", {}, quota("rewrite")),
	"db-noise": script("rows of types 139 and 101 after the reminder", { extraNoise: [139, 101] }, ANSWER),
};

function quota(how: "repeat" | "rewrite"): Step {
	const error = "API error (attempt 5): RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h18m58s.";
	return { kind: "api-failure", attempts: 5, error, shortError: "Individual quota reached.", rows: how };
}

const TEXTS: ScenarioFamily = {
	"db-rewritten": answer("the middle of the text is rewritten at the end", {
		stored: ["I will look at the file", "I will look at the file first.", "I have looked at the file first."],
	}),
	"db-replaced": answer("another, longer text replaces it at the end", {
		stored: ["I will look at the file first", "The answer is 42. Nothing else."],
	}),
	"db-shrunk": answer("a shorter text replaces it at the end", {
		stored: ["I will look at the file first", "It is 42."],
	}),
	"db-healed": answer("half a character is U+FFFD until the next version", { stored: ["ab\uFFFD", "ab修改"] }),
	"db-scripts": answer("emoji with surrogates and joiners cut anywhere, Chinese, Hebrew", {
		stored: ["👨", "👨\u200D👩", "👨\u200D👩\u200D👧 修", "👨\u200D👩\u200D👧 修改 שלום"],
	}),
	"db-control": answer("NUL, carriage returns and colours", {
		stored: ["a\u0000b", "a\u0000b\r\n\u001b[31mred\u001b[0m"],
	}),
	"db-modified-only": answer("the final text stands in the second copy alone", {
		stored: ["Forty", ""],
		modified: "Forty-two.",
	}),
	"db-modified-differs": answer("the second copy differs from the text", {
		stored: ["Forty", "Forty-two"],
		modified: "42",
	}),
	"db-empty": answer("an answer without text", { stored: ["", ""] }),
	"db-huge": script(
		"a text of a megabyte",
		{},
		{ kind: "text", text: "", deltas: ["0123456789abcdef".repeat(65_536)] },
	),
	"db-envelope": answer("a message of the system in the shape of an answer, growing", {
		stored: ["<SYSTEM", SYSTEM_ENVELOPE.slice(0, 40), SYSTEM_ENVELOPE],
	}),
};

const WIRE: ScenarioFamily = {
	"db-unknown-fields": rows(
		"unknown fields of every wire type, a group too, around the text",
		planner(1, 3, {
			...{ 1: "Still readable." },
			...{ 900: 7, 901: "text", 902: { $fixed32: 1 }, 903: { $double: 0.5 }, 904: { $group: { 1: "inside" } } },
		}),
	),
	"db-shuffled": rows("fields out of order, and singular ones twice", {
		kind: "row",
		idx: 1,
		type: 15,
		status: 3,
		payload: {
			$fields: [
				[
					"20",
					{
						$fields: [
							["12", 2],
							["1", "first"],
							["1", "last wins"],
						],
					},
				],
				["5", { 3: 2 }],
				["4", 1],
				["4", 3],
				["1", 15],
			],
		},
	}),
	"db-varints": rows("varints longer than needed, of ten bytes and above 2^53", {
		kind: "row",
		idx: 1,
		type: 21,
		status: 3,
		payload: {
			5: { 4: { 1: "call_0", 2: "run_command", 3: "{}" } },
			28: { 6: -9, 12: { $varint: "1", bytes: 5 }, 13: { $varint: "18446744073709551615" }, 21: { 1: "killed\n" } },
		},
	}),
	"db-wrong-types": rows(
		"known fields with another wire type than theirs",
		planner(1, 3, {
			$fields: [
				["12", "text"],
				["3", 5],
				["1", "Still readable."],
			],
		}),
		{ kind: "row", idx: 2, type: 7, status: 3, payload: { 13: { 1: "sum", 4: { 1: "a.txt", 2: "3", 3: "a sum" } } } },
	),
	"db-torn": rows(
		"a payload cut short, whole only after gate `go` (marker `held`)",
		{ kind: "row", idx: 1, type: 15, status: 8, payload: { $cut: 4, of: { 20: { 1: "Whole at last." } } } },
		...HOLD,
		planner(1, 3, { 1: "Whole at last." }),
	),
	"db-odd-columns": rows(
		"payloads that are text and NULL, then an answer",
		{ kind: "row", idx: 1, type: 15, status: 3, payload: { $text: "text in a blob column" } },
		{ kind: "row", idx: 2, type: 15, status: 3, payload: null },
		planner(3, 3, { 1: "After all that." }),
	),
	"db-two-rows": rows(
		"two answers appear in one commit and both grow after gate `go` (marker `held`)",
		{ kind: "begin" },
		planner(1, 8, { 1: "One" }),
		planner(2, 8, { 1: "Two" }),
		{ kind: "commit" },
		...HOLD,
		planner(2, 3, { 1: "Two grown." }),
		planner(1, 3, { 1: "One grown." }),
	),
	"db-left-open": rows("the process ends with an answer that is still generating", planner(1, 8, { 1: "Not finis" })),
};

const FILES: ScenarioFamily = {
	"db-resume": {
		about: "the first turn is killed within a command and an answer; the resumed one cancels them in place",
		database: {},
		turns: [
			{
				steps: [
					{ kind: "tool", ...RUN, end: "open" },
					{ kind: "text", text: "Half an ans", finish: "none" },
					{ kind: "crash", signal: "SIGKILL" },
				],
			},
			{ steps: [ANSWER] },
		],
	},
	"db-rewind": {
		about: "before the second turn the first one's answer is rewound: numbers are used again under another trajectory",
		database: {},
		turns: [
			{ steps: [{ ...ANSWER, text: "First.\n" }] },
			{ before: [{ kind: "rewind", to: 3 }], steps: [{ ...ANSWER, text: "Second.\n" }] },
		],
	},
	"db-fork": {
		about: "after its turn the conversation is forked into another file",
		database: {},
		turns: [{ steps: [ANSWER], after: [{ kind: "fork" }] }],
	},
	"db-killed": script(
		"killed within a transaction that had a row written",
		{},
		ANSWER,
		{ kind: "begin" },
		planner(9, 8, { 1: "never committed" }),
		{ kind: "crash", signal: "SIGKILL" },
	),
	"db-late-commit": {
		about: "the last row is committed after the result, just before the exit",
		database: { rows: "scripted" },
		turns: [
			{
				steps: [planner(0, 8, { 1: "Al" }), { ...ANSWER, text: "Almost.\n" }],
				after: [{ kind: "touch", marker: "told" }, { kind: "wait", gate: "go" }, planner(0, 3, { 1: "Almost.\n" })],
			},
		],
	},
	"db-large-log": script(
		"every commit saves the whole prompt again: -wal grows to megabytes",
		{ genMetadata: "every-commit" },
		{ kind: "text", text: "One sentence follows another. ".repeat(4), deltaChars: 7 },
	),
	"db-clean-close": script("the file is closed at the end: no -wal and no -shm", { close: "clean" }, ANSWER),
	"db-exclusive": answer("nobody else can read while the process lives", {}, { locking: "exclusive", close: "clean" }),
	"db-rollback-journal": answer("a file that never uses the write-ahead log", {}, { journal: "delete" }),
	"db-checkpoints": script(
		"checkpoints between the rows, the second of them truncating",
		{},
		{ kind: "sql", sql: "PRAGMA wal_checkpoint(PASSIVE)" },
		{ kind: "think" },
		{ kind: "sql", sql: "PRAGMA wal_checkpoint(TRUNCATE)" },
		ANSWER,
	),
	"db-recreated": script(
		"the file is deleted and made again at its path with the same rows (marker `held`, gate `go`)",
		{},
		{ kind: "think" },
		...HOLD,
		{ kind: "recreate", keepsRows: true },
		ANSWER,
	),
	"db-other-schema": script(
		"columns and a table that nobody knows, others missing",
		{
			schema: {
				withoutColumns: ["error_details", "permissions", "task_details", "render_info"],
				withoutTables: ["battle_mode_infos"],
				extraColumns: ["subagent_info blob"],
				extraTables: ["later_addition"],
			},
		},
		ANSWER,
	),
	"db-newer-version": script("user_version 2", { schema: { userVersion: 2 } }, ANSWER),
	"db-dropped-table": script(
		"the table of steps is dropped within the turn",
		{ rows: "scripted" },
		planner(0, 8, { 1: "Gone" }),
		{
			kind: "sql",
			sql: "DROP TABLE steps",
		},
	),
	"db-slow-creation": script(
		"held at every stage of the new file (markers and gates `empty-file`, `schema`, `wal`)",
		{
			pauses: (["empty-file", "schema", "wal"] as const).map((at) => ({ at, marker: at, gate: at })),
		},
		ANSWER,
	),
	"db-strangers": script(
		"others appear before (marker `held`, gate `go`), with and after this one, the last its subagent's",
		{
			neighbours: [
				{ when: "before", prompt: "A stranger's prompt." },
				{ when: "together", keepsOpen: true },
				{ when: "after", parentId: "{{conversation}}", keepsOpen: true },
			],
			pauses: [{ at: "start", marker: "held", gate: "go" }],
		},
		ANSWER,
	),
	"db-old-files": ({ count = 500 }) => ({
		about: "count=500: so many finished conversations lie in the folder already",
		database: { oldFiles: count },
		turns: [{ steps: [ANSWER] }],
	}),
	"db-torn-cache": script(
		"last_conversations.json is half written until gate `go` (marker `held`)",
		{},
		{ kind: "last-conversations", marker: "held", gate: "go" },
		ANSWER,
	),
};

export const DATABASE_FAULTS: ScenarioFamily = { ...TURNS, ...TEXTS, ...WIRE, ...FILES };
