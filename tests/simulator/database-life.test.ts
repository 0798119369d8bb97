/** What happens to conversation databases: resume, rewind, fork, ends of the process, odd files, and others beside them. */
import { readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConversationFile, FIRST_ID, numberAt, textAt, valuesAt } from "./conversation-file.ts";
import { SimulatedAgy } from "./simulated-agy.ts";

let agy: SimulatedAgy;
let file: ConversationFile;
beforeEach(() => {
	agy = new SimulatedAgy();
	file = new ConversationFile(agy);
});
afterEach(async () => {
	file.close();
	await agy.close();
});

const start = (scenario: string | object, prompt = "hi", more: readonly string[] = []) =>
	agy.start({ scenario, args: ["-p", prompt, ...more] });
const RESUME = ["--conversation", FIRST_ID];

function databases(): readonly ConversationFile[] {
	const ids = readdirSync(dirname(file.path)).flatMap((name) => /^(.*)\.db$/.exec(name)?.[1] ?? []);
	return ids.filter((id) => id !== FIRST_ID).map((id) => new ConversationFile(agy, id));
}

function description(of: ConversationFile): Uint8Array {
	return of.value("SELECT data FROM trajectory_metadata_blob") as Uint8Array;
}

describe("resume", () => {
	it("appends, and cancels in place what a kill left open", async () => {
		expect((await start("db-resume").closed).signal).toBe("SIGKILL");
		expect(file.outline.slice(3)).toEqual(["3/15/3", "4/21/2", "5/15/8"].map((row) => row.replace("/21/", "/132/")));
		await start("db-resume", "again", RESUME).closed;
		expect(file.outline.slice(3)).toEqual([
			...["3/15/3", "4/132/6", "5/15/6", "6/101/3"],
			...["7/14/3", "8/90/3", "9/101/3", "10/15/3"],
		]);
		expect(numberAt(file.steps[5]?.step_payload as Uint8Array, "4")).toBe(6);
		expect([file.text(5, "20.1"), file.text(7, "19.2")]).toEqual(["Half an ans", "again"]);
	});

	it("after a rewind uses numbers again, under another trajectory", async () => {
		await start("db-rewind").closed;
		const before = file.value("SELECT trajectory_id FROM trajectory_meta");
		await start("db-rewind", "again", RESUME).closed;
		expect(file.types).toEqual([14, 98, 90, 14, 90, 101, 15]);
		expect(file.text(6, "20.1")).toBe("Second.\n");
		const after = file.value("SELECT trajectory_id FROM trajectory_meta");
		expect(after).not.toBe(before);
		expect([file.text(0, "5.20.1"), file.text(6, "5.20.1")]).toEqual([before, after]);
		const link = file.value("SELECT data FROM parent_references") as Uint8Array;
		expect([textAt(link, "1"), textAt(link, "6")]).toEqual([before, FIRST_ID]);
		expect(file.value("SELECT count(*) FROM gen_metadata")).toBe(1);
	});

	it("of a fork goes on in its own file", async () => {
		await start("db-fork").closed;
		const [fork] = databases();
		const id = fork?.value("SELECT cascade_id FROM trajectory_meta");
		expect(fork?.steps).toEqual(file.steps);
		const link = fork?.value("SELECT data FROM parent_references") as Uint8Array;
		expect([numberAt(link, "5"), textAt(link, "6")]).toEqual([2, FIRST_ID]);
		expect(readdirSync(dirname(file.path))).toContain(`${id}.pb`);
		await start("db-noise", "again", ["--conversation", String(id)]).closed;
		expect([fork?.types.length, file.types.length]).toEqual([9, 5]);
		expect(fork?.value("PRAGMA journal_mode")).toBe("wal");
	});
});

describe("a subagent", () => {
	it("has a file of its own that names its parent, open in the same process", async () => {
		const run = start("db-subagent");
		await agy.reached("held");
		const [child] = databases();
		if (child === undefined) throw new Error("no second database");
		expect(child.types).toEqual([14, 98, 90, 15]);
		expect([child.text(0, "19.2"), child.text(3, "20.1")]).toEqual(["Find the sum.", "It is 42.\n"]);
		const blob = description(child);
		expect([textAt(blob, "4.1"), textAt(blob, "5"), textAt(blob, "6"), numberAt(blob, "17")]).toEqual([
			...["researcher", FIRST_ID, FIRST_ID],
			1,
		]);
		expect(child.sidecars).toEqual(["-wal", "-shm"]);
		expect(file.outline.slice(3)).toEqual(["3/15/3", "4/132/3", "5/101/3"]);
		agy.openGate("go");
		await run.closed;
		expect(textAt(file.steps[4]?.step_payload as Uint8Array, "5.4.2")).toBe("invoke_subagent");
	});
});

describe("the end of the process", () => {
	it("leaves -wal and -shm behind, or not, as the scenario wants", async () => {
		await start("db-noise").closed;
		expect(file.sidecars).toEqual(["-wal", "-shm"]);
		await start("db-clean-close").closed;
		const clean = new ConversationFile(agy, FIRST_ID.replace(/1$/, "2"));
		expect(clean.sidecars).toEqual([]);
		expect(clean.types).toHaveLength(5);
	});

	it("may leave a log of megabytes", async () => {
		await start("db-large-log").closed;
		expect(statSync(`${file.path}-wal`).size).toBeGreaterThan(2_000_000);
	});

	it("by a kill within a transaction loses that transaction alone", async () => {
		const run = start("db-killed");
		expect((await run.closed).signal).toBe("SIGKILL");
		expect(file.types).toEqual([14, 98, 90, 15]);
	});

	it("cannot truncate the log while a reader holds an old snapshot, nor remove it while one has the file open", async () => {
		const scenario = {
			database: { close: "clean" },
			turns: [
				{
					steps: [
						{ kind: "touch", marker: "held" },
						{ kind: "wait", gate: "go" },
						{ kind: "text", text: "hi" },
					],
				},
			],
		};
		const run = start(scenario);
		await agy.reached("held");
		const reader = file.open();
		reader.prepare("SELECT count(*) FROM steps").get();
		agy.openGate("go");
		await run.closed;
		expect(file.sidecars).toContain("-wal");
		expect(reader.prepare("SELECT count(*) AS rows FROM steps").get()).toEqual({ rows: 5 });
	});

	it("may come right after a commit that is later than the result", async () => {
		const run = start("db-late-commit");
		await agy.reached("told");
		expect([run.stdout, file.outline]).toEqual(["Almost.\n", ["0/15/8"]]);
		agy.openGate("go");
		await run.closed;
		expect([file.outline, file.text(0, "20.1")]).toEqual([["0/15/3"], "Almost.\n"]);
	});

	it("leaves an answer open that was still generating", async () => {
		expect((await start("db-left-open").closed).code).toBe(0);
		expect(file.outline).toEqual(["0/14/3", "1/15/8"]);
	});
});

describe("odd files", () => {
	it("db-exclusive: nobody else can read while it is written", async () => {
		const run = start("db-exclusive");
		await agy.reached("held");
		expect(() => file.steps).toThrow("database is locked");
		agy.openGate("go");
		await run.closed;
		expect(file.types).toHaveLength(5);
	});

	it("db-rollback-journal: no write-ahead log", async () => {
		const run = start("db-rollback-journal");
		await agy.reached("held");
		expect([file.value("PRAGMA journal_mode"), file.outline[3]]).toEqual(["delete", "3/15/8"]);
		agy.openGate("go");
		await run.closed;
		expect(file.sidecars).toEqual([]);
	});

	it("db-checkpoints: nothing is lost by them", async () => {
		await start("db-checkpoints").closed;
		expect(file.types).toEqual([14, 98, 90, 15, 15, 23]);
	});

	it("db-recreated: another file at the same path, which the old handle does not see", async () => {
		const run = start("db-recreated");
		await agy.reached("held");
		const old = file.open();
		const rows = () => old.prepare("SELECT count(*) AS rows FROM steps").get();
		expect(rows()).toEqual({ rows: 4 });
		const inode = statSync(file.path).ino;
		agy.openGate("go");
		await run.closed;
		expect(statSync(file.path).ino).not.toBe(inode);
		expect(rows()).toEqual({ rows: 4 });
		expect(file.types).toEqual([14, 98, 90, 15, 15, 23]);
	});

	it("db-other-schema: what is missing is missing, and the rest is written", async () => {
		expect((await start("db-other-schema").closed).code).toBe(0);
		const columns = file.all("SELECT name FROM pragma_table_info('steps')").map(({ name }) => name);
		expect(columns).toContain("subagent_info");
		expect(columns).not.toContain("error_details");
		expect(file.value("SELECT count(*) FROM later_addition")).toBe(0);
		expect(file.types).toEqual([14, 98, 90, 15, 23]);
	});

	it("db-newer-version and db-dropped-table", async () => {
		await start("db-newer-version").closed;
		expect(file.value("PRAGMA user_version")).toBe(2);
		expect((await start("db-dropped-table").closed).code).toBe(0);
		const dropped = new ConversationFile(agy, FIRST_ID.replace(/1$/, "2"));
		expect(() => dropped.steps).toThrow("no such table: steps");
	});
});

describe("other conversations beside it", () => {
	it("db-strangers: new ones appear before, together with and after it", async () => {
		const run = start("db-strangers", "Which one is mine?");
		await agy.reached("held");
		expect(databases()).toHaveLength(1);
		expect(() => file.steps).toThrow("unable to open");
		agy.openGate("go");
		await run.closed;
		const prompts = databases().map((other) => other.text(0, "19.2"));
		expect(prompts.sort()).toEqual(["A stranger's prompt.", "Something else entirely.", "Something else entirely."]);
		const parents = databases().flatMap((other) => valuesAt(description(other), "5"));
		expect(parents.map((id) => Buffer.from(id as Uint8Array).toString())).toEqual([FIRST_ID]);
		expect(file.text(0, "19.2")).toBe("Which one is mine?");
	});

	it("db-old-files: finished ones of yesterday, each under its own id", async () => {
		await start("db-old-files:count=30").closed;
		const old = databases();
		expect(old).toHaveLength(30);
		for (const other of [old[0], old[29]]) {
			expect(`${other?.value("SELECT cascade_id FROM trajectory_meta")}.db`).toBe(other?.path.split("/").at(-1));
			expect(statSync(other?.path ?? "").mtimeMs).toBeLessThan(Date.now() - 80_000_000);
		}
		expect(file.types).toEqual([14, 98, 90, 15, 23]);
	});

	it("db-torn-cache: the cache of last conversations is half written for a while", async () => {
		const run = start("db-torn-cache");
		await agy.reached("held");
		const path = "antigravity-cli/cache/last_conversations.json";
		expect(() => JSON.parse(agy.read(path) ?? "")).toThrow();
		agy.openGate("go");
		await run.closed;
		expect(Object.values(JSON.parse(agy.read(path) ?? "{}"))).toEqual([FIRST_ID]);
	});

	it("two runs at once with one prompt have two files", async () => {
		const runs = [start("db-noise", "same"), start("db-noise", "same")];
		for (const run of runs) expect((await run.closed).code).toBe(0);
		const prompts = [file, ...databases()].map((one) => one.text(0, "19.2"));
		expect(prompts).toEqual(["same", "same"]);
	});
});
