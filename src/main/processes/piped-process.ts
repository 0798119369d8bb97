/**
 * One process whose output a lane reads (agy, or a recorder), as main sees it: start, exit, stop. main is the parent, so it sees the exit and reaps it even when the
 * lane's thread has died, but no byte of the process crosses main: its three pipes are sockets connected to the lane
 * before the process exists, of which main closes its own ends unread (docs/decisions/0002).
 *
 * 1. Three sockets are connected to the lane, each introducing itself with a one-line preamble.
 * 2. The process is started on them in a process group of its own, recorded before anything else, main's ends closed.
 * 3. `stop` climbs the ladder: the first step asked for, then SIGTERM, then SIGKILL, on everything of its family that is
 *    proven to be still the same process.
 * 4. `exited` resolves when it has ended, `gone` when what outlived it was stopped too and its record is removed.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { EOF_GRACE_MS, INTERRUPT_GRACE_MS } from "../../shared/limits.ts";
import { settlesWithin } from "../deadline.ts";
import { familyOf, identify, type ProcessIdentity } from "./proof.ts";
import type { ProcessRegistry } from "./registry.ts";
import { endsBy, stopFamily, stopRest } from "./stop.ts";

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type ProcessStart = {
	readonly bin: string;
	readonly args: readonly string[];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	/** Where the lane listens, and the secret that names the link there. */
	readonly socketPath: string;
	readonly token: string;
};

export class PipedProcess {
	readonly identity: ProcessIdentity;
	readonly exited: Promise<Exit>;
	readonly gone: Promise<void>;
	readonly #child: ChildProcess;
	#isRunning = true;
	#stopping: Promise<void> | null = null;

	private constructor(child: ChildProcess, identity: ProcessIdentity, exit: Promise<Exit>, registry: ProcessRegistry) {
		this.#child = child;
		this.identity = identity;
		this.exited = exit;
		this.gone = exit.then(async () => {
			this.#isRunning = false;
			try {
				await Promise.all([
					this.#stopping,
					groupExists(identity.pid) ? stopFamily(await familyOf(identity.pid)) : null,
				]);
			} catch (error) {
				registry.report(error); // What it left may run on: it stays on record, for the guardian and the next sweep.
				return;
			}
			await registry.remove(identity);
		});
	}

	/** Starts it. Rejects with what the system says about the program, or why the lane refuses; nothing is left running then. */
	static async start(start: ProcessStart, registry: ProcessRegistry): Promise<PipedProcess> {
		const pipes = await connectPipes(start);
		let child: ChildProcess;
		try {
			child = spawn(start.bin, start.args, {
				cwd: start.cwd,
				env: { ...start.env },
				stdio: [...pipes],
				detached: true,
				windowsHide: true,
			});
		} catch (error) {
			for (const pipe of pipes) pipe.destroy();
			throw error;
		}
		const exit = new Promise<Exit>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
		const failure = new Promise<Error>((resolve) => child.once("error", resolve));
		for (const pipe of pipes) pipe.destroy();
		if (child.pid === undefined) throw await failure;
		// Ended before its start time could be read: it is a zombie until its exit is delivered, so the pid is still its own.
		const identity = (await identify(child.pid).catch((error: unknown) => {
			child.kill("SIGKILL"); // Nobody could stop it later. It is our own and not reaped.
			throw error;
		})) ?? { pid: child.pid, startTime: "" };
		const process = new PipedProcess(child, identity, exit, registry);
		await registry.add(identity);
		return process;
	}

	/** Asks it to stop what it does. False when the process has ended. */
	interrupt(): boolean {
		return this.#isRunning && this.#child.kill("SIGINT");
	}

	/**
	 * Ends the process. `eof` expects its stdin to have been closed; `interrupt` sends SIGINT to it, `interrupt-all` to its
	 * whole family, as Ctrl-C does to a pipeline: each program of it finishes what it writes. Never rejects. Can be called
	 * again.
	 */
	stop(first: "eof" | "interrupt" | "interrupt-all"): Promise<void> {
		this.#stopping ??= this.#climb(first);
		this.#stopping.catch(() => {}); // `gone` reports it.
		return this.gone;
	}

	async #climb(first: "eof" | "interrupt" | "interrupt-all"): Promise<void> {
		try {
			const family = await familyOf(this.identity.pid); // Before the signal: what it leaves behind is no kin of it any more.
			if (first === "interrupt-all" && family.length > 0) {
				if (!(await endsBy("SIGINT", family, INTERRUPT_GRACE_MS))) await stopFamily(family);
				await stopRest(this.identity);
				return;
			}
			if (first !== "eof") this.interrupt();
			const isOver = await settlesWithin(this.exited, first === "eof" ? EOF_GRACE_MS : INTERRUPT_GRACE_MS);
			// With it gone only the commands are left that it put into groups of their own.
			if (isOver) await stopFamily(family);
			else await stopFamily(await familyOf(this.identity.pid));
		} catch (error) {
			if (this.#isRunning) this.#child.kill("SIGKILL"); // Its family cannot be seen; itself is our own and not reaped.
			throw error;
		}
	}
}

function groupExists(groupId: number): boolean {
	if (process.platform === "win32") return false;
	try {
		process.kill(-groupId, 0);
		return true;
	} catch {
		return false; // ESRCH: the whole group is gone, as it should be.
	}
}

async function connectPipes(start: ProcessStart): Promise<readonly [Socket, Socket, Socket]> {
	const pipes = [new Socket(), new Socket(), new Socket()] as const;
	try {
		await Promise.all([
			connectPipe(pipes[0], start, "stdin"),
			connectPipe(pipes[1], start, "stdout"),
			connectPipe(pipes[2], start, "stderr"),
		]);
		return pipes;
	} catch (error) {
		for (const pipe of pipes) pipe.destroy();
		throw new Error(`the lane does not accept its pipes (${String(error)})`, { cause: error });
	}
}

function connectPipe(socket: Socket, start: ProcessStart, name: "stdin" | "stdout" | "stderr"): Promise<void> {
	return new Promise((resolve, reject) => {
		socket.once("error", reject);
		socket.pause(); // Before connecting, so that not a byte is read here: they are the child's.
		socket.connect(start.socketPath, () => {
			socket.write(`${start.token} ${name}\n`, (error) => (error ? reject(error) : resolve()));
		});
	});
}
