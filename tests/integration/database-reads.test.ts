/**
 * Conversation databases read by themselves while another process writes them: what a look costs, which state it sees, and
 * what it leaves alone. The rest of the cases F1 to F43 is in database-cases.test.ts and
 * database-files.test.ts.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AgyEvent } from "../../src/shared/events.ts";
import { decodeStep } from "../../src/workers/decode/step-payload.ts";
import { ConversationDb } from "../../src/workers/poll/conversation-db.ts";
import { findConversation } from "../../src/workers/poll/discovery.ts";
import { conversationsHeldBy } from "../../src/workers/poll/open-files.ts";
import { FollowedRun } from "../../src/workers/poll/run.ts";
import type { Scheduler } from "../../src/workers/poll/scheduler.ts";
import { FIRST_ID } from "../simulator/conversation-file.ts";
import { SimulatedAgy } from "../simulator/simulated-agy.ts";
import { handlesIn, outlineOf } from "../support/database-rig.ts";
import { command, hold, mark, planner, row, rows, scripted, sql, together, user } from "../support/database-scripts.ts";

let agy: SimulatedAgy;
let folder: string;
let path: string;
let reader: ConversationDb | null;
/** What the runs of these tests are started with. */
const RUN = { kind: "run" as const, prompt: "hi", workspace: "/nowhere", startedAtMs: Date.now() };

beforeEach(() => {
	agy = new SimulatedAgy();
	folder = join(agy.home, "antigravity-cli", "conversations");
	path = join(folder, `${FIRST_ID}.db`);
	reader = null;
});
afterEach(async () => {
	vi.restoreAllMocks();
	reader?.close();
	expect(handlesIn(folder)).toEqual([]);
	await agy.close();
});

/** By so much longer than "Hel" that no time stamp of the row, getting shorter, can make up for it. */
const HELLO = "Hello, this is the whole of the answer";

const start = (scenario: object | string) => agy.start({ scenario, args: ["--print=hi"] });

/** Goes on to where the script touches this marker, having opened the gate before it. */
async function goOn(gate: string, marker: string): Promise<void> {
	agy.openGate(gate);
	await agy.reached(marker);
}

function open(isLive = true): ConversationDb {
	const opened = ConversationDb.open(path, isLive);
	if (!(opened instanceof ConversationDb)) throw new Error(opened.message);
	reader = opened;
	return opened;
}

/** "idx/status: text" of the rows that a look finds changed. */
function look(db: ConversationDb, isFinal = false): readonly string[] {
	return db.readChanged(0, isFinal).map((changed) => {
		const { idx, status, text } = decodeStep(changed).value;
		return `${idx}/${status}: ${Buffer.from(text).toString()}`;
	});
}

/** Runs `work` in the midst of the next look: between the list of rows and the first of them. */
function amidLook(work: () => void): void {
	const { all } = StatementSync.prototype;
	const spy = vi.spyOn(StatementSync.prototype, "all").mockImplementation(function (this: StatementSync, ...args) {
		const found = all.apply(this, args);
		if (!this.sourceSQL.includes("length(")) return found;
		spy.mockRestore();
		work();
		return found;
	});
}

describe("a look", () => {
	it("reads no row while data_version has not moved, and none that is the same when it has", async () => {
		start(
			rows(
				...[planner(1, 8, "Hel"), ...hold("a"), planner(1, 8, HELLO), ...hold("b")],
				...[sql("PRAGMA wal_checkpoint(PASSIVE)"), ...hold("c"), sql("PRAGMA wal_checkpoint(TRUNCATE)"), ...hold("d")],
				...[sql("UPDATE steps SET status = status"), ...hold("e")],
				...[{ kind: "begin" }, planner(1, 3, `${HELLO}.`), { kind: "rollback" }, ...hold("f")],
			),
		);
		await agy.reached("a");
		const db = open();
		const seen = () => [look(db), look(db), db.selects];
		expect(seen()).toEqual([["0/3: ", "1/8: Hel"], [], 1]);
		await goOn("a", "b");
		expect(seen()).toEqual([[`1/8: ${HELLO}`], [], 2]);
		await goOn("b", "c");
		expect(seen()).toEqual([[], [], 2]);
		await goOn("c", "d");
		expect(seen()).toEqual([[], [], 3]); // a truncating checkpoint moves the version
		await goOn("d", "e");
		expect(seen()).toEqual([[], [], 4]);
		await goOn("e", "f");
		expect(seen()).toEqual([[], [], 4]);
	});

	it("F7 is of one state, whatever is committed in its midst", async () => {
		start(
			rows(
				...[planner(1, 8, "Hel"), ...hold("a")],
				...[...together(planner(1, 3, HELLO), command(2, 2)), ...hold("written")],
			),
		);
		await agy.reached("a");
		const db = open();
		amidLook(() => {
			agy.openGate("a");
			const beat = new Int32Array(new SharedArrayBuffer(4));
			while (agy.read("reached/written") === undefined) Atomics.wait(beat, 0, 0, 5);
		});
		expect(look(db)).toEqual(["0/3: ", "1/8: Hel"]);
		expect(look(db)).toEqual([`1/3: ${HELLO}`, "2/2: "]);
	});

	it("F17 has negative exit codes as they are", async () => {
		await start("db-varints").closed;
		expect(
			open(false)
				.readChanged(0)
				.map((read) => decodeStep(read).value.exitCode),
		).toEqual([null, -9]);
	});

	it("F21 that fails is made up for by the next one, without another commit", async () => {
		start(rows(planner(1, 3, "The answer."), ...hold("a")));
		await agy.reached("a");
		const db = open();
		amidLook(() => {
			throw new Error("disk I/O error");
		});
		expect(() => look(db)).toThrow("disk I/O error");
		expect([look(db), look(db)]).toEqual([["0/3: ", "1/3: The answer."], []]);
	});

	it("F23 through a new handle reads everything, although its version begins at the same number", async () => {
		start(rows(planner(1, 8, "Hel"), ...hold("a"), planner(1, 8, HELLO), ...hold("b")));
		await agy.reached("a");
		const before = open();
		expect(look(before)).toEqual(["0/3: ", "1/8: Hel"]);
		before.close();
		await goOn("a", "b");
		expect(look(open())).toEqual(["0/3: ", `1/8: ${HELLO}`]);
	});

	it("F30 reads the one row that changed, however many are done", async () => {
		const done = (idx: number) => command(idx, 3, { 28: { 21: { 1: { $repeat: "x", times: 20_000 } } } });
		const tools = Array.from({ length: 150 }, (_, number) => done(number + 1));
		start(rows(...together(...tools, planner(151, 8, "Hel")), ...hold("a"), planner(151, 8, HELLO), ...hold("b")));
		await agy.reached("a");
		const db = open();
		expect(db.readChanged(0).length).toBe(152);
		await goOn("a", "b");
		expect(look(db)).toEqual([`151/8: ${HELLO}`]);
	});

	it("F32 holds nothing open, so that the log can be emptied", async () => {
		start(rows(planner(1, 8, "Hel"), ...hold("a"), sql("PRAGMA wal_checkpoint(TRUNCATE)"), ...hold("b"), mark(2)));
		await agy.reached("a");
		const db = open();
		expect(look(db).length).toBe(2);
		amidLook(() => {
			throw new Error("disk I/O error");
		});
		expect(() => look(db, true)).toThrow("disk I/O error");
		db.identity();
		db.lastOfType(14);
		await goOn("a", "b");
		expect(statSync(`${path}-wal`).size).toBe(0);
	});

	it("F35 sees what stands in the log alone", async () => {
		start(rows(planner(1, 3, "The answer."), ...hold("a")));
		await agy.reached("a");
		const immutable = new DatabaseSync(new URL(`file://${path}?immutable=1`), { readOnly: true });
		expect(() => immutable.prepare("SELECT * FROM steps").all().length || "none").toSatisfy((read: () => unknown) => {
			try {
				return read() === "none";
			} catch (error) {
				return String(error).includes("no such table");
			}
		});
		immutable.close();
		expect(look(open())).toEqual(["0/3: ", "1/3: The answer."]);
	});

	it("F40 passes by what agy keeps of its model calls", async () => {
		const prompt = { 1: { $bytes: 200_000 } };
		const save = sql("INSERT OR REPLACE INTO gen_metadata (idx, data, size) VALUES (0, ?, 200000)", prompt);
		start(rows(planner(1, 8, "Hel"), ...hold("a"), save, ...hold("b")));
		await agy.reached("a");
		const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
		const db = open();
		look(db);
		await goOn("a", "b");
		expect([look(db), db.selects]).toEqual([[], 2]);
		expect(prepare.mock.calls.length).toBeGreaterThan(2);
		expect(prepare.mock.calls.filter(([statement]) => /gen_metadata|\*/.test(statement))).toEqual([]);
	});
});

describe("a file", () => {
	it("F19 that cannot be used is let go each time", async () => {
		start(scripted({ schema: { withoutTables: ["steps"] } }, ...hold("a")));
		await agy.reached("a");
		for (let time = 0; time < 20; time++) expect(ConversationDb.open(path, true)).toMatchObject({ kind: "not-yet" });
		expect(handlesIn(folder)).toEqual([]);
	});

	it("F33 is never touched by plain file access, which would drop this process's locks", async () => {
		start(rows(planner(1, 8, "Hel"), ...hold("a"), sql("PRAGMA wal_checkpoint(TRUNCATE)"), ...hold("b")));
		await agy.reached("a");
		const holder = new DatabaseSync(path, { readOnly: true });
		try {
			holder.exec("BEGIN");
			holder.prepare("SELECT count(*) FROM steps").all();
			const db = open();
			look(db);
			expect(db.isReplaced).toBe(false);
			expect(findConversation({ ...RUN, conversationsDir: folder }, null, true)).toMatchObject({
				kind: "found",
			});
			await conversationsHeldBy(process.pid, folder);
			db.close();
			reader = null;
			await goOn("a", "b");
			expect(statSync(`${path}-wal`).size).toBeGreaterThan(0); // the checkpoint was refused
		} finally {
			holder.close();
		}
	});

	it("F36 is as new as its log", async () => {
		start(rows(planner(1, 8, "Hel"), ...hold("a")));
		await agy.reached("a");
		const yesterday = Date.now() / 1000 - 86_400;
		utimesSync(path, yesterday, yesterday);
		expect(findConversation({ ...RUN, conversationsDir: folder }, null, true)).toEqual({
			kind: "found",
			conversationId: FIRST_ID,
		});
	});

	it.each([
		["is read when it is finished", false, 5],
		[
			"is told as a problem while it has a log",
			true,
			{ kind: "unreadable", message: expect.stringMatching(/folder is not writable.*Give this user write access/) },
		],
	])("F34 in a folder that cannot be written %s", async (_what, hasLog, expected) => {
		await start({ database: { close: "clean" }, turns: [{ steps: [{ kind: "text", text: "Done.\n" }] }] }).closed;
		expect(readdirSync(folder).filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
		if (hasLog) writeFileSync(`${path}-wal`, "", { mode: 0o644 });
		for (const at of [agy.home, dirname(folder)]) chmodSync(at, 0o755);
		chmodSync(path, 0o644);
		chmodSync(folder, 0o555);
		const module = join(import.meta.dirname, "..", "..", "src", "workers", "poll", "conversation-db.ts");
		const script = `import { ConversationDb } from ${JSON.stringify(module)};
			const db = ConversationDb.open(${JSON.stringify(path)}, false);
			console.log(JSON.stringify(db instanceof ConversationDb ? db.readChanged(0).length : db));`;
		// root may write everywhere
		const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
		const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script];
		const told = execFileSync(process.execPath, args, { encoding: "utf8", ...nobody });
		chmodSync(folder, 0o755);
		expect(JSON.parse(told)).toEqual(expected);
	});
});

describe("F29 a run that nobody looked at before its process ended", () => {
	/** No clock, no notification: the looks after the end alone. */
	const still = { add() {}, remove() {} } as unknown as Scheduler;

	async function followedAfter(scenario: object | string, logged: string[] = []): Promise<readonly string[]> {
		const exit = await start(scenario).closed;
		const events: AgyEvent[] = [];
		const sink = {
			event: (event: AgyEvent) => events.push(event),
			taken() {},
			isPaused: false,
			log: (text: string) => logged.push(text),
		};
		const run = new FollowedRun({ ...RUN, conversationsDir: folder, conversationId: null }, sink, still);
		await new Promise<void>((resolve) => run.finish(exit, resolve));
		return outlineOf(events);
	}

	it("is told as a whole", async () => {
		const update = sql("UPDATE steps SET status = 3 WHERE idx = 1");
		expect(await followedAfter(rows(planner(1, 8, "All of it."), update))).toEqual([
			...["ready", "0 notice user_input", "1 text: All of it.", "1 model-call", "turn-end SUCCESS"],
		]);
	});

	it("is told although its file never had a log", async () => {
		const scenario = scripted({ journal: "delete" }, user(0), planner(1, 3, "All of it."));
		expect((await followedAfter(scenario)).slice(2)).toEqual([
			"1 text: All of it.",
			"1 model-call",
			"turn-end SUCCESS",
		]);
	});

	it.each([
		[1, 0],
		[2, 1],
	])(
		"F43 is told whatever its schema's version, and a warning once where that is not known: %i",
		async (userVersion, warnings) => {
			const logged: string[] = [];
			const scenario = scripted({ schema: { userVersion } }, user(0), planner(1, 3, "All of it."));
			expect((await followedAfter(scenario, logged)).at(-1)).toBe("turn-end SUCCESS");
			expect(logged.length).toBe(warnings);
		},
	);

	it("fails with the folder that was searched when there is no conversation of its", async () => {
		const stranger = row(0, 14, 3, { 19: { 2: "Something else." } });
		const [end, ...more] = await followedAfter(scripted({}, stranger, planner(1, 3, "Not yours.")));
		expect(more).toEqual([]);
		expect(end).toContain(`turn-end ERROR: No conversation of this run was found in ${folder} (1 looked at).`);
	});

	it("fails when two files could be its own", async () => {
		const neighbours = [{ when: "before", prompt: "hi" }];
		const [end, ...more] = await followedAfter(scripted({ neighbours }, user(0), planner(1, 3, "Which?")));
		expect(more).toEqual([]);
		expect(end).toMatch(/^turn-end ERROR: More than one conversation could be this run's/);
	});
});
