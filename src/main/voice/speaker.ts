/**
 * Reading aloud: one utterance at a time, by a program of the user's that gets the text in its stdin and either speaks
 * itself or writes a sound file that a player plays. The text is never an argument, where every user of the machine could
 * read it. The file is private and always deleted.
 */

import { randomUUID } from "node:crypto";
import { chmod, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgyError } from "../../shared/errors.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import { runCommand } from "../processes/run.ts";
import { excerptOf } from "./excerpt.ts";
import { fillIn, hasMark, programProblem } from "./program.ts";

/** Longer than any text that speech-text.ts lets through takes, spoken slowly. */
const UTTERANCE_TIMEOUT_MS = 10 * 60_000;
/** Such programs print a few lines; one that prints its sound instead is set up wrongly. */
const MAX_OUTPUT_BYTES = 256 * 1024;

export type SpeakerOptions = {
	/** The program and its arguments; no shell. With `{file}` in an argument it writes a sound file there, else it speaks. */
	readonly command: readonly string[];
	/** Plays that file: `{file}` in an argument, else its last one. Not needed when the command speaks itself. */
	readonly player: readonly string[];
	/** An existing private directory for the file. */
	readonly directory: () => Promise<string>;
	readonly env: Readonly<Record<string, string>>;
	readonly registry: ProcessRegistry;
};

type Utterance = { readonly controller: AbortController; readonly ended: Promise<unknown> };

export class Speaker {
	readonly #options: SpeakerOptions;
	#current: Utterance | null = null;
	#isClosed = false;

	constructor(options: SpeakerOptions) {
		this.#options = options;
	}

	/**
	 * Interrupts what is being spoken and speaks the text. Resolves when it has been spoken or was interrupted; fails with
	 * `speech-failed`.
	 */
	speak(text: string): Promise<"spoken" | "interrupted"> {
		const previous = this.#current;
		previous?.controller.abort();
		const controller = new AbortController();
		if (this.#isClosed) controller.abort();
		const spoken = Promise.resolve(previous?.ended).then(() => this.#speak(text, controller.signal));
		const utterance: Utterance = {
			controller,
			ended: spoken
				.catch(() => {}) // Whoever asked for it hears of the failure.
				.then(() => {
					if (this.#current === utterance) this.#current = null;
				}),
		};
		this.#current = utterance;
		return spoken;
	}

	get isSpeaking(): boolean {
		return this.#current !== null;
	}

	/** Interrupts what is being spoken. Resolves when its process is gone and its file deleted. */
	async stop(): Promise<void> {
		this.#current?.controller.abort();
		await this.#current?.ended;
	}

	/** Nothing is spoken any more. */
	async close(): Promise<void> {
		this.#isClosed = true;
		await this.stop();
	}

	async #speak(text: string, signal: AbortSignal): Promise<"spoken" | "interrupted"> {
		if (signal.aborted) return "interrupted";
		if (text.trim() === "") return "spoken";
		const { command, player } = this.#options;
		if (!command[0]) throw failed("No program for reading aloud is set");
		if (!hasMark(command, "file")) return await this.#run(command, "", text, signal);
		if (!player[0]) throw failed(`${command[0]} writes a sound file, and no player is set`);
		const path = await this.#makeFile();
		try {
			if ((await this.#run(command, path, text, signal)) === "interrupted") return "interrupted";
			await this.#checkFile(command[0], path);
			return await this.#run(hasMark(player, "file") ? player : [...player, "{file}"], path, undefined, signal);
		} finally {
			await rm(path, { force: true });
		}
	}

	/** Made beforehand, so that the program writes into a file that is private from its first byte. */
	async #makeFile(): Promise<string> {
		try {
			const path = join(await this.#options.directory(), `speech-${randomUUID()}.wav`);
			await writeFile(path, "", { mode: 0o600, flag: "wx" });
			return path;
		} catch (error) {
			throw failed(`The file for the sound cannot be made (${excerptOf((error as Error).message)})`, { cause: error });
		}
	}

	async #checkFile(bin: string, path: string): Promise<void> {
		const { size } = await stat(path).catch(() => ({ size: 0 })); // It took the file away, or wrote none.
		if (size === 0) throw failed(`${bin} ended well, but wrote no sound into its file`);
		await chmod(path, 0o600); // It may have put a file of its own in place.
	}

	async #run(
		command: readonly string[],
		file: string,
		input: string | undefined,
		signal: AbortSignal,
	): Promise<"spoken" | "interrupted"> {
		const { env, registry } = this.#options;
		const { bin, args } = fillIn(command, { file });
		const limits = { timeoutMs: UTTERANCE_TIMEOUT_MS, maxBytes: MAX_OUTPUT_BYTES };
		const result = await runCommand(
			{ bin, args, env, ...limits, signal, cut: "stop", ...(input === undefined ? {} : { input }) },
			registry,
		);
		if (signal.aborted) return "interrupted";
		const problem = programProblem(bin, result);
		if (problem !== null) throw failed(problem);
		return "spoken";
	}
}

function failed(problem: string, options: { readonly cause?: unknown } = {}): AgyError {
	return new AgyError("speech-failed", `${problem}. Check voiceSpeakCommand and voicePlayer.`, options);
}
