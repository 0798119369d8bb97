/**
 * One side of an audio case in a process of its own. Arguments: `lane` or `control`, `capture` or `hand-off`,
 * milliseconds of sound. The control reads the PCM on its main thread, takes the same levels there, and reads and encodes the file there.
 * Prints one line of JSON.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { workerUrls } from "../../src/main/hub.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { LanePool } from "../../src/main/lanes.ts";
import { ProcessRegistry } from "../../src/main/processes/registry.ts";
import { captureArguments } from "../../src/main/voice/ffmpeg-arguments.ts";
import { LevelMeter } from "../../src/workers/audio/levels.ts";
import { AudioProcess } from "../../tests/support/audio-process.ts";
import { ffmpegPath } from "../../tests/support/ffmpeg.ts";

export type AudioSideResult = {
	/** Of the main thread alone, as a share of a core, while sound comes. */
	readonly mainShare: number;
	readonly levels: number;
	/** The longest time for which main's event loop stood still, from the process's exit until main has the base64. */
	readonly blockMs: number;
	/** The CPU of the longest stretch without a turn of the loop: the same, less what other processes take. */
	readonly blockCpuMs: number;
	readonly base64Chars: number;
};

/** What runs in a recording is compiled by then. */
const WARM_UP_MS = 2_000;
const HEARTBEAT_MS = 1;

const [side = "", work = "", ms = "0"] = process.argv.slice(2);
const container = "ogg";
const folder = mkdtempSync(join(tmpdir(), "pi-agy-bench-"));
const path = join(folder, `recording.${container}`);
const isLive = work === "capture";
const length = isLive ? "" : `:duration=${Number(ms) / 1000}`;
const input = [...(isLive ? ["-re"] : []), "-f", "lavfi", "-i", `sine=frequency=440${length}`];
const args = captureArguments({ input, container, path, maxSeconds: 3_600 });
const result = await (side === "lane" ? measureLane() : measureControl());
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify(result)}\n`);

async function measureLane(): Promise<AudioSideResult> {
	const registry = new ProcessRegistry(new JsonStore(join(folder, "processes.json")), folder, () => {});
	const lanes = new LanePool({
		workerUrls: workerUrls(new URL("../../src/main/hub.ts", import.meta.url).href),
		socketDir: folder,
		log: () => {},
	});
	const audio = await AudioProcess.start(await lanes.acquire("audio"), registry, {
		link: 1,
		bin: ffmpegPath(),
		args,
		cwd: folder,
		subject: { kind: "capture", path, container },
	});
	const { mainShare, levels } = isLive ? await measureShare(() => audio.levels.length) : { mainShare: 0, levels: 0 };
	if (isLive) audio.interrupt();
	while (audio.exitedAtMs === 0) await delay(HEARTBEAT_MS);
	const stop = watchBlocks();
	while (audio.result === null) await delay(HEARTBEAT_MS);
	const { encoded } = audio.result;
	if (!encoded.ok) throw new Error(encoded.problem);
	await delay(HEARTBEAT_MS);
	const block = stop();
	await audio.over();
	await lanes.close();
	await registry.close();
	return { mainShare, levels, ...block, base64Chars: encoded.base64?.length ?? 0 };
}

async function measureControl(): Promise<AudioSideResult> {
	let levelCount = 0;
	const meter = new LevelMeter(() => levelCount++);
	const child = spawn(ffmpegPath(), [...args], { stdio: ["pipe", "pipe", "ignore"] });
	const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
	child.stdout.on("data", (chunk: Buffer) => meter.push(chunk));
	const { mainShare, levels } = isLive ? await measureShare(() => levelCount) : { mainShare: 0, levels: 0 };
	if (isLive) child.kill("SIGINT");
	await exited;
	const stop = watchBlocks();
	await delay(HEARTBEAT_MS);
	const { data } = JSON.parse(JSON.stringify({ data: readFileSync(path).toString("base64") })) as { data: string };
	await delay(HEARTBEAT_MS);
	return { mainShare, levels, ...stop(), base64Chars: data.length };
}

async function measureShare(countLevels: () => number): Promise<Pick<AudioSideResult, "mainShare" | "levels">> {
	while (countLevels() === 0) await delay(HEARTBEAT_MS);
	await delay(WARM_UP_MS);
	const levelsBefore = countLevels();
	const startMs = performance.now();
	const before = process.threadCpuUsage();
	await delay(Number(ms));
	const { user, system } = process.threadCpuUsage(before);
	return {
		mainShare: (user + system) / 1000 / (performance.now() - startMs),
		levels: countLevels() - levelsBefore,
	};
}

/** Watches a timer until it is stopped; answers the most by which it was late, and the most CPU between two of its turns. */
function watchBlocks(): () => { readonly blockMs: number; readonly blockCpuMs: number } {
	let lastMs = performance.now();
	let cpu = process.threadCpuUsage();
	let blockMs = 0;
	let blockCpuMs = 0;
	const look = () => {
		const nowMs = performance.now();
		const { user, system } = process.threadCpuUsage(cpu);
		blockMs = Math.max(blockMs, nowMs - lastMs - HEARTBEAT_MS);
		blockCpuMs = Math.max(blockCpuMs, (user + system) / 1000);
		lastMs = nowMs;
		cpu = process.threadCpuUsage();
	};
	const timer = setInterval(look, HEARTBEAT_MS);
	return () => {
		look();
		clearInterval(timer);
		return { blockMs, blockCpuMs };
	};
}
