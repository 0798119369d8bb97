/**
 * A real pi in a real terminal: `script` gives it one, and an emulator draws what it writes, so that a test types keys and
 * reads the screen as a person does. Its parent is `script`, and the pid of pi itself is that one's child.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import xterm from "@xterm/headless";
import { until, within } from "./condition.ts";
import { childrenOf, guardiansOf, killQuietly } from "./process-table.ts";
import { REPOSITORY, type Sandbox } from "./sandbox.ts";

const MODEL = "antigravity/gemini-3.8-flash";
const PI_PATH = realpathSync(join(REPOSITORY, "node_modules", ".bin", "pi"));

/** A person would have given up long before. */
const DEADLINE_MS = 30_000;

export const KEY = { enter: "\r", escape: "\x1b", f12: "\x1b[24~", ctrlC: "\x03", ctrlD: "\x04", tab: "\t" } as const;

export type TerminalOptions = {
	readonly columns?: number;
	readonly rows?: number;
	readonly env?: Readonly<Record<string, string>>;
	/** Without any settings, as at a first start: pi-agy asks for the engine. Default: there is a config.json. */
	readonly isFirstStart?: boolean;
	/** Behind those that load the extension. Default: no session is kept. */
	readonly args?: readonly string[];
};

export class PiTerminal {
	readonly emulator: InstanceType<typeof xterm.Terminal>;
	readonly closed: Promise<void>;
	readonly #sandbox: Sandbox;
	readonly #child: ChildProcessByStdio<Writable, Readable, null>;
	#isClosed = false;
	#lastDrawnMs = 0;

	constructor(sandbox: Sandbox, options: TerminalOptions = {}) {
		const { columns = 110, rows = 32, args = ["--no-session"] } = options;
		this.#sandbox = sandbox;
		const settings = "agent/pi-agy/config.json";
		if (!options.isFirstStart && sandbox.read(settings) === "") sandbox.write(settings, '{ "version": 2 }');
		this.emulator = new xterm.Terminal({ cols: columns, rows, scrollback: 2_000, allowProposedApi: true });
		const pi = [process.execPath, PI_PATH, "-ne", "-e", REPOSITORY, "--model", MODEL, ...args];
		const command = `stty cols ${columns} rows ${rows}; exec ${pi.map(quote).join(" ")}`;
		this.#child = spawn("script", ["-qec", command, "/dev/null"], {
			cwd: sandbox.workspace,
			env: { ...sandbox.env, TERM: "xterm-256color", COLORTERM: "truecolor", SHELL: "/bin/sh", ...options.env },
			stdio: ["pipe", "pipe", "ignore"],
		});
		this.#child.stdin.on("error", () => {}); // pi is gone: `closed` says so.
		this.#child.stdout.on("data", (chunk: Buffer) => {
			this.#lastDrawnMs = performance.now();
			this.emulator.write(chunk);
		});
		// What the emulator answers to pi's questions about the terminal.
		this.emulator.onData((data) => this.#child.stdin.write(data));
		this.closed = new Promise((resolve) =>
			this.#child.once("close", () => {
				this.#isClosed = true;
				resolve();
			}),
		);
	}

	/** pi's own pid. */
	get pid(): number {
		const [pi] = childrenOf(this.#child.pid ?? 0);
		if (!pi) throw new Error("pi does not run in its terminal");
		return pi.pid;
	}

	/** The screen's lines, without trailing spaces. */
	screen(): string {
		const { active } = this.emulator.buffer;
		const lines: string[] = [];
		for (let row = 0; row < this.emulator.rows; row++)
			lines.push(active.getLine(active.viewportY + row)?.translateToString(true) ?? "");
		return lines.join("\n").trimEnd();
	}

	type(text: string): void {
		this.#child.stdin.write(text);
	}

	/** Types a line and sends it. Escape closes pi's list of completions, which would take the first Enter. */
	async enter(line: string): Promise<void> {
		this.type(line);
		await this.shows(line.slice(-40));
		if (line.startsWith("/")) this.type(KEY.escape);
		this.type(KEY.enter);
	}

	/** Waits until the screen shows it. */
	async shows(what: string | RegExp): Promise<string> {
		return until(
			() => `${what} on the screen:\n${this.screen()}`,
			() => {
				const screen = this.screen();
				const isThere = typeof what === "string" ? screen.includes(what) : what.test(screen);
				if (!isThere && this.#isClosed) throw new Error(`pi ended before it showed ${what}:\n${screen}`);
				return isThere && screen;
			},
			DEADLINE_MS,
		);
	}

	/** Waits until it is gone from the screen. */
	async hides(what: string): Promise<void> {
		await until(
			() => `${what} gone from the screen:\n${this.screen()}`,
			() => !this.screen().includes(what),
			DEADLINE_MS,
		);
	}

	/** Waits until nothing has been drawn for a second. */
	async settled(): Promise<void> {
		await until(
			() => `a quiet screen:\n${this.screen()}`,
			() => performance.now() - this.#lastDrawnMs > 1_000,
			DEADLINE_MS,
		);
	}

	async started(): Promise<void> {
		await this.shows(/gemini/);
	}

	noteGuardians(): void {
		this.#sandbox.noteGuardians(guardiansOf(this.pid));
	}

	/** Ends pi as a person does: Ctrl+C empties the editor, Ctrl+D leaves. */
	async quit(): Promise<void> {
		this.type(KEY.ctrlC);
		this.type(KEY.ctrlD);
		await within("the end of pi", this.closed, DEADLINE_MS);
	}

	/** For a test that went wrong. */
	destroy(): void {
		if (!this.#isClosed && this.#child.pid !== undefined) killQuietly(this.#child.pid);
		this.emulator.dispose();
	}
}

function quote(word: string): string {
	return `'${word.replaceAll("'", `'\\''`)}'`;
}
