/**
 * One short agy command (`--version`, `models`) from start to end: closed stdin, a time limit, a size limit, and a record
 * like every other process. Its few lines are read on the main thread.
 */

import { spawn } from "node:child_process";
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
		let failure: Extract<CommandResult, { ok: false }> | null = null;
		const recorded =
			child.pid === undefined
				? null
				: identify(child.pid).then((identity) => identity && registry.add(identity).then(() => identity));

		const fail = (reason: Extract<CommandResult, { ok: false }>["reason"], error: Error) => {
			failure ??= { ok: false, reason, error };
			if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
			try {
				process.kill(-child.pid, "SIGKILL"); // Our own group, and not reaped yet.
			} catch {
				child.kill("SIGKILL"); // No groups here (Windows), or it has just ended.
			}
		};
		const timer = setTimeout(
			() => fail("timeout", new Error(`no answer within ${spec.timeoutMs / 1000} s`)),
			spec.timeoutMs,
		);
		const onAbort = () => fail("cancelled", new Error("cancelled"));
		spec.signal?.addEventListener("abort", onAbort, { once: true });
		if (spec.signal?.aborted) onAbort();

		for (const name of ["stdout", "stderr"] as const) {
			child[name].on("data", (chunk: Buffer) => {
				byteCount += chunk.length;
				if (byteCount > spec.maxBytes) fail("too-much-output", new Error(`more than ${spec.maxBytes} bytes of output`));
				else chunks[name].push(chunk);
			});
		}

		const finish = async (result: CommandResult) => {
			clearTimeout(timer);
			spec.signal?.removeEventListener("abort", onAbort);
			const identity = await recorded;
			if (identity) await registry.remove(identity);
			resolve(result);
		};
		child.once("error", (error) => void finish({ ok: false, reason: "spawn-failed", error }));
		child.once("close", (code) => {
			const text = (name: "stdout" | "stderr") => Buffer.concat(chunks[name]).toString("utf8");
			void finish(failure ?? { ok: true, code, stdout: text("stdout"), stderr: text("stderr") });
		});
	});
}
