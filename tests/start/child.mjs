// Runs one child in the foreground and ends as it ended: signals for us reach the child, its exit code and signal
// become ours. A terminal sends Ctrl-C and hang-up to the whole process group by itself; passing those on too would
// deliver them twice, and pi and vitest both read a second one as "at once, without clean-up".
// A SIGTERM for npm ends the shell between npm and us without reaching us; we notice that our parent is gone.

import { spawn } from "node:child_process";
import { isatty } from "node:tty";

const FORWARDED = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
const SENT_BY_TERMINAL = new Set(["SIGINT", "SIGHUP"]);
const MAX_OUTPUT_BYTES = 256 * 1024;
const PARENT_CHECK_INTERVAL_MS = 200;
/** pi ends at once on a second SIGTERM, even when its shutdown hangs; with the parent gone nobody else would send it. */
const SECOND_TERM_AFTER_MS = 5_000;

/**
 * @typedef {object} ChildEnd
 * @property {number | null} code
 * @property {NodeJS.Signals | null} signal
 * @property {string} output the end of stdout and stderr together; empty unless captured
 */

/**
 * Resolves when the child has ended; rejects only when it could not be started.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {object} options
 * @param {string} options.cwd
 * @param {NodeJS.ProcessEnv} options.env
 * @param {boolean} [options.capture] collect the output instead of showing it; default false
 * @param {(pid: number) => void} [options.onStart]
 * @returns {Promise<ChildEnd>}
 */
export function runChild(command, args, { cwd, env, capture = false, onStart }) {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, { cwd, env, stdio: capture ? ["ignore", "pipe", "pipe"] : "inherit" });
		let output = Buffer.alloc(0);
		for (const stream of [child.stdout, child.stderr]) {
			stream?.on("data", (chunk) => {
				output = Buffer.concat([output, chunk]).subarray(-MAX_OUTPUT_BYTES);
			});
		}
		/** @param {NodeJS.Signals} signal */
		const forward = (signal) => {
			if (isatty(0) && SENT_BY_TERMINAL.has(signal)) return;
			child.kill(signal);
		};
		for (const signal of FORWARDED) process.on(signal, forward);
		const stopWatching = watchParent(() => child.kill("SIGTERM"));
		const stopForwarding = () => {
			stopWatching();
			for (const signal of FORWARDED) process.off(signal, forward);
		};
		child.once("spawn", () => onStart?.(/** @type {number} */ (child.pid)));
		child.once("error", (error) => {
			stopForwarding();
			reject(error);
		});
		child.once("close", (code, signal) => {
			stopForwarding();
			resolve({ code, signal, output: output.toString("utf8") });
		});
	});
}

/**
 * Calls `terminate` when the npm script that started us is gone, and once more if that did not end us.
 * @param {() => void} terminate
 */
function watchParent(terminate) {
	if (process.env.npm_lifecycle_event === undefined) return () => {};
	const parent = process.ppid;
	/** @type {NodeJS.Timeout | undefined} */
	let again;
	const timer = setInterval(() => {
		if (process.ppid === parent) return;
		clearInterval(timer);
		terminate();
		again = setTimeout(terminate, SECOND_TERM_AFTER_MS);
	}, PARENT_CHECK_INTERVAL_MS);
	return () => {
		clearInterval(timer);
		clearTimeout(again);
	};
}

/**
 * Ends this process the way the child ended.
 * @param {ChildEnd} end
 */
export function exitLike({ code, signal }) {
	if (signal === null) process.exit(code ?? 1);
	process.kill(process.pid, signal);
}
