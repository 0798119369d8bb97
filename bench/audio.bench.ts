/**
 * A recording: what it costs main while it runs, and how long its end keeps main from drawing. The control does without a
 * thread what the lane does: levels from the PCM, then the file, base64 and JSON. Each side has a process of its own.
 */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { AudioSideResult } from "./support/audio-side.ts";
import type { CaseResult, Row, Suite } from "./support/suite.ts";

const SIDE = fileURLToPath(new URL("./support/audio-side.ts", import.meta.url));
const SIDE_TIMEOUT_MS = 180_000;
const HAND_OFF_MS = 5 * 60_000;

export const audioSuite: Suite = {
	name: "audio",
	cases: [
		{ name: "capture", run: measureCapture },
		{ name: "hand-off", run: measureHandOff },
	],
};

/** Both at the same time, so that they meet the same machine. */
async function measureCapture(isShort: boolean): Promise<CaseResult> {
	const ms = isShort ? 5_000 : 60_000;
	const [lane, control] = await Promise.all([runSide("lane", "capture", ms), runSide("control", "capture", ms)]);
	return {
		rows: [
			single("main CPU", "lane", "% of a core", lane.mainShare * 100),
			single("main CPU", "control", "% of a core", control.mainShare * 100),
		],
		ratios: { "main-share": lane.mainShare, "main-cpu": control.mainShare / lane.mainShare },
		notes: [`${ms / 1000} s of sound in real time; ${lane.levels} levels, ${control.levels} in the control`],
	};
}

async function measureHandOff(): Promise<CaseResult> {
	const lane = await runSide("lane", "hand-off", HAND_OFF_MS);
	const control = await runSide("control", "hand-off", HAND_OFF_MS);
	if (lane.base64Chars !== control.base64Chars) throw new Error("the sides handed over different files");
	return {
		rows: [
			single("longest block of main", "lane", "ms", lane.blockMs),
			single("longest block of main", "control", "ms", control.blockMs),
			single("its CPU", "lane", "ms", lane.blockCpuMs),
			single("its CPU", "control", "ms", control.blockCpuMs),
		],
		ratios: { "block-cpu": control.blockCpuMs / lane.blockCpuMs },
		notes: [`${(lane.base64Chars / 1024 / 1024).toFixed(1)} MiB of base64, from the process's exit until main has it`],
	};
}

async function runSide(side: "lane" | "control", work: string, ms: number): Promise<AudioSideResult> {
	const args = ["--disable-warning=ExperimentalWarning", SIDE, side, work, `${ms}`];
	const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: SIDE_TIMEOUT_MS });
	return JSON.parse(stdout);
}

function single(measure: string, side: string, unit: string, value: number): Row {
	return { measure, side, unit, spread: { p50: value, p75: value, p99: value, samples: 1 } };
}
