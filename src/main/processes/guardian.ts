/**
 * The guardian: a small shell process that outlives pi by a second. pi can be killed without a chance to clean up
 * (SIGKILL, or SIGINT in print mode); a busy agy would then run its turn to the end, unseen. The guardian reads what
 * runs from its stdin, and when that ends because pi is gone it stops what is left, each process proven by its start
 * time. With everything reaped it has nothing to do and exits at once.
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { ProcessIdentity } from "./proof.ts";

/**
 * Lines: `+ pid start` starts guarding, `- pid` ends it, `d dir` names a directory of sockets to remove.
 * Start times are compared in the form proof.ts makes them.
 */
const SCRIPT = String.raw`
trap '' INT HUP TERM
guarded=; dir=
start_of() {
	if [ -r /proc/self/stat ]; then
		stat=; read -r stat 2>/dev/null < "/proc/$1/stat" || return 1
		set -- $(printf '%s' "$stat" | sed 's/^.*) //')
		[ "$1" = Z ] && return 1
		printf '%s' "${"$"}{20}"
	else
		ps -o lstart= -p "$1" 2>/dev/null | sed 's/^ *//; s/ *$//; s/  */_/g'
	fi
}
proven() { [ -n "$2" ] && [ "$(start_of "$1")" = "$2" ]; }
while read -r op pid start; do
	case $op in
		+) guarded="$guarded $pid:$start" ;;
		-) rest=; for entry in $guarded; do [ "${"$"}{entry%%:*}" = "$pid" ] || rest="$rest $entry"; done; guarded=$rest ;;
		d) dir=$pid ;;
	esac
done
for signal in TERM KILL; do
	for entry in $guarded; do
		if proven "${"$"}{entry%%:*}" "${"$"}{entry#*:}"; then kill -"$signal" -"${"$"}{entry%%:*}" 2>/dev/null; fi
	done
	[ -z "$guarded" ] || [ "$signal" = KILL ] || sleep 1
done
[ -z "$dir" ] || { rm -f "$dir"/*.sock; rmdir "$dir"; } 2>/dev/null
`;

export class Guardian {
	readonly #socketDir: string;
	#child: ChildProcess | null = null;

	constructor(socketDir: string) {
		this.#socketDir = socketDir;
	}

	guard(identity: ProcessIdentity): void {
		this.#start();
		this.#tell(`+ ${identity.pid} ${identity.startTime}`);
	}

	release(pid: number): void {
		this.#tell(`- ${pid}`);
	}

	/** Lets the guardian go. Resolves when it has exited, so that nothing of ours is left. */
	async close(): Promise<void> {
		const child = this.#child;
		this.#child = null;
		if (!child?.stdin || child.exitCode !== null || child.signalCode !== null) return;
		const exited = new Promise((resolve) => child.once("exit", resolve));
		child.stdin.end();
		child.ref();
		await exited;
	}

	#start(): void {
		if (this.#child || process.platform === "win32") return;
		const child = spawn("/bin/sh", ["-c", SCRIPT], {
			stdio: ["pipe", "ignore", "ignore"],
			detached: true,
			cwd: "/",
			env: { PATH: "/usr/bin:/bin" },
		});
		child.on("error", () => {}); // No shell: the next start of pi reaps what this one could not.
		child.stdin.on("error", () => {}); // The guardian was killed: as above.
		child.unref();
		this.#child = child;
		this.#tell(`d ${this.#socketDir}`);
	}

	#tell(line: string): void {
		this.#child?.stdin?.write(`${line}\n`);
	}
}
