/** The conversation database while it is written: the file, its tables, and how answers and tools grow in it. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { bytesAt, ConversationFile, FIRST_ID, fieldNumbers, numberAt, textAt, valuesAt } from "./conversation-file.ts";
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

const PRINT = ["-p", "six times seven?"];

async function print(scenario: string | object, args: readonly string[] = PRINT) {
	const run = agy.start({ scenario, args });
	return { ...(await run.closed), stdout: run.stdout };
}

describe("the file", () => {
	it("is not there unless the scenario or the environment asks for it", async () => {
		await print("echo");
		expect(file.sidecars).toEqual([]);
		expect(() => file.all("SELECT 1")).toThrow("unable to open");
		const second = agy.start({ scenario: "echo", args: PRINT, env: { AGY_SIM_DATABASE: "on" } });
		expect((await second.closed).code).toBe(0);
		expect(new ConversationFile(agy, FIRST_ID.replace(/1$/, "2")).types).toEqual([14, 98, 90, 15, 23]);
		const third = agy.start({ scenario: "db-noise", args: PRINT, env: { AGY_SIM_DATABASE: "off" } });
		expect((await third.closed).code).toBe(0);
		expect(agy.read(`antigravity-cli/conversations/${FIRST_ID.replace(/1$/, "3")}.db`)).toBeUndefined();
	});

	it("has the seven tables and two indexes, and the settings of a real one", async () => {
		await print("db-text", ["-p", "/usage"]);
		const names = file
			.all("SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
			.map(({ name }) => name);
		expect(names).toEqual([
			"battle_mode_infos",
			"executor_metadata",
			"gen_metadata",
			"idx_steps_status",
			"idx_steps_step_type",
			"parent_references",
			"steps",
			"trajectory_meta",
			"trajectory_metadata_blob",
		]);
		const settings = ["user_version", "page_size", "journal_mode", "encoding", "schema_version"].map((name) =>
			file.value(`PRAGMA ${name}`),
		);
		expect(settings).toEqual([1, 4096, "wal", "UTF-8", 9]);
		expect(file.value("SELECT sql FROM sqlite_master WHERE name = 'steps'")).toBe(
			"CREATE TABLE `steps` (`idx` integer,`step_type` integer NOT NULL DEFAULT 0,`status` integer NOT NULL DEFAULT 0," +
				"`has_subtrajectory` numeric NOT NULL DEFAULT false,`metadata` blob,`error_details` blob,`permissions` blob," +
				"`task_details` blob,`render_info` blob,`step_payload` blob,`step_format` integer NOT NULL DEFAULT 0," +
				"PRIMARY KEY (`idx`))",
		);
	});

	it("is born empty, gets its tables under a rollback journal, then the write-ahead log", async () => {
		const run = agy.start({ scenario: "db-slow-creation", args: PRINT });
		await agy.reached("empty-file");
		expect(agy.read(`antigravity-cli/conversations/${FIRST_ID}.db`)).toBe("");
		expect(() => file.all("SELECT * FROM steps")).toThrow("no such table");
		agy.openGate("empty-file");
		await agy.reached("schema");
		expect(file.value("PRAGMA journal_mode")).toBe("delete");
		expect(file.steps).toEqual([]);
		agy.openGate("schema");
		await agy.reached("wal");
		expect(file.value("PRAGMA journal_mode")).toBe("wal");
		expect(file.all("SELECT * FROM trajectory_meta")).toEqual([]);
		agy.openGate("wal");
		expect((await run.closed).code).toBe(0);
		expect(file.types).toEqual([14, 98, 90, 15, 23]);
	});

	it("says which conversation it is, and where it works only with --add-dir", async () => {
		await print("db-noise");
		expect(file.all("SELECT * FROM trajectory_meta")).toEqual([
			{ trajectory_id: expect.stringMatching(/^[0-9a-f-]{36}$/), cascade_id: FIRST_ID, trajectory_type: 4, source: 17 },
		]);
		const bare = file.value("SELECT data FROM trajectory_metadata_blob WHERE id = 'main'") as Uint8Array;
		expect(fieldNumbers(bare)).toEqual([2, 3, 6, 15, 18]);
		expect(textAt(bare, "6")).toBe(FIRST_ID);
		await print("db-noise", [...PRINT, "--add-dir", agy.workspace]);
		const other = new ConversationFile(agy, FIRST_ID.replace(/1$/, "2"));
		const placed = other.value("SELECT data FROM trajectory_metadata_blob") as Uint8Array;
		expect([textAt(placed, "1.1"), textAt(placed, "7")]).toEqual(Array(2).fill(`file://${agy.workspace}`));
		expect(numberAt(placed, "2.1")).toBeGreaterThan(Date.now() / 1000 - 600);
	});
});

describe("the rows of turns", () => {
	it("are 14, 98, 90, 15, 23 in the first and 14, 90, 15 in later ones", async () => {
		const run = agy.start({ scenario: "turns", env: { AGY_SIM_DATABASE: "on" } });
		await run.ask("one");
		expect(file.types).toEqual([14, 98, 90, 15, 23]);
		await run.ask("two");
		await run.finish();
		expect(file.outline).toEqual(["0/14/3", "1/98/3", "2/90/3", "3/15/3", "4/23/3", "5/14/3", "6/90/3", "7/15/3"]);
		expect([file.text(5, "19.2"), file.text(5, "19.3.1"), file.text(7, "20.1")]).toEqual(["two", "two", "Second.\n"]);
	});

	it("have columns that are copies of their payload, and NULL where there is nothing", async () => {
		await print("db-tool-endings");
		expect(file.steps.length).toBeGreaterThan(10);
		for (const [position, step] of file.steps.entries()) {
			const payload = step.step_payload as Uint8Array;
			expect(step.idx).toBe(position);
			expect([numberAt(payload, "1"), numberAt(payload, "4")]).toEqual([step.step_type, step.status]);
			expect(step.metadata).toEqual(bytesAt(payload, "5"));
			expect(step.error_details).toEqual(bytesAt(payload, "31") ?? null);
			expect(step.task_details).toEqual(bytesAt(payload, "148") ?? null);
			expect(numberAt(payload, "5.20.2")).toBe(position === 0 ? undefined : position);
			expect(textAt(payload, "5.20.4")).toBe(FIRST_ID);
		}
	});

	it("keep their history of statuses, and agy's sources", async () => {
		await print("db-noise");
		const history = (idx: number) => {
			const payload = file.steps[idx]?.step_payload as Uint8Array;
			return valuesAt(payload, "5.26.1.1").map(Number);
		};
		expect([history(0), history(1), history(2)]).toEqual([[3], [1, 2, 3], [1, 2, 3]]);
		const sources = file.steps.slice(0, 3).map((step) => numberAt(step.metadata as Uint8Array, "3"));
		expect(sources).toEqual([4, 5, 5]);
	});

	it("hold what else a reader has to hide", async () => {
		await print("db-noise");
		expect(file.types).toEqual([14, 98, 90, 139, 101, 15, 23]);
		expect(file.text(2, "103.1")).toHaveLength(1400);
		expect(file.text(4, "114.3")).toBe("task_notification");
	});
});

describe("an answer", () => {
	it("grows at its place: thinking, then text, then everything else with DONE", async () => {
		const run = agy.start({ scenario: "db-text", args: PRINT });
		await agy.reached("held");
		expect(file.outline.at(-1)).toBe("3/15/8");
		expect(file.text(3, "20.1")).toBe("Six times seven is ");
		expect(file.text(3, "20.3")).toBe("Six times seven: that is known.");
		expect(file.text(3, "20.8")).toBeUndefined();
		expect(bytesAt(file.steps[3]?.metadata as Uint8Array, "9")).toBeUndefined();
		agy.openGate("go");
		await run.closed;
		const payload = file.steps[3]?.step_payload as Uint8Array;
		expect(file.outline.slice(3)).toEqual(["3/15/3", "4/23/3"]);
		expect([textAt(payload, "20.1"), textAt(payload, "20.8")]).toEqual(
			Array(2).fill("Six times seven is forty-two.\n"),
		);
		expect(valuesAt(payload, "5.26.1.1").map(Number)).toEqual([8, 3]);
		expect(bytesAt(payload, "20.14.2.1")).toHaveLength(1500);
		expect([numberAt(payload, "20.12"), textAt(payload, "20.6")]).toEqual([2, expect.stringMatching(/^bot-/)]);
		const usage = ["2", "3", "5", "9", "10"].map((field) => numberAt(payload, `5.9.${field}`));
		expect(usage).toEqual([12_000, 33, undefined, 25, 8]);
	});

	it("shows each commit to a reader that is open all the time", async () => {
		const run = agy.start({
			scenario: {
				database: { pauses: [{ at: "after-commit", marker: "commit", gate: "next" }] },
				turns: [{ steps: [{ kind: "text", text: "", deltas: ["a", "b", "c"] }] }],
			},
			args: PRINT,
		});
		const seen: string[] = [];
		for (let number = 1; number <= 9; number++) {
			await agy.reached(`commit-${number}`);
			if (number >= 5) seen.push(`${file.outline.at(3)} ${file.text(3, "20.1")}`);
			agy.openGate(`next-${number}`);
		}
		expect(seen).toEqual(["3/15/8 a", "3/15/8 ab", "3/15/3 abc", "3/15/3 abc", "3/15/3 abc"]);
		for (let number = 10; number <= 12; number++) agy.openGate(`next-${number}`);
		expect((await run.closed).code).toBe(0);
	});

	it("is committed only complete, or with an empty row first, as the scenario wants", async () => {
		const complete = agy.start({ scenario: "db-done-only", args: PRINT });
		await agy.reached("held");
		expect(file.types).toEqual([14, 98, 90]);
		agy.openGate("go");
		await complete.closed;
		expect(file.outline[3]).toBe("3/15/3");

		const run = agy.start({
			scenario: {
				database: { pauses: [{ at: "after-commit", number: 5, marker: "empty", gate: "text" }] },
				turns: [{ steps: [{ kind: "text", text: "hi", database: { placeholder: "done" } }] }],
			},
			args: PRINT,
		});
		await agy.reached("empty");
		const other = new ConversationFile(agy, FIRST_ID.replace(/1$/, "2"));
		expect([other.outline[3], other.text(3, "20.1")]).toEqual(["3/15/3", undefined]);
		agy.openGate("text");
		await run.closed;
		expect(other.text(3, "20.1")).toBe("hi");
	});

	it("is committed by a clock, with text that is not yet complete", async () => {
		const run = agy.start({
			scenario: {
				database: { everyMs: 20 },
				turns: [
					{
						steps: [{ kind: "text", text: "", deltas: ["half ", "whole"], pauseAfter: 1, marker: "half", gate: "go" }],
					},
				],
			},
			args: PRINT,
		});
		await agy.reached("half");
		await until("the clock's commit", () => file.text(3, "20.1") === "half ");
		agy.openGate("go");
		await run.closed;
		expect(file.text(3, "20.1")).toBe("half whole");
	});

	it("is canceled in place by an interrupt, and only then", async () => {
		const run = agy.start({ scenario: "db-text", args: PRINT });
		await agy.reached("held");
		run.child.kill("SIGINT");
		expect((await run.closed).code).toBe(1);
		expect(file.outline.at(-1)).toBe("3/15/6");
		expect(file.text(3, "20.1")).toBe("Six times seven is ");
	});
});

describe("tools", () => {
	it.each([
		["db-tools", [14, 98, 90, 15, 132, 132, 15, 132, 15, 23]],
		["db-tools-kinds", [14, 98, 90, 15, 8, 5, 15, 21, 15, 23]],
	])("%s: the answer declares the calls, the rows behind it execute them", async (scenario, types) => {
		await print(scenario);
		expect(file.types).toEqual(types);
		const answer = file.steps[3]?.step_payload as Uint8Array;
		const declared = valuesAt(answer, "20.7.1").map((id) => Buffer.from(id as Uint8Array).toString());
		expect(declared).toEqual(["call_0", "call_1"]);
		expect(numberAt(answer, "20.12")).toBe(10);
		expect([file.text(4, "5.4.1"), file.text(5, "5.4.1"), file.text(7, "5.4.1")]).toEqual([
			"call_0",
			"call_1",
			"call_2",
		]);
		expect([file.text(5, "5.4.2"), JSON.parse(file.text(7, "5.4.3") ?? "")]).toEqual([
			"replace_file_content",
			{ CommandLine: "make test", Cwd: expect.any(String) },
		]);
	});

	it("keep their output at the place of their dialect", async () => {
		await print("db-tools");
		expect(file.text(7, "140.2.1")).toBe("building\n4 passed\r\n");
		await print("db-tools-kinds");
		const kinds = new ConversationFile(agy, FIRST_ID.replace(/1$/, "2"));
		expect([kinds.text(7, "28.21.1"), kinds.text(7, "28.23"), kinds.text(4, "14.4")]).toEqual([
			"building\n4 passed\r\n",
			"make test",
			"first line\n",
		]);
	});

	it("wait in a queue and for permission, and show their output while they run", async () => {
		const run = agy.start({ scenario: "db-live-output", args: PRINT });
		await agy.reached("held");
		expect([file.outline[4], file.text(4, "28.21.1")]).toEqual(["4/21/2", "building\n4 pas"]);
		agy.openGate("go");
		await run.closed;
		const { step_payload: payload, permissions } = file.steps[4] ?? {};
		expect(valuesAt(payload as Uint8Array, "5.26.1.1").map(Number)).toEqual([11, 9, 1, 2, 3]);
		expect(numberAt(payload as Uint8Array, "28.6")).toBe(-9);
		expect([textAt(permissions as Uint8Array, "2.1.1"), numberAt(permissions as Uint8Array, "2.2")]).toEqual([
			"command",
			1,
		]);
	});

	it("end failed, denied, canceled and interrupted", async () => {
		await print("db-tool-endings");
		const tools = file.steps.filter(({ step_type }) => step_type === 8 || step_type === 21);
		expect(tools.map(({ status }) => status)).toEqual([7, 7, 6, 12]);
		expect(textAt(tools[0]?.error_details as Uint8Array, "1")).toBe("no such file");
		expect(textAt(tools[1]?.error_details as Uint8Array, "1")).toContain("denied");
		expect(numberAt(tools[1]?.permissions as Uint8Array, "2.2")).toBe(0);
	});

	it("may end behind later rows", async () => {
		const run = agy.start({ scenario: "db-background", args: PRINT });
		await agy.reached("held");
		expect(file.outline.slice(4)).toEqual(["4/21/2", "5/15/3"]);
		expect(textAt(file.steps[4]?.task_details as Uint8Array, "1")).toBe("task-4");
		agy.openGate("go");
		await run.closed;
		expect(file.outline.slice(4, 7)).toEqual(["4/21/3", "5/15/3", "6/101/3"]);
	});
});

describe("the other tables", () => {
	it("keep one row a model call, of which only the newest is large, and one a turn", async () => {
		await print("db-tools");
		const calls = file.all("SELECT * FROM gen_metadata ORDER BY idx");
		expect(calls.map(({ data, size }) => (data as Uint8Array).length === size)).toEqual([true, true, true]);
		expect(calls.map(({ size }) => Number(size) > 100_000)).toEqual([false, false, true]);
		expect(Number(calls[0]?.size)).toBeLessThan(1500);
		const newest = calls[2]?.data as Uint8Array;
		expect(fieldNumbers(newest)).toEqual([2, 3, 4, 8, 1]);
		expect(numberAt(newest, "1.9.2")).toBe(-1);
		expect(bytesAt(newest, "2")).toEqual(new Uint8Array([8]));
		expect(bytesAt(newest, "1.15.5")).toHaveLength(8);
		expect([textAt(newest, "1.19"), textAt(newest, "1.21")]).toEqual(["gemini-pro-default", "Gemini 3.1 Pro (High)"]);
		expect(bytesAt(newest, "1.4")).toEqual(bytesAt(newest, "1.17.2"));
		expect(bytesAt(newest, "1.4")).toEqual(bytesAt(file.steps[8]?.metadata as Uint8Array, "9"));
		expect(
			file.all("SELECT length(data) AS bytes FROM executor_metadata").map(({ bytes }) => Number(bytes) > 3000),
		).toEqual([true]);
	});

	it("may change alone, with other bytes and the same meaning", async () => {
		const scenario = {
			database: { genMetadata: "every-commit", pauses: [{ at: "after-commit", marker: "at", gate: "go" }] },
			turns: [{ steps: [{ kind: "text", text: "", deltas: ["a", "b"] }] }],
		};
		const run = agy.start({ scenario, args: PRINT });
		const saved: Buffer[] = [];
		for (let number = 1; number <= 6; number++) {
			await agy.reached(`at-${number}`);
			const data = file.value("SELECT data FROM gen_metadata");
			if (data !== undefined) saved.push(Buffer.from(data as Uint8Array));
			agy.openGate(`go-${number}`);
		}
		expect(saved).toHaveLength(2);
		expect(saved[0]?.equals(saved[1] ?? Buffer.alloc(0))).toBe(false);
		await run.kill();
	});
});

describe("errors", () => {
	it.each([
		["db-quota", ["3/17/3", "4/17/3", "5/17/3", "6/17/3", "7/17/3"]],
		["db-retry", ["3/17/3"]],
	])("%s leaves rows with the provider's answer", async (scenario, outline) => {
		expect((await print(scenario)).code).toBe(3);
		expect(file.outline.slice(3)).toEqual(outline);
		expect(JSON.parse(file.text(3, "24.3.5") ?? "").error).toMatchObject({
			code: 429,
			status: "RESOURCE_EXHAUSTED",
			details: [{ reason: "QUOTA_EXHAUSTED" }],
		});
		expect(file.text(3, "24.3.1")).toBe("Individual quota reached.");
	});
});

describe("the stream", () => {
	it.each(["tools", "tool-rejected", "denied-goes-on", "partial-then-error", "cumulative-text", "subagent-flat"])(
		"%s prints the same bytes with a database and without",
		async (scenario) => {
			const outputs: string[] = [];
			for (const database of ["on", "off"]) {
				const run = agy.start({
					scenario,
					env: { AGY_SIM_DATABASE: database },
					more: ["--add-dir", agy.workspace],
				});
				await run.ask("hello");
				await run.finish();
				outputs.push(run.stdout.replaceAll("-000000000002", "-000000000001"));
			}
			expect(outputs[0]).toBe(outputs[1]);
			expect(file.steps.length).toBeGreaterThan(4);
		},
	);
});
