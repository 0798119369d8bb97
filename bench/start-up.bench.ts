/**
 * What the extension costs before anything is asked of it, and what a session costs that nothing is asked of any more: the
 * start of the real pi with and without it, and the memory of sessions whose agy is gone.
 */

import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { REPOSITORY, type Sandbox } from "../tests/support/sandbox.ts";
import { row, single } from "./support/comparison.ts";
import type { IdleResult } from "./support/idle-sessions.ts";
import { openPiHome } from "./support/pi-home.ts";
import type { PiSideName } from "./support/pi-sessions.ts";
import { spreadOf } from "./support/spread.ts";
import type { CaseResult, Suite } from "./support/suite.ts";

const PI = realpathSync(join(REPOSITORY, "node_modules", ".bin", "pi"));
const IDLE_SCRIPT = fileURLToPath(new URL("./support/idle-sessions.ts", import.meta.url));
const STARTS = { short: 5, full: 15 };
const IDLE_SESSIONS = { few: 1, many: 33 };
const TIMEOUT_MS = 120_000;
const MIB = 1024 * 1024;

const run = promisify(execFile);

export const startUpSuite: Suite = {
	name: "start-up",
	cases: [
		{ name: "list-models", run: measureListModels },
		{ name: "idle-sessions", run: measureIdleSessions },
	],
};

type Start = { readonly wallMs: number; readonly cpuMs: number };

/** `pi --list-models`, in turns with and without, so that both meet the same machine; compiled code is there already. */
async function measureListModels(isShort: boolean): Promise<CaseResult> {
	const home = openPiHome();
	const withOurs = ["-ne", "-e", REPOSITORY, "--list-models"];
	const without = ["-ne", "--list-models"];
	const ours: Start[] = [];
	const control: Start[] = [];
	await startPi(home, withOurs);
	await startPi(home, without);
	for (let start = 0; start < (isShort ? STARTS.short : STARTS.full); start++) {
		ours.push(await startPi(home, withOurs));
		control.push(await startPi(home, without));
	}
	await home.close();
	const wall = (starts: readonly Start[]) => spreadOf(starts.map(({ wallMs }) => wallMs));
	const cpu = (starts: readonly Start[]) => spreadOf(starts.map(({ cpuMs }) => cpuMs));
	return {
		rows: [
			row("wall time", "with it", "ms", wall(ours)),
			row("wall time", "without", "ms", wall(control)),
			row("CPU", "with it", "ms", cpu(ours)),
			row("CPU", "without", "ms", cpu(control)),
		],
		ratios: { "wall-p50": wall(ours).p50 / wall(control).p50, "cpu-p50": cpu(ours).p50 / cpu(control).p50 },
		notes: ["pi --list-models, warm"],
	};
}

/** Sessions that did a turn each and whose agy has ended, each side in a process of its own. */
async function measureIdleSessions(): Promise<CaseResult> {
	const ours = await runIdle("ours");
	const control = await runIdle("control");
	const added = IDLE_SESSIONS.many - IDLE_SESSIONS.few;
	const rss = ({ few, many }: IdleResult) => (many.rssBytes - few.rssBytes) / added / MIB;
	const heap = ({ few, many }: IdleResult) => (many.heapBytes - few.heapBytes) / added / MIB;
	return {
		rows: [
			row("memory a further session", "ours", "MiB", single(rss(ours))),
			row("memory a further session", "control", "MiB", single(rss(control))),
			row("heap of main a further session", "ours", "MiB", single(heap(ours))),
			row("heap of main a further session", "control", "MiB", single(heap(control))),
		],
		ratios: { "mib-a-session": rss(ours), "heap-to-control": heap(ours) / heap(control) },
		notes: [
			`from ${IDLE_SESSIONS.few} to ${IDLE_SESSIONS.many} sessions, one turn each, their agy ended; what pi itself keeps of a session is in both`,
		],
	};
}

/** CPU of pi and whatever it started: the shell's own account of its children. */
async function startPi(home: Sandbox, args: readonly string[]): Promise<Start> {
	const script = '"$@" > /dev/null; times';
	const startMs = performance.now();
	const { stdout } = await run("sh", ["-c", script, "sh", process.execPath, PI, ...args], {
		cwd: home.workspace,
		env: home.env,
		timeout: TIMEOUT_MS,
	});
	const wallMs = performance.now() - startMs;
	const [, children = ""] = stdout.trim().split("\n");
	const cpuMs = [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
		(sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000,
		0,
	);
	return { wallMs, cpuMs };
}

async function runIdle(side: PiSideName): Promise<IdleResult> {
	const { few, many } = IDLE_SESSIONS;
	const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", IDLE_SCRIPT, side, `${few}`, `${many}`];
	return JSON.parse((await run(process.execPath, args, { timeout: TIMEOUT_MS })).stdout);
}
