/** Lanes, links and the process registry with real threads and real processes, below pi. */
import { readdirSync } from "node:fs";
import { MessageChannel } from "node:worker_threads";
import { Piscina } from "piscina";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workerUrls } from "../../src/main/hub.ts";
import { type Lane, LanePool, type LinkReceiver } from "../../src/main/lanes.ts";
import { fromPlainError } from "../../src/shared/errors.ts";
import type { LaneEnd, LaneStats } from "../../src/shared/lane-control.ts";
import { CONTRACT_VERSION, HIGH_WATER_BYTES, LINKS_PER_LANE, LOW_WATER_BYTES } from "../../src/shared/limits.ts";
import { until, within } from "../support/condition.ts";
import { LaneRig, submit } from "../support/lane-rig.ts";
import { childrenOf, untilReaped } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";

/** What one read of a pipe brings at most. */
const CHUNK_BYTES = 64 * 1024;
const STEADY_BYTES = 1024;
/** The beginning of a line counts when its end has come; no line of `steady` is longer than this. */
const MOST_HELD_BYTES = HIGH_WATER_BYTES + CHUNK_BYTES + 2 * STEADY_BYTES;
const DECODE_URL = workerUrls(new URL("../../src/main/hub.ts", import.meta.url).href).decode;

let sandbox: Sandbox;
let rig: LaneRig;

beforeEach(() => {
	sandbox = new Sandbox();
	rig = new LaneRig(sandbox);
});
afterEach(async () => {
	await rig.close().finally(() => sandbox.close());
	expect(rig.lanes.threads.length).toBe(0);
	await untilReaped(process.pid);
	expect(childrenOf(process.pid).filter((row) => row.command.includes("agy-sim"))).toEqual([]);
});

/** What the scenario `steady` says. */
function steadyText(deltas: number): string {
	return Array.from({ length: deltas }, (_, number) =>
		`${number} `.padEnd(STEADY_BYTES, "lorem ipsum ").slice(0, STEADY_BYTES),
	).join("");
}

function steady(deltas: number, marker: string): { readonly turns: readonly object[] } {
	const steps = [
		{ kind: "steady", deltas, deltaBytes: STEADY_BYTES },
		{ kind: "touch", marker },
	];
	// The result would repeat all of it in one line.
	return { turns: [{ steps, result: { response: "" } }] };
}

async function threadIdOf(lane: Lane): Promise<number> {
	return (await lane.control.hello()).threadId;
}

/** Makes the lane count as busy, so that the next link goes to another one. */
function fill(lane: Lane): LinkReceiver & { lost: number } {
	const receiver = {
		lost: 0,
		receive: () => {},
		laneLost: () => {
			receiver.lost++;
		},
	};
	for (let link = 1; lane.linkCount < LINKS_PER_LANE; link++)
		lane.open(1_000_000 + link, `filler-${link}`, null, receiver);
	return receiver;
}

describe("a crashed worker thread", () => {
	it("fails only the turns on it, leaves no process, and the next turn resumes the conversation on a new lane", async () => {
		const first = await rig.ask("first", { scenario: "gated", sessionId: "a" });
		await sandbox.reached("first");
		const lane = await rig.lanes.acquire("decode");
		const filler = fill(lane);
		sandbox.forgetMarker("first");
		const other = await rig.ask("other", { scenario: "gated", sessionId: "b" });
		await sandbox.reached("first");
		await until("both stream", () => first.heard.text !== "" && other.heard.text !== "");
		expect(await rig.lanes.stats()).toHaveLength(2);

		await rig.crash(await threadIdOf(lane));
		const { exit, laneError } = await first.heard.over();
		expect(exit).toBeNull();
		expect(laneError).toMatchObject({ code: "worker-crashed" });
		expect(laneError?.message).toContain("resumes the conversation");
		expect(filler.lost).toBe(LINKS_PER_LANE - 1);
		expect(rig.lanes.crashes).toBe(1);
		await within("the process of the lost link", first.link.closed);
		expect(sandbox.agyProcesses().map((row) => row.pid)).toEqual([other.link.pid]);
		await untilReaped(process.pid);

		expect(other.heard.end).toBeNull();
		sandbox.openGate("go");
		await other.heard.done();
		expect(other.heard.text).toBe("one two three four five.\n");

		const conversationId = first.link.conversationId as string;
		expect(conversationId).not.toBe("");
		const resumed = await rig.ask("again", { sessionId: "a", conversationId });
		await resumed.heard.done();
		expect(resumed.heard.text).toBe("again");
		expect(resumed.link.conversationId).toBe(conversationId);
		expect(sandbox.runs().at(-1)?.argv).toEqual(expect.arrayContaining(["--conversation", conversationId]));
	});

	it("takes a process with it that ignores every polite signal", async () => {
		const { link, heard } = await rig.ask("hang", { scenario: "ignores-term" });
		await sandbox.reached("hanging");
		await rig.crash(await threadIdOf(await rig.lanes.acquire("decode")));
		await heard.over();
		await within("the process of the lost link", link.closed);
		expect(sandbox.agyProcesses()).toEqual([]);
		await untilReaped(process.pid);
	});

	it("is replaced twice; after the third crash within a minute the lanes stay down and say why", async () => {
		for (let crash = 1; crash <= 3; crash++) {
			const lane = await rig.lanes.acquire("decode");
			await rig.crash(await threadIdOf(lane));
			expect((await within("the end of the lane", lane.ended)).code).toBe("worker-crashed");
		}
		await expect(rig.open()).rejects.toMatchObject({
			code: "lane-down",
			message: expect.stringMatching(/crashed 3 times within a minute.*\/reload/),
		});
		expect(sandbox.runs()).toEqual([]);
	});
});

describe("a reader that stops", () => {
	it("pauses its own link alone, holds a bounded number of bytes, and gets everything in order afterwards", async () => {
		const deltas = 1_500;
		const link = await rig.open({ scenario: steady(deltas, "slow-said") });
		const slow = submit(link, "slow");
		const release = slow.stop();
		await until("the slow link is paused", async () => (await rig.lanes.stats())[0]?.pausedLinks === 1);

		const fast = await rig.ask("fast", { scenario: steady(deltas, "fast-said") });
		const stats = async () => {
			const lanes = await rig.lanes.stats();
			expect(lanes).toHaveLength(1);
			return lanes[0] as LaneStats;
		};
		// While it streams, the fast link holds a share of its own.
		while (!fast.heard.isDone) expect((await stats()).heldBytes).toBeLessThan(2 * MOST_HELD_BYTES);
		await until("the fast link's last bytes are acknowledged", async () => (await stats()).heldBytes < MOST_HELD_BYTES);
		for (let sample = 0; sample < 50; sample++) {
			const { heldBytes, pausedLinks } = await stats();
			expect(heldBytes).toBeGreaterThan(LOW_WATER_BYTES);
			expect(heldBytes).toBeLessThan(MOST_HELD_BYTES);
			expect(pausedLinks).toBe(1);
		}
		expect(fast.heard.text).toBe(steadyText(deltas));
		expect(sandbox.hasReached("fast-said")).toBe(true);
		expect(sandbox.hasReached("slow-said")).toBe(false);
		expect(slow.isDone).toBe(false);

		release();
		await slow.done();
		expect(slow.text).toBe(steadyText(deltas));
		await until("nothing is held any more", async () => (await stats()).heldBytes === 0);
		expect((await stats()).pausedLinks).toBe(0);
	});

	it("does not keep its link from being closed", async () => {
		const link = await rig.open({ scenario: steady(1_500, "said") });
		submit(link, "slow").stop();
		await until("the link is paused", async () => (await rig.lanes.stats())[0]?.pausedLinks === 1);
		await within("the close of a paused link", link.close());
		expect(sandbox.agyProcesses()).toEqual([]);
	});
});

describe("what a lane tells of itself", () => {
	it("is how much it read, how long decoding and frames took, and how busy its thread is", async () => {
		const { heard } = await rig.ask("anything", { scenario: steady(50, "said") });
		await heard.done();
		const [lane] = await rig.lanes.report();
		expect(lane).toMatchObject({ kind: "decode", number: 1, links: 1 });
		if (!lane?.stats) throw new Error("the lane does not answer");
		const { bytesIn, events, frames, threadId, utilization, decode, tick } = lane.stats;
		expect(bytesIn).toBeGreaterThan(50 * STEADY_BYTES);
		expect(events).toBeGreaterThan(0);
		expect(frames).toBeGreaterThan(0);
		expect(rig.lanes.threads.map((thread) => thread.threadId)).toContain(threadId);
		expect(utilization).toBeGreaterThan(0);
		for (const { count, p50Ms, p99Ms, maxMs } of [decode, tick]) {
			expect(count).toBeGreaterThan(0);
			expect(maxMs).toBeGreaterThan(0);
			expect(p50Ms).toBeLessThanOrEqual(p99Ms);
			expect(p99Ms).toBeLessThanOrEqual(maxMs * 1.01);
		}
		await until("a late timer is noted", async () => ((await rig.lanes.stats())[0]?.loopDelay.count ?? 0) > 0);
		expect(rig.lanes.history.decode).toEqual({ started: 1, crashes: 0, down: null });
	});

	it("is waited for no longer than a control call may take", async () => {
		const hung = sandbox.write(
			"hung-worker.mjs",
			`import { existsSync } from "node:fs";
			import run from ${JSON.stringify(DECODE_URL.href)};
			const hang = () => existsSync(${JSON.stringify(`${sandbox.path}/hang`)}) && Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
			export default (start) => (setInterval(hang, 5).unref(), run(start));`,
		);
		const lanes = new LanePool({
			workerUrls: { ...workerUrls(DECODE_URL.href), decode: new URL(`file://${hung}`) },
			socketDir: sandbox.path,
			log: () => {},
		});
		await lanes.acquire("decode");
		expect((await lanes.report())[0]?.stats).toMatchObject({ links: 0 });
		sandbox.write("hang", "");
		const report = await until("the lane is silent", async () => {
			const rows = await lanes.report();
			return rows[0]?.stats === null && rows;
		});
		expect(report).toEqual([{ kind: "decode", number: 1, links: 0, stats: null }]);
		await lanes.close();
		expect(lanes.threads.length).toBe(0);
	});

	it("is joined by what its kind has been through", async () => {
		await rig.crash(await threadIdOf(await rig.lanes.acquire("decode")));
		await until("the crash is noted", () => rig.lanes.history.decode.crashes === 1);
		await rig.lanes.acquire("decode");
		expect(rig.lanes.history.decode).toEqual({ started: 2, crashes: 1, down: null });
		expect(rig.lanes.history.audio.started).toBe(0);
	});
});

describe("the contract between main and a lane", () => {
	it("ends a lane of another contract version with bad-frame", async () => {
		const pool = new Piscina({ maxThreads: 1, atomics: "disabled" });
		const data = new MessageChannel();
		const control = new MessageChannel();
		const end: LaneEnd = await pool.run(
			{
				contractVersion: CONTRACT_VERSION + 1,
				kind: "decode",
				socketPath: `${sandbox.tempDir}/x.sock`,
				data: data.port2,
				control: control.port2,
			},
			{ filename: DECODE_URL.href, transferList: [data.port2, control.port2] },
		);
		await pool.destroy();
		for (const port of [data.port1, control.port1]) port.close();
		expect(end.ok).toBe(false);
		if (end.ok) return;
		expect(fromPlainError(end.error, "worker-crashed")).toMatchObject({
			code: "bad-frame",
			message: expect.stringContaining("Rebuild or reinstall pi-agy"),
		});
	});

	it("tells a stale worker's version to whoever wants a link", async () => {
		const stale = sandbox.write(
			"stale-worker.mjs",
			`import run from ${JSON.stringify(DECODE_URL.href)};
			export default (start) => run({ ...start, contractVersion: start.contractVersion + 1 });`,
		);
		const lanes = new LanePool({
			workerUrls: { ...workerUrls(import.meta.url), decode: new URL(`file://${stale}`) },
			socketDir: sandbox.path,
			log: () => {},
		});
		await expect(lanes.acquire("decode")).rejects.toThrow(/contract/);
		await lanes.close();
		expect(lanes.threads.length).toBe(0);
	});
});

describe("what passes a link", () => {
	it("includes a line of 8 MiB", async () => {
		const outputBytes = 8 * 1024 * 1024;
		const steps = [
			{ kind: "tool", name: "run_command", outputBytes },
			{ kind: "text", text: "Done.\n" },
		];
		const { heard } = await rig.ask("long line", { scenario: { turns: [{ steps }] } });
		await heard.done();
		const outputs = heard.events.flatMap((event) => (event.kind === "tool" ? (event.output?.length ?? []) : []));
		expect(outputs).toEqual([outputBytes]);
		expect(heard.text).toBe("Done.\n");
		await until("nothing is held any more", async () => (await rig.lanes.stats())[0]?.heldBytes === 0);
	});

	it("includes what agy says on stderr after it has closed stdout", async () => {
		const script =
			"#!/bin/sh\nread -r line\nexec 1>&-\nuntil [ -e gates/go ]; do sleep 0.1; done\necho 'error: late' >&2\n";
		const bin = sandbox.write("late-agy", script.replace("gates", `${sandbox.simHome}/gates`), 0o700);
		const { link, heard } = await rig.ask("anything", { bin });
		sandbox.openGate("go");
		await heard.over();
		expect(link.stderrTail).toContain("error: late");
	});

	it("includes what agy said before it was given its first prompt, even when it is gone by then", async () => {
		const script = "#!/bin/sh\necho 'error: no home' >&2\necho '<!DOCTYPE html>'\nexit 1\n";
		const link = await rig.open({ bin: sandbox.write("early-agy", script, 0o700) });
		await until("its process is gone", () => !childrenOf(process.pid).some((row) => row.pid === link.pid));
		await until("all of it is read", async () => (await rig.lanes.stats())[0]?.rejectedLines === 1);
		await rig.lanes.stats(); // A round trip later main has been told.
		const heard = submit(link, "too late");
		expect(await heard.over()).toEqual({ exit: { code: 1, signal: null }, laneError: null });
		expect(link.stderrTail).toContain("error: no home");
		expect(heard.rejected).toContain("<!DOCTYPE html>");
	});
});

describe("60 links opened and closed", () => {
	it("leave no thread, descriptor, child process or record", async () => {
		// Small and fast on purpose: what is counted here is what a link costs, not what agy does.
		const bin = sandbox.write(
			"quick-agy",
			[
				"#!/bin/sh",
				"read -r line",
				`echo '{"event":"result","result":{"status":"SUCCESS","response":"quick"}}'`,
				`[ "$AGY_SIM_SCENARIO" = leaves ] || read -r line`,
			].join("\n"),
			0o700,
		);
		const round = async (scenario: "leaves" | "stays") => {
			const { link, heard } = await rig.ask("quick", { bin, scenario });
			await heard.done();
			if (scenario === "leaves") await heard.over();
			rig.links.release(link);
			await link.closed;
		};
		// Most leave by themselves, because being closed takes a search through all processes.
		const batch = () => Promise.all([...Array.from({ length: 5 }, () => round("leaves")), round("stays")]);
		for (let warmUp = 0; warmUp < 2; warmUp++) await batch();
		const descriptors = () => readdirSync("/proc/self/fd").length;
		const before = { threads: rig.lanes.threads.length, descriptors: descriptors() };

		for (let count = 0; count < 10; count++) await batch();
		expect(rig.lanes.threads.length).toBe(before.threads);
		await until(
			() => `descriptors: ${descriptors()} after ${before.descriptors}`,
			() => descriptors() <= before.descriptors,
		);
		await untilReaped(process.pid);
		expect(childrenOf(process.pid).filter((row) => row.command.includes("quick-agy"))).toEqual([]);
		expect(rig.links.links).toEqual([]);
		expect(rig.registry.running).toEqual([]);
		await until("the lane has dropped every link", async () => {
			const [lane, ...others] = await rig.lanes.stats();
			return others.length === 0 && lane?.links === 0 && lane.heldBytes === 0;
		});
		expect(JSON.parse(sandbox.read("agent/pi-agy/processes.json")).processes).toEqual([]);
	}, 300_000);
});
