/**
 * The folder of pi-agy's data as a small file system of its own, which can be full or read-only for a while. Where mounting
 * is not allowed the folder is moved away and a file put in its place instead, and it cannot be full.
 */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const SIZE_MIB = 16;
/** A file system with a file that is just being written cannot become read-only. */
const REMOUNT_TRIES = 20;

export class DataDisk {
	readonly path: string;
	/** Why nothing can be mounted; "" when the disk is mounted. */
	readonly mountProblem: string;
	readonly #unmountAtExit = () => this.#unmount();

	constructor(path: string) {
		this.path = path;
		mkdirSync(path, { recursive: true, mode: 0o700 });
		this.mountProblem = run("mount", "-t", "tmpfs", "-o", `size=${SIZE_MIB}m,mode=700`, "tmpfs", path);
		if (this.mountProblem === "") process.once("exit", this.#unmountAtExit);
	}

	/** Nothing can be written. False when that could not be brought about. */
	async beReadOnly(): Promise<boolean> {
		if (this.mountProblem !== "") {
			renameSync(this.path, `${this.path}.away`);
			writeFileSync(this.path, "");
			return true;
		}
		for (let count = 0; count < REMOUNT_TRIES; count++) {
			if (run("mount", "-o", "remount,ro", this.path) === "") return true;
			await delay(10);
		}
		return false;
	}

	beWritable(): void {
		if (this.mountProblem === "") run("mount", "-o", "remount,rw", this.path);
		else if (existsSync(`${this.path}.away`)) {
			rmSync(this.path, { recursive: true, force: true });
			renameSync(`${this.path}.away`, this.path);
		}
	}

	/** Not a byte is left. */
	beFull(): void {
		const ballast = openSync(join(this.path, "ballast"), "w", 0o600);
		try {
			for (const block of [Buffer.alloc(2 ** 20), Buffer.alloc(4_096)]) fill(ballast, block);
		} finally {
			closeSync(ballast);
		}
	}

	beEmptier(): void {
		rmSync(join(this.path, "ballast"), { force: true });
	}

	/** Back to a plain folder, which is empty then if it was mounted. May be called twice. */
	close(): void {
		this.beWritable();
		if (this.mountProblem !== "") return;
		process.removeListener("exit", this.#unmountAtExit);
		this.#unmount();
	}

	#unmount(): void {
		run("umount", "--lazy", this.path);
	}
}

function fill(descriptor: number, block: Buffer): void {
	try {
		for (;;) writeSync(descriptor, block);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
	}
}

/** What went wrong; "" when nothing did. */
function run(program: string, ...args: readonly string[]): string {
	try {
		execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"] });
		return "";
	} catch (error) {
		const { stderr, message } = error as Error & { readonly stderr?: Buffer };
		return stderr?.toString().trim() || message;
	}
}
