/** What lasts: resume, cumulative figures, locks, ids of several processes, transcript and journal. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/condition.ts";
import { SimulatedAgy } from "./simulated-agy.ts";
import type { WireUsage } from "./wire-event.ts";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

function sum(usages: readonly WireUsage[]): WireUsage {
	const add = (key: keyof WireUsage) => usages.reduce((total, usage) => total + usage[key], 0);
	return {
		input_tokens: add("input_tokens"),
		output_tokens: add("output_tokens"),
		thinking_tokens: add("thinking_tokens"),
		cache_read_tokens: add("cache_read_tokens"),
		total_tokens: add("total_tokens"),
	};
}

describe("figures", () => {
	it("add up over turns and processes, and total is input plus output", async () => {
		const first = agy.start({ scenario: "tools" });
		await first.ask("one");
		await first.ask("two");
		await first.finish();
		const id = first.results[0]?.conversation_id ?? "";
		const second = agy.start({ scenario: "tools", more: ["--conversation", id] });
		await second.ask("three");
		await second.finish();

		const results = [...first.results, ...second.results];
		expect(results.map((result) => result.num_turns)).toEqual([1, 2, 3]);
		const steps = [...first.steps, ...second.steps];
		const stepUsages = steps.flatMap((step) => (step.usage === undefined ? [] : [step.usage]));
		expect(results[2]?.usage).toEqual(sum(stepUsages));
		for (const usage of [...stepUsages, ...results.map((result) => result.usage)]) {
			expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
			expect(usage.thinking_tokens).toBeLessThanOrEqual(usage.output_tokens);
		}
		const durations = results.map((result) => result.duration_seconds);
		expect(durations).toEqual([...durations].sort((a, b) => a - b));
		const indices = [...new Set(steps.map((step) => step.step_index))]; // in order of first appearance
		expect(indices).toEqual(indices.map((_, position) => position));
	});

	it("are the same in every run", async () => {
		const outputs: string[] = [];
		for (const folder of ["a", "b"]) {
			const run = agy.start({
				scenario: "tools",
				env: { AGY_SIM_HOME: join(agy.home, folder) },
				more: ["--add-dir", agy.workspace],
			});
			await run.ask("same");
			await run.finish();
			outputs.push(run.stdout);
		}
		expect(outputs[0]).toBe(outputs[1]);
	});
});

describe("resume", () => {
	it("keeps the id, goes on counting, and starts with a system_message", async () => {
		const first = agy.start();
		const { conversation_id } = await first.ask("one");
		await first.finish();
		const second = agy.start({ more: ["--conversation", conversation_id] });
		await second.ask("two");
		await second.ask("three");
		expect(second.events[0]?.conversation_id).toBe(conversation_id);
		expect(second.steps.map((step) => step.step_type).filter((type) => type === "system_message")).toHaveLength(1);
		expect(second.steps[0]?.step_index).toBe((first.steps.at(-1)?.step_index ?? 0) + 1);
	});

	it.each(["00000000-0000-4000-8000-000000000000", "not an id"])("of %s: a warning and a new id", async (wanted) => {
		const run = agy.start({ more: ["--conversation", wanted] });
		await run.ask("hi");
		expect((await run.finish()).code).toBe(0);
		expect(run.stderr).toBe(`warning: conversation "${wanted}" not found\n`);
		expect(run.events[0]?.conversation_id).not.toBe(wanted);
		expect(run.steps[0]?.step_index).toBe(0);
	});

	it("resume-other: a known id is not found", async () => {
		const first = agy.start();
		const { conversation_id } = await first.ask("one");
		await first.finish();
		const second = agy.start({ scenario: "resume-other", more: ["--conversation", conversation_id] });
		await second.ask("two");
		expect(second.events[0]?.conversation_id).not.toBe(conversation_id);
		expect(second.stderr).toContain("not found");
	});

	it("--continue takes the newest conversation of the workspace", async () => {
		const first = agy.start({ more: ["--add-dir", agy.workspace] });
		const { conversation_id } = await first.ask("one");
		await first.finish();
		const elsewhere = agy.start();
		await elsewhere.finish();
		const second = agy.start({ more: ["--add-dir", agy.workspace, "-c"] });
		await second.finish();
		expect(second.events[0]?.conversation_id).toBe(conversation_id);
	});

	it("index-resets: every turn starts at 0", async () => {
		const run = agy.start({ scenario: "index-resets" });
		await run.ask("one");
		await run.ask("two");
		expect(run.steps.map((step) => step.step_index)).toEqual([0, 1, 0, 1]);
	});
});

describe("several processes", () => {
	it("get different ids", async () => {
		const runs = Array.from({ length: 6 }, () => agy.start());
		await Promise.all(runs.map((run) => run.finish()));
		expect(new Set(runs.map((run) => run.events[0]?.conversation_id)).size).toBe(6);
	});

	it("cannot hold one conversation, unless the scenario shares it or the holder is dead", async () => {
		const holder = agy.start();
		const { conversation_id } = await holder.ask("mine");
		const more = ["--conversation", conversation_id];
		const refused = agy.start({ more });
		expect((await refused.closed).code).toBe(1);
		expect(String(refused.results[0]?.error)).toContain(`in use by another process (pid ${holder.child.pid})`);

		const sharing = agy.start({ scenario: "shared-conversation", more });
		await sharing.ask("ours");
		await sharing.finish();

		await holder.kill();
		const heir = agy.start({ more });
		expect((await heir.ask("mine now")).conversation_id).toBe(conversation_id);
		await heir.finish();
		expect(agy.read(`antigravity-cli/presence/${conversation_id}.lock`)).toBeUndefined();
	});
});

describe("state folder", () => {
	it("holds a transcript of prompts and answers", async () => {
		const run = agy.start();
		const { conversation_id } = await run.ask("note this");
		const path = `antigravity-cli/brain/${conversation_id}/.system_generated/logs/transcript.jsonl`;
		const rows = (agy.read(path) ?? "")
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(rows).toMatchObject([
			{ step_index: 0, type: "USER_INPUT", status: "DONE", content: "note this" },
			{ step_index: 1, source: "MODEL", type: "PLANNER_RESPONSE", content: "note this" },
		]);
	});

	it("is private and made when missing", async () => {
		const home = join(agy.home, "deep", "home");
		const run = agy.start({ env: { AGY_SIM_HOME: home } });
		await run.finish();
		expect(statSync(home).mode & 0o777).toBe(0o700);
	});

	it("journals start, stdin, end and exit, with names of the environment but no values", async () => {
		const run = agy.start({ env: { SECRET_THING: "hush" }, more: ["--sandbox"] });
		await run.ask("hi");
		await run.finish();
		expect(agy.journal().map((entry) => entry.kind)).toEqual(["start", "stdin", "stdin-eof", "exit"]);
		expect(agy.journal("start")[0]).toMatchObject({ pid: run.child.pid, argv: expect.arrayContaining(["--sandbox"]) });
		expect(agy.journal("start")[0]?.env).toContain("SECRET_THING");
		expect(agy.journal("start")[0]?.env).not.toContain("NODE_COMPILE_CACHE");
		expect(agy.journal("start")[0]?.env).not.toContain("AGY_SIM_PROGRAM");
		expect(agy.read("journal.ndjson")).not.toContain("hush");
		expect(agy.journal("exit")[0]).toMatchObject({ code: 0 });
	});

	it("gates hold a turn until they open, and markers tell where it is", async () => {
		const run = agy.start({ scenario: "gated" });
		run.send("hi");
		await agy.reached("first");
		await until("three deltas", () => run.text === "one two three ");
		expect(run.results).toEqual([]);
		agy.openGate("go");
		await until("the result", () => run.results.length === 1);
		expect(run.text).toBe("one two three four five.\n");
	});

	it("a gate that is open already holds nothing", async () => {
		agy.openGate("go");
		const run = agy.start({ scenario: "slow-first" });
		expect((await run.ask("hi")).response).toBe("That took a while.\n");
	});
});
