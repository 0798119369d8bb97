/**
 * A conversation database -> events. The control does what older bridges do: every 250 ms it selects all rows and decodes
 * the whole row that grows, on the thread that uses it.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ConversationDb } from "../src/workers/poll/conversation-db.ts";
import { StepTail } from "../src/workers/poll/tail.ts";
import { ConversationWriter } from "./support/conversation-writer.ts";
import { type MicroResult, measureTasks } from "./support/micro.ts";
import { mainCpuPerEvent, runSide } from "./support/run-side.ts";
import type { Spread } from "./support/spread.ts";
import { bufbuildReader, readOurs, readWithPbf, stepPayload } from "./support/step-readers.ts";
import type { CaseResult, Row, Suite } from "./support/suite.ts";
import { WholeRowReader } from "./support/whole-row-reader.ts";

const PIECE = "all work and no play makes jack a dull boy, he said.\n".repeat(20).slice(0, 1_024);
const ANSWER_BYTES = 1024 * 1024;
const IDLE_DATABASES = 200;
const IDLE_SCRIPT = fileURLToPath(new URL("./support/idle-databases.ts", import.meta.url));
const SMALL_COMMITS = 3_000;
/** Few runs with pauses between their commits: what a commit waits for. */
const SPARSE = { links: 8, eventsPerSecond: 2 };
/** Many runs at the rate of a model's tokens: what main pays. */
const DENSE = { links: 16, eventsPerSecond: 10 };
/** The processes of all runs are up by then. */
const LIVE_WARM_UP_MS = 6_000;

export const pollSuite: Suite = {
	name: "poll",
	cases: [
		{ name: "protobuf", run: measureProtobuf },
		{ name: "idle-tick", run: measureIdleTick },
		{ name: "growing-answer", run: () => inFolder(measureGrowth) },
		{ name: "idle-databases", run: (isShort) => inFolder((folder) => measureIdleDatabases(folder, isShort)) },
		{ name: "wal", run: () => inFolder(measureWal) },
		{ name: "sparse", run: (isShort) => measureLive(SPARSE, isShort) },
		{ name: "dense", run: (isShort) => measureLive(DENSE, isShort) },
	],
};

/** The same fields out of the same payloads, from one line of text to a long answer. */
async function measureProtobuf(isShort: boolean): Promise<CaseResult> {
	const payloads = [60, 60, 60, 60, 1_000, 1_000, 20_000].map((length) =>
		stepPayload(PIECE.repeat(Math.ceil(length / PIECE.length)).slice(0, length)),
	);
	const readers = [readOurs, readWithPbf, bufbuildReader()];
	for (const payload of payloads) {
		const [ours, ...others] = readers.map((read) => JSON.stringify(read(payload)));
		if (others.some((other) => other !== ours)) throw new Error(`the readers differ: ${ours} and ${others}`);
	}
	const [ours, pbf, bufbuild] = await measureTasks(
		readers.map((read, index) => ({
			name: `reader-${index}`,
			run: () => {
				for (const payload of payloads) read(payload);
			},
		})),
		isShort,
	);
	if (!ours || !pbf || !bufbuild) throw new Error("tinybench lost a task");
	const toRow = (side: string, { tickMs: { p50, p75, p99, samples } }: MicroResult): Row => ({
		measure: `${payloads.length} payloads`,
		side,
		unit: "us",
		spread: { p50: p50 * 1000, p75: p75 * 1000, p99: p99 * 1000, samples },
	});
	return {
		rows: [toRow("ours", ours), toRow("pbf", pbf), toRow("bufbuild", bufbuild)],
		ratios: {
			"speed-to-pbf": pbf.tickMs.p50 / ours.tickMs.p50,
			"speed-to-bufbuild": bufbuild.tickMs.p50 / ours.tickMs.p50,
		},
		notes: ["status, text, thinking and usage of a model's step; @bufbuild/protobuf reads by descriptors"],
	};
}

/** A look at a database in which nothing was committed. */
function measureIdleTick(isShort: boolean): Promise<CaseResult> {
	return inFolder(async (folder) => {
		const writer = new ConversationWriter(folder, "go");
		writer.beginAnswer();
		writer.grow(PIECE.repeat(16), true);
		const db = openDb(writer.path);
		const tail = new StepTail();
		tail.take(db.readChanged(0));
		const selectsBefore = db.selects;
		const control = new WholeRowReader(writer.path);
		const [ours, theirs] = await measureTasks(
			[
				{ name: "gated", run: () => db.readChanged(0) },
				{ name: "control", run: () => control.look() },
			],
			isShort,
		);
		if (!ours || !theirs) throw new Error("tinybench lost a task");
		const selects = db.selects - selectsBefore;
		db.close();
		control.close();
		writer.close();
		const us = ({ p50, p75, p99, samples }: Spread) => ({ p50: p50 * 1000, p75: p75 * 1000, p99: p99 * 1000, samples });
		return {
			rows: [
				{ measure: "look", side: "gated", unit: "us", spread: us(ours.tickMs) },
				{ measure: "look", side: "control", unit: "us", spread: us(theirs.tickMs) },
			],
			ratios: { speed: theirs.tickMs.p50 / ours.tickMs.p50, "row-selects": selects },
			notes: [`${ours.tickMs.samples} looks, ${selects} row SELECTs (target: below 10 us, 0)`],
		};
	});
}

/** An answer of 1 MB that grows by 1 KB a commit, each looked at. */
async function measureGrowth(folder: string): Promise<CaseResult> {
	const writer = new ConversationWriter(folder, "go");
	writer.beginAnswer();
	const db = openDb(writer.path);
	const tail = new StepTail();
	const control = new WholeRowReader(writer.path);
	const cpuUs = { ours: 0, control: 0 };
	let ours = "";
	let theirs = "";
	for (let size = 0; size < ANSWER_BYTES; size += PIECE.length) {
		writer.grow(PIECE, size + PIECE.length >= ANSWER_BYTES);
		const rows = db.readChanged(0); // The read of the blob is the same for both; what follows is not.
		cpuUs.ours += cpuOf(() => {
			for (const event of tail.take(rows)) if (event.kind === "text") ours += event.text;
		});
		const payloads = control.select();
		cpuUs.control += cpuOf(() => {
			theirs += control.decode(payloads);
		});
	}
	for (const event of tail.close()) if (event.kind === "text") ours += event.text;
	if (ours !== theirs || ours.length !== ANSWER_BYTES)
		throw new Error(`the sides differ: ${ours.length} and ${theirs.length}`);
	db.close();
	control.close();
	writer.close();
	return {
		rows: [
			single("decode, whole answer", "tail", "ms", cpuUs.ours / 1000),
			single("decode, whole answer", "control", "ms", cpuUs.control / 1000),
		],
		ratios: { "decode-cpu": cpuUs.control / cpuUs.ours },
		notes: [`${ANSWER_BYTES / PIECE.length} commits of 1 KB; both sides read the same ${ours.length} bytes`],
	};
}

/** Sessions that wait: what their databases cost the lane. */
async function measureIdleDatabases(folder: string, isShort: boolean): Promise<CaseResult> {
	const args = [IDLE_SCRIPT, folder, `${IDLE_DATABASES}`, isShort ? "2000" : "6000"];
	const { stdout } = await promisify(execFile)(process.execPath, ["--disable-warning=ExperimentalWarning", ...args]);
	const share = Number(stdout);
	return {
		rows: [single("share of a core", "lane", "%", share * 100)],
		ratios: { "core-share": share },
		notes: [`${IDLE_DATABASES} open databases, looked at every 250 ms (target: below 2 %)`],
	};
}

/** Whether being read keeps agy's WAL from being checkpointed. */
async function measureWal(folder: string): Promise<CaseResult> {
	const attached = walAfterCommits(folder, true);
	const alone = walAfterCommits(folder, false);
	return {
		rows: [single("WAL", "attached", "KiB", attached / 1024), single("WAL", "alone", "KiB", alone / 1024)],
		ratios: { "wal-growth": attached / alone },
		notes: [`${SMALL_COMMITS} commits`],
	};
}

/** Runs that write while they are followed, from the commit to main, against looks of the main thread. */
async function measureLive(load: typeof SPARSE, isShort: boolean): Promise<CaseResult> {
	const windows = [{ ms: isShort ? 4_000 : 10_000, watchDelay: false }];
	const plan = { ...load, floodMs: 0, warmupMs: LIVE_WARM_UP_MS, windows };
	const [poll] = (await runSide({ ...plan, side: "poll" })).windows;
	const [control] = (await runSide({ ...plan, side: "poll-control" })).windows;
	if (!poll || !control) throw new Error("a side did not measure its window");
	return {
		rows: [
			{ measure: "commit to emit", side: "poll", unit: "ms", spread: poll.latencyMs },
			{ measure: "commit to emit", side: "control", unit: "ms", spread: control.latencyMs },
			single("main CPU an event", "poll", "us", mainCpuPerEvent(poll)),
			single("main CPU an event", "control", "us", mainCpuPerEvent(control)),
		],
		ratios: {
			"latency-p50": control.latencyMs.p50 / poll.latencyMs.p50,
			"main-cpu-per-event": mainCpuPerEvent(control) / mainCpuPerEvent(poll),
		},
		notes: [
			`${load.links} runs x ${load.eventsPerSecond} commits/s to an answer of 64 KB; each side delivered what was written`,
		],
	};
}

function walAfterCommits(folder: string, isRead: boolean): number {
	const writer = new ConversationWriter(folder, "go");
	const db = isRead ? openDb(writer.path) : null;
	for (let commit = 0; commit < SMALL_COMMITS; commit++) {
		writer.addRow(90, 3, [103, new Uint8Array(64)]);
		db?.readChanged(0);
	}
	const { size } = statSync(`${writer.path}-wal`);
	db?.close();
	writer.close();
	return size;
}

function openDb(path: string): ConversationDb {
	const db = ConversationDb.open(path, true);
	if (!(db instanceof ConversationDb)) throw new Error(`${path} cannot be opened: ${db.message}`);
	return db;
}

function cpuOf(work: () => void): number {
	const before = process.threadCpuUsage();
	work();
	const { user, system } = process.threadCpuUsage(before);
	return user + system;
}

function single(measure: string, side: string, unit: string, value: number): Row {
	return { measure, side, unit, spread: { p50: value, p75: value, p99: value, samples: 1 } };
}

async function inFolder(work: (folder: string) => Promise<CaseResult>): Promise<CaseResult> {
	const folder = mkdtempSync(join(tmpdir(), "pi-agy-bench-"));
	try {
		return await work(folder);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
