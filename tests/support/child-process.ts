/** Real child processes for the tests of what watches and stops processes. All of them end with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach } from "vitest";
import { identify, type ProcessIdentity } from "../../src/main/processes/proof.ts";
import { until } from "./condition.ts";
import { isRunning, killQuietly } from "./process-table.ts";

export type Child = {
	readonly identity: ProcessIdentity;
	readonly pid: number;
	readonly process: ChildProcess;
	/** What it printed so far. */
	readonly printed: () => string;
	readonly exited: Promise<unknown>;
};

/** Starts programs that are killed after each test, with whatever pids they were said to have made. */
export class ChildNursery {
	readonly #children: Child[] = [];
	readonly #pids: number[] = [];

	constructor() {
		afterEach(async () => {
			for (const { pid } of this.#children) killQuietly(-pid);
			for (const pid of this.#pids) killQuietly(pid);
			for (const { pid } of this.#children) killQuietly(pid);
			await Promise.all(this.#children.map((child) => child.exited));
			await until("every child is gone", () => this.#pids.every((pid) => !isRunning(pid)));
			this.#children.length = 0;
			this.#pids.length = 0;
		});
	}

	/** Runs a shell script, by default in a process group of its own, and waits until it has printed `lines` lines. */
	async shell(script: string, options: { readonly detached?: boolean; readonly lines?: number } = {}): Promise<Child> {
		return this.run("/bin/sh", ["-c", script], options);
	}

	async run(
		file: string,
		args: readonly string[],
		options: { readonly detached?: boolean; readonly lines?: number } = {},
	): Promise<Child> {
		const child = spawn(file, args, { stdio: ["ignore", "pipe", "ignore"], detached: options.detached ?? true });
		let printed = "";
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			printed += text;
		});
		const exited = once(child, "exit");
		const pid = child.pid ?? 0;
		const identity = (await identify(pid)) ?? { pid, startTime: "" };
		const started = { identity, pid, process: child, printed: () => printed, exited };
		this.#children.push(started);
		const { lines = 0 } = options;
		await until(`${lines} lines of ${args.join(" ")}`, () => printed.split("\n").length > lines);
		return started;
	}

	/** A process that only waits. */
	sleeper(): Promise<Child> {
		return this.run("/bin/sleep", ["1000"]);
	}

	/** A process that others started; it ends with the test. */
	adopt(pid: number): void {
		this.#pids.push(pid);
	}

	/** Pids a child printed, one a line; they end with the test too. */
	pidsOf(child: Child): readonly number[] {
		const pids = child.printed().trim().split("\n").map(Number);
		this.#pids.push(...pids);
		return pids;
	}
}
