/** What is left when every session of a process is closed: the answer has to be nothing. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/condition.ts";
import { childrenOf, guardiansOf, threadCount } from "../support/process-table.ts";
import type { Sandbox } from "../support/sandbox.ts";
import { hubs } from "../support/sdk-session.ts";

const DEADLINE_MS = 20_000;

/** What this process holds, by kind. */
export type Holdings = {
	readonly threads: number;
	readonly descriptors: ReadonlyMap<string, number>;
	readonly resources: ReadonlyMap<string, number>;
};

export function takeHoldings(): Holdings {
	return {
		threads: threadCount(process.pid),
		descriptors: countBy(descriptorTargets().map((target) => target.replace(/\d+/g, "N"))),
		resources: countBy(process.getActiveResourcesInfo()),
	};
}

type Check = { readonly name: string; readonly problem: () => string };

/** Each invariant with what is wrong; "" for nothing. Waits, because what ends by itself may take a moment. */
export async function findLeftovers(
	sandbox: Sandbox,
	before: Holdings,
): Promise<readonly { readonly name: string; readonly problem: string }[]> {
	const checks: readonly Check[] = [
		{ name: "no hub is left", problem: () => listed(hubs().map((hub) => `${hub.links.links.length} links`)) },
		{
			name: "no process of agy's is left",
			problem: () => listed(sandbox.agyProcesses().map((row) => `${row.pid}: ${row.command.slice(0, 100)}`)),
		},
		{ name: "no guardian is left", problem: () => listed(guardiansOf(process.pid)) },
		{
			name: "no child and no zombie is left",
			problem: () =>
				listed(
					childrenOf(process.pid).map((row) => `${row.pid} ${row.isZombie ? "zombie" : row.command.slice(0, 100)}`),
				),
		},
		{ name: "no thread is left", problem: () => more(threadCount(process.pid), before.threads) },
		{
			name: "no descriptor, port or socket is left",
			problem: () => grown(before.descriptors, takeHoldings().descriptors),
		},
		{ name: "no timer or handle is left", problem: () => grown(before.resources, takeHoldings().resources) },
		{ name: "no temporary file is left", problem: () => listed(sandbox.leftInTemp()) },
		...dataChecks(sandbox),
	];
	await until("nothing left", () => checks.every(({ problem }) => problem() === ""), DEADLINE_MS).catch(() => {}); // Told one by one.
	return checks.map(({ name, problem }) => ({ name, problem: problem() }));
}

/** What lies in pi-agy's and in agy's own folders. */
export function dataChecks(sandbox: Sandbox): readonly Check[] {
	const data = join(sandbox.agentDir, "pi-agy");
	const config = join(sandbox.simHome, "config");
	const spilled = () => list(join(data, "spill"));
	const bridges = () => list(join(data, "bridge"));
	const names = () => [data, join(data, "locks"), config].flatMap(list);
	const locks = () => names().filter((name) => /\.(lock|takeover)$/.test(name));
	const drafts = () => names().filter((name) => name.endsWith(".tmp"));
	const agents = () => list(join(config, "agents")).filter((name) => name.startsWith("pi-agy-"));
	const servers = () => text(join(config, "mcp_config.json")).match(/"pi_\w+"/g) ?? [];
	const processes = () => recorded(join(data, "processes.json"), "processes");
	return [
		{ name: "no spill folder is left", problem: () => listed(spilled()) },
		{ name: "no bridge folder is left", problem: () => listed(bridges()) },
		{ name: "no lock is left", problem: () => listed(locks()) },
		{ name: "no draft is left", problem: () => listed(drafts()) },
		{ name: "no agent file is left", problem: () => listed(agents()) },
		{ name: "no server of ours is registered", problem: () => listed(servers()) },
		{ name: "no process is on record", problem: () => listed(processes()) },
		{ name: "state files are whole", problem: () => damagedState(data) },
	];
}

/** Files of pi's sessions that do not parse. */
export function damagedSessions(sandbox: Sandbox): readonly string[] {
	const names = readdirSync(sandbox.sessionDir, { recursive: true, encoding: "utf8" }).filter((name) =>
		name.endsWith(".jsonl"),
	);
	return names.flatMap((name) => {
		const lines = readFileSync(join(sandbox.sessionDir, name), "utf8").split("\n").slice(0, -1);
		return lines.flatMap((line, index) => (isJson(line) ? [] : `${name}, line ${index + 1}: ${line.slice(0, 80)}`));
	});
}

function damagedState(folder: string): string {
	const names = list(folder);
	const damaged = names.filter((name) => name.includes(".damaged-"));
	const broken = names.filter((name) => name.endsWith(".json") && !isJson(text(join(folder, name))));
	return listed([...damaged, ...broken]);
}

function isJson(source: string): boolean {
	try {
		JSON.parse(source);
		return true;
	} catch {
		return false; // That is the answer.
	}
}

function recorded(path: string, field: string): readonly string[] {
	const source = text(path);
	const value = source === "" ? [] : ((JSON.parse(source) as Record<string, unknown>)[field] ?? []);
	return Object.values(value as object).map((entry) => JSON.stringify(entry));
}

function descriptorTargets(): readonly string[] {
	return readdirSync("/proc/self/fd").flatMap((name) => {
		try {
			return readlinkSync(`/proc/self/fd/${name}`);
		} catch {
			return []; // The one that reads the folder.
		}
	});
}

function countBy(names: readonly string[]): Map<string, number> {
	const counts = new Map<string, number>();
	for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
	return counts;
}

function grown(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): string {
	return listed(
		[...now].flatMap(([name, count]) =>
			count > (before.get(name) ?? 0) ? `${name}: ${count} after ${before.get(name) ?? 0}` : [],
		),
	);
}

function more(now: number, before: number): string {
	return now > before ? `${now} after ${before}` : "";
}

function listed(things: readonly (string | number)[]): string {
	return things.length === 0 ? "" : `${things.length}: ${things.slice(0, 5).join("; ").slice(0, 600)}`;
}

function list(folder: string): readonly string[] {
	try {
		return readdirSync(folder);
	} catch {
		return []; // Never made.
	}
}

function text(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return ""; // Never made.
	}
}
