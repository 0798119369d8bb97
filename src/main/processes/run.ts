/**
 * One short command (agy's `--version`, `--help`, `models`; a program of the user's for voice) from start to end: a closed
 * stdin or one text in it, a time limit, a size limit, and a record like every other process. Its few lines are read on the
 * main thread. What it leaves running (agy updates itself in the background) is its own, and not waited for.
 */

import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { EOF_AFTER_EXIT_MS, TERM_GRACE_MS } from "../../shared/limits.ts";
import { settlesWithin } from "../deadline.ts";
import { familyOf, identify, isAlive, isSame, type ProcessIdentity } from "./proof.ts";
import type { ProcessRegistry } from "./registry.ts";
import { stopFamily } from "./stop.ts";

export type CommandSpec = {
	readonly bin: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly timeoutMs: number;
	readonly maxBytes: number;
	readonly signal?: AbortSignal;
	/** Default: pi's own. */
	readonly cwd?: string;
	/** Written to its stdin, which is closed behind it. Default: stdin is at its end from the start. */
	readonly input?: string;
	/** How it is cut short: killed at once, or told to end (SIGTERM) and killed when it does not. Default: kill. */
	readonly cut?: "kill" | "stop";
};

export type CommandResult =
	| { readonly ok: true; readonly code: number | null; readonly stdout: string; readonly stderr: string }
	| {
			readonly ok: false;
			readonly reason: "timeout" | "too-much-output" | "cancelled" | "spawn-failed";
			readonly error: Error;
	  };

export function runCommand(spec: CommandSpec, registry: ProcessRegistry): Promise<CommandResult> {
	return new Promise((resolve) => {
		const child = spawn(spec.bin, spec.args, {
			env: { ...spec.env },
			...(spec.cwd !== undefined && { cwd: spec.cwd }),
			stdio: [spec.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
			detached: true,
			windowsHide: true,
		}) as ChildProcessByStdio<Writable | null, Readable, Readable>;
		child.stdin?.on("error", () => {}); // It may end, or close its stdin, without reading all: how it ends says more.
		child.stdin?.end(spec.input);
		const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
		let byteCount = 0;
		let isSettled = false;
		let exitTimer: NodeJS.Timeout | undefined;
		// What cannot be looked at is not proven: only our own unreaped child is signalled then.
		const identified = child.pid === undefined ? null : identify(child.pid).catch(() => null);
		const recorded = identified?.then((identity) => identity && registry.add(identity).then(() => identity));

		/** Whoever else holds the pipes is not waited for. */
		const settle = async (result: CommandResult, hasEnded?: Promise<void>) => {
			if (isSettled) return;
			isSettled = true;
			clearTimeout(timer);
			clearTimeout(exitTimer);
			spec.signal?.removeEventListener("abort", onAbort);
			await hasEnded; // With its output open: a last word into a closed pipe would kill it before it has cleaned up.
			child.stdin?.destroy();
			child.stdout.destroy();
			child.stderr.destroy();
			const identity = await recorded;
			if (identity) await registry.remove(identity);
			resolve(result);
		};
		const fail = (reason: Extract<CommandResult, { ok: false }>["reason"], error: Error) => {
			if (isSettled) return;
			const pid = child.exitCode === null && child.signalCode === null ? child.pid : undefined;
			if (pid !== undefined && spec.cut !== "stop") killGroup(child, pid);
			void settle(
				{ ok: false, reason, error },
				pid !== undefined && spec.cut === "stop" ? stop(child, identified) : undefined,
			);
		};
		const succeed = (code: number | null) => {
			const text = (name: "stdout" | "stderr") => Buffer.concat(chunks[name]).toString("utf8");
			void settle({ ok: true, code, stdout: text("stdout"), stderr: text("stderr") });
		};
		const onAbort = () => fail("cancelled", new Error("cancelled"));
		const timer = setTimeout(
			() => fail("timeout", new Error(`no answer within ${spec.timeoutMs / 1000} s`)),
			spec.timeoutMs,
		);

		for (const name of ["stdout", "stderr"] as const) {
			child[name].on("data", (chunk: Buffer) => {
				byteCount += chunk.length;
				if (byteCount > spec.maxBytes) fail("too-much-output", new Error(`more than ${spec.maxBytes} bytes of output`));
				else chunks[name].push(chunk);
			});
		}
		child.once("error", (error) => fail("spawn-failed", error));
		child.once("exit", (code) => {
			clearTimeout(timer); // It has answered; what it printed arrives within moments.
			exitTimer = setTimeout(() => succeed(code), EOF_AFTER_EXIT_MS);
		});
		child.once("close", succeed);
		spec.signal?.addEventListener("abort", onAbort, { once: true });
		if (spec.signal?.aborted) onAbort();
	});
}

/** Resolves when it is reaped, or will not be for reasons of the system's. */
async function stop(child: ChildProcess, identified: Promise<ProcessIdentity | null> | null): Promise<void> {
	const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
	const exit = once(child, "exit").catch(() => {}); // A kill that failed: waited for no longer than the limit.
	const identity = await identified;
	const family =
		identity && (await isAlive(identity).catch(() => false)) ? await familyOf(identity.pid).catch(() => []) : [];
	if (identity && family.length > 0) {
		await stopFamily(family);
		// What it started since the list was made is in its group; another process with its id would be somebody else's.
		const left = await familyOf(identity.pid).catch(() => []);
		if (left.every((member) => member.pid !== identity.pid || isSame(member, identity))) await stopFamily(left);
	} else if (child.pid !== undefined && !hasEnded()) {
		killGroup(child, child.pid); // Nothing can be proven (Windows), but it is our own child.
	}
	if (!hasEnded()) await settlesWithin(exit, TERM_GRACE_MS);
}

function killGroup(child: ChildProcess, pid: number): void {
	try {
		process.kill(-pid, "SIGKILL"); // Our own group, and not reaped yet.
	} catch {
		child.kill("SIGKILL"); // No groups here (Windows), or it has just ended.
	}
}
