/**
 * The guardian: a small shell process that outlives pi by a second. pi can be killed without a chance to clean up
 * (SIGKILL, or SIGINT in print mode); a busy agy would then run its turn to the end, unseen. The guardian reads what
 * runs from its stdin, and when that ends because pi is gone it stops what is left, each process proven by its start
 * time. With everything reaped it has nothing to do and exits at once.
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { ProcessIdentity } from "./proof.ts";

/**
 * Lines: `+ pid start` starts guarding, `- pid` ends it, `d dir` names a directory of sockets and recordings to remove. Start times are
 * in the form proof.ts makes them. `family` lists a process with its group and everything that descends from it, so that
 * what agy put into groups of its own is stopped too.
 */
const SCRIPT = `
trap '' INT HUP TERM
guarded= dir=
rows() {
	if [ -r /proc/self/stat ]; then
		cat /proc/[0-9]*/stat 2>/dev/null | awk '{ pid = $1; sub(/^.*\\) /, ""); if ($1 != "Z") print pid, $2, $3, $20 }'
	else
		ps -axo pid=,ppid=,pgid=,stat=,lstart= | awk '$4 !~ /^Z/ { print $1, $2, $3, $5 "_" $6 "_" $7 "_" $8 "_" $9 }'
	fi
}
family() {
	rows | awk -v guarded="$1" '
		BEGIN { count = split(guarded, entries, " "); for (i = 1; i <= count; i++) { split(entries[i], part, "="); root[part[1]] = part[2] } }
		{ parent[$1] = $2; group[$1] = $3; start[$1] = $4; if (($1 in root) && root[$1] == $4) proven[$1] }
		END {
			for (more = 1; more;) {
				more = 0
				for (pid in parent) if (!(pid in found) && ((pid in proven) || (group[pid] in proven) || (parent[pid] in found))) { found[pid]; more = 1 }
			}
			for (pid in found) print pid "=" start[pid]
		}'
}
signal_all() {
	current=" $(rows | awk '{ print $1 "=" $4 }' | tr '\\n' ' ')"
	for entry in $2; do case $current in *" $entry "*) kill -"$1" "\${entry%%=*}" 2>/dev/null ;; esac; done
}
while read -r op pid start; do
	case $op in
		+) guarded="$guarded $pid=$start" ;;
		-) rest=; for entry in $guarded; do [ "\${entry%%=*}" = "$pid" ] || rest="$rest $entry"; done; guarded=$rest ;;
		d) dir=$pid ;;
	esac
done
if [ -n "$guarded" ]; then
	found=$(family "$guarded")
	signal_all TERM "$found"
	[ -z "$found" ] || { sleep 1; signal_all KILL "$found"; }
fi
[ -z "$dir" ] || { rm -f "$dir"/*.sock; rm -rf "$dir"/voice-* "$dir"/speech-*; rmdir "$dir"; } 2>/dev/null
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
