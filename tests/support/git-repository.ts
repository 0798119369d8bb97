/** A real repository in a folder of a test. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export class GitRepository {
	readonly path: string;

	constructor(path: string) {
		this.path = path;
		mkdirSync(path, { recursive: true });
		this.git("init", "--quiet");
	}

	git(...args: readonly string[]): void {
		const env = { PATH: process.env.PATH, HOME: this.path, GIT_CONFIG_NOSYSTEM: "1" };
		const author = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
		execFileSync("git", ["-C", this.path, ...author, ...args], { env, stdio: "pipe" });
	}

	/** Writes a file and answers its whole path. */
	write(name: string, content: string | Buffer): string {
		const path = join(this.path, name);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, content);
		return path;
	}

	commit(files: Readonly<Record<string, string | Buffer>>): void {
		for (const [name, content] of Object.entries(files)) this.write(name, content);
		this.git("add", "--all");
		this.git("commit", "--quiet", "--message", "A commit");
	}
}
