/**
 * One short agy command (`--version`, `--help`, `models`) from start to end: closed stdin, a time limit, a size limit, and a
 * record like every other process. Its few lines are read on the main thread. What it leaves running (agy updates itself
 * in the background) is agy's own, and not waited for.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { EOF_AFTER_EXIT_MS } from "../../shared/limits.ts";
import { identify } from "./proof.ts";
import type { ProcessRegistry } from "./registry.ts";

export type CommandSpec = {
	readonly bin: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly timeoutMs: number;
	readonly maxBytes: number;
	readonly signal?: AbortSignal;
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
			stdio: ["ignore", "pipe", "pipe"],
			detached: true,
			windowsHide: true,
		});
		const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
		let byteCount = 0;
		let isSettled = false;
		let exitTimer: NodeJS.Timeout | undefined;
		const recorded =
			child.pid === undefined
				? null
				: identify(child.pid).then((identity) => identity && registry.add(identity).then(() => identity));

		/** Whoever else holds the pipes is not waited for. */
		const settle = async (result: CommandResult) => {
			if (isSettled) return;
			isSettled = true;
			clearTimeout(timer);
			clearTimeout(exitTimer);
			spec.signal?.removeEventListener("abort", onAbort);
			child.stdout.destroy();
			child.stderr.destroy();
			const identity = await recorded;
			if (identity) await registry.remove(identity);
			resolve(result);
		};
		const fail = (reason: Extract<CommandResult, { ok: false }>["reason"], error: Error) => {
			if (isSettled) return;
			if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) killGroup(child, child.pid);
			void settle({ ok: false, reason, error });
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

function killGroup(child: ChildProcess, pid: number): void {
	try {
		process.kill(-pid, "SIGKILL"); // Our own group, and not reaped yet.
	} catch {
		child.kill("SIGKILL"); // No groups here (Windows), or it has just ended.
	}
}
