/** Which conversation database a poll lane follows, what it does when the file is not what it was, and whole turns. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { DatabaseRig } from "../support/database-rig.ts";
import { command, hold, planner, rows, scripted, user } from "../support/database-scripts.ts";

const db = new DatabaseRig();

const FIRST_ID = "c0ffee00-0000-4000-8000-000000000001";
const BEGIN = ["ready", "0 notice user_input"];
const RUN = 'run_command active {"CommandLine":"make"}';
const SUCCESS = "turn-end SUCCESS";

describe("whose conversation", () => {
	it("F24 a stranger's file that appears first is passed over", async () => {
		const agy = await db.follow("db-strangers");
		await db.sandbox.reached("held");
		db.sandbox.openGate("go");
		expect((await agy.over()).at(-1)).toBe(SUCCESS);
		expect([agy.answer, agy.link.conversationId]).toEqual(["Done.\n", FIRST_ID]);
	});

	it("F24 two runs with the same prompt at the same time each get their own", async () => {
		const answer = (text: string) => rows(planner(1, 8, text), ...hold("a"), planner(1, 3, `${text}.`));
		const runs = await Promise.all([db.follow(answer("One")), db.follow(answer("Two"))]);
		await until("both are heard", () => runs.every((run) => run.answer !== ""));
		db.sandbox.openGate("a");
		const outlines = await Promise.all(runs.map((run) => run.over()));
		expect(runs.map((run) => run.answer)).toEqual(["One.", "Two."]);
		expect(outlines.map((outline) => outline.at(-1))).toEqual([SUCCESS, SUCCESS]);
	});

	it("F25 a subagent's file that the run holds open is not taken, whatever its prompt", async () => {
		const neighbours = ["before", "after"].map((when) => ({
			when,
			prompt: "hi",
			parentId: "{{conversation}}",
			keepsOpen: true,
		}));
		const agy = await db.follow(scripted({ neighbours }, user(0), planner(1, 3, "Mine.")));
		expect(await agy.over()).toEqual([...BEGIN, "1 text: Mine.", "1 model-call", SUCCESS]);
		expect(agy.link.conversationId).toBe(FIRST_ID);
	});

	it("F26 a conversation that was rewound goes on with numbers it had used", async () => {
		await (await db.follow("db-rewind")).over();
		const agy = await db.follow("db-rewind", { prompt: "again", conversationId: FIRST_ID });
		expect(await agy.over()).toEqual([
			...["ready", "3 notice user_input", "4 notice unknown", "5 notice system_message"],
			...["6 text: Second.\n", "6 model-call", SUCCESS],
		]);
	});

	it("F27 what an aborted turn left is not told by the next one", async () => {
		await (await db.follow("db-resume")).over();
		const agy = await db.follow("db-resume", { prompt: "hi", conversationId: FIRST_ID });
		const outline = await agy.over();
		expect(outline.slice(0, 2)).toEqual(["ready", "7 notice user_input"]);
		expect(outline.slice(-3)).toEqual(["10 text: Done.\n", "10 model-call", SUCCESS]);
		expect(agy.answer).toBe("Done.\n");
	});

	it("that was to be resumed and is not there any more is another one, which agy begins", async () => {
		const gone = "c0ffee00-0000-4000-8000-00000000dead";
		const agy = await db.follow(scripted({}, user(0), planner(1, 3, "A new one.")), { conversationId: gone });
		expect((await agy.over()).at(-1)).toBe(SUCCESS);
		expect([agy.answer, agy.link.conversationId]).toEqual(["A new one.", FIRST_ID]);
	});

	it("that was to be resumed and does not get the prompt is given up for the one that does", async () => {
		const other = "c0ffee00-0000-4000-8000-00000000beef";
		await (await db.follow(scripted({}, user(0), planner(1, 3, "First.")))).over();
		const known = join(db.sandbox.conversationsDir, `${FIRST_ID}.db`);
		const stranger = join(db.sandbox.conversationsDir, `${other}.db`);
		copyFileSync(known, stranger);
		const agy = await db.follow(scripted({}, user(0), planner(1, 3, "Second.")), {
			prompt: "again",
			conversationId: other,
		});
		expect((await agy.over()).at(-1)).toBe(SUCCESS);
		expect([agy.answer, agy.link.conversationId]).toEqual(["Second.", "c0ffee00-0000-4000-8000-000000000002"]);
	});
});

describe("the file", () => {
	it.each(["db-other-schema", "db-newer-version"])(
		"F19 of another schema is read as far as it goes: %s",
		async (scenario) => {
			const agy = await db.follow(scenario);
			expect((await agy.over()).at(-1)).toBe(SUCCESS);
			expect(agy.answer).toBe("Done.\n");
		},
	);

	it("F22 that is deleted and made again at its path is followed there, and nothing is told twice", async () => {
		const agy = await db.follow(
			rows(
				...[command(1, 3, { 28: { 21: { 1: "out" } } }), planner(2, 8, "Before"), ...hold("a")],
				...[{ kind: "recreate", keepsRows: true }, planner(2, 8, "Before and after"), ...hold("b")],
				planner(2, 3, "Before and after."),
			),
		);
		await agy.seen("2 text: Before", "a");
		await agy.seen("2 text: Before and after", "b");
		expect(await agy.over()).toEqual([
			...[...BEGIN, `1 ${RUN}`, "1 run_command done: out", "2 text: Before and after.", "2 model-call", SUCCESS],
		]);
	});

	it("F22 that is made again just before the process ends is read there", async () => {
		const last = [{ kind: "recreate", keepsRows: true }, planner(2, 3, "Before and after.")];
		const agy = await db.follow(rows(planner(2, 8, "Before"), ...hold("a"), ...last));
		await agy.seen("2 text: Before", "a");
		expect(await agy.over()).toEqual([...BEGIN, "2 text: Before and after.", "2 model-call", SUCCESS]);
	});

	it("is not opened before it is complete, at whatever stage it stays", async () => {
		const agy = await db.follow("db-slow-creation");
		for (const stage of ["empty-file", "schema", "wal"]) {
			await db.sandbox.reached(stage);
			expect(agy.outline).toEqual([]);
			db.sandbox.openGate(stage);
		}
		expect((await agy.over()).at(-1)).toBe(SUCCESS);
		expect(agy.answer).toBe("Done.\n");
	});
});

describe("whole turns", () => {
	// What the simulator says in a resumed conversation is of later versions.
	const behaviour = { systemMessage: "never" };
	const answer = {
		behaviour,
		database: { checkpointMs: 50 },
		turns: [{ steps: [{ kind: "text", text: "One answer.\n" }] }],
	};

	it.each([false, true])(
		"the first has the rows 14, 98, 90, 15 and 23, later ones 14, 90 and 15 (agy speaks: %s)",
		async (speaks) => {
			const first = await db.follow(answer, { speaks });
			expect(await first.over()).toEqual([
				...[...BEGIN, "1 notice unknown", "2 notice unknown", "3 text: One answer.\n", "3 model-call"],
				...["4 notice checkpoint", SUCCESS],
			]);
			const later = await db.follow(answer, { speaks, prompt: "and now?", conversationId: FIRST_ID });
			expect(await later.over()).toEqual([
				...["ready", "5 notice user_input", "6 notice unknown", "7 text: One answer.\n", "7 model-call", SUCCESS],
			]);
			expect(later.heard.events.filter(({ kind }) => kind === "ready" || kind === "turn-end")).toMatchObject([
				{ conversationId: FIRST_ID },
				{ conversationId: FIRST_ID },
			]);
		},
	);
});
