/**
 * Voice input of one pi session: what F12, Esc and `/agy voice` do with a recording, a sound file, or a recording that is
 * tried again. Decides when a recording starts and ends, and what becomes of it; the microphone, the transcriber and the
 * interpretation are given.
 *
 * idle -> recording -> processing -> idle, and from both to cancelled -> idle; a file begins with processing. One run at a
 * time; whatever happens, it ends with its processes gone, its file removed and the footer empty, and the person is told how.
 * The one file that outlives its run is that of a recording which could not be transcribed: it is kept for `retry`.
 */

import { AgyError, toError } from "../../shared/errors.ts";
import type { LogLevel } from "../../shared/lane-control.ts";
import type { VoiceConfig } from "../config.ts";
import { type Listening, type ListenOptions, MAX_FILE_SECONDS } from "./microphone.ts";
import { type Encoded, judgeRecording, SILENCE_DB } from "./recording-verdict.ts";
import type { Transcriber } from "./transcriber.ts";
import { renderFooter, type VoiceState } from "./voice-footer.ts";

/** Often enough for a bar that moves; each one has pi draw its screen. */
const FOOTER_INTERVAL_MS = 200;
const LEVELS_KEPT = 16;
/** What a resampler may still hold when its input is cut. */
const RESAMPLER_MS = 100;

export type VoiceScreen = {
	/** Undefined takes the line away. */
	status(text: string | undefined): void;
	notify(text: string, level: "info" | "warning" | "error"): void;
	editorText(): string;
	setEditorText(text: string): void;
	/** Resolves when what is written into the editor stays there. */
	editable(): Promise<void>;
	/**
	 * Sends it as the user's words: now, or behind what the agent is at. Resolves with null when pi has them, else with why
	 * not, as a sentence; rejects when the session ends before that is known.
	 */
	send(text: string): Promise<string | null>;
	/** Calls `handler` on Esc and keeps the key from everybody else; returns what ends that. */
	onEscape(handler: () => void): () => void;
};

export type VoiceParts = {
	/** Looked at for each recording. */
	readonly voice: VoiceConfig;
	readonly searchPath: readonly string[];
	/** Null where nobody can press a key (print and rpc). */
	readonly screen: () => VoiceScreen | null;
	readonly listen: (options: ListenOptions) => Promise<Listening>;
	readonly read: (file: string, options: ListenOptions) => Promise<Listening>;
	/** Rejects when the one that is configured cannot work. */
	readonly transcriber: () => Promise<Transcriber>;
	/** The request that was meant. */
	readonly interpret: (transcript: string, typed: string, signal: AbortSignal) => Promise<string>;
	readonly chime: (which: "start" | "stop", listening: Listening) => void;
	readonly log: (level: LogLevel, text: string) => void;
};

export type VoiceResult = {
	/** As it was understood. */
	readonly transcript: string;
	/** What goes to pi: the transcript, or the request that was meant. */
	readonly text: string;
	/** What went otherwise than asked for; "" when nothing did. */
	readonly note: string;
};

/** A recording that could not be transcribed. */
type Kept = {
	readonly listening: Listening;
	readonly captured: Encoded;
	readonly container: ListenOptions["container"];
};

type Run = {
	readonly controller: AbortController;
	/** Never rejects. */
	readonly ended: Promise<void>;
	/** Resolves `recording`'s wait. */
	readonly stop: (reason: StopReason) => void;
};

type StopReason = "key" | "silence" | "too-long" | "ended-by-itself";

/** Who else may have got what was said, when it is given up. */
type Reached = Transcriber["name"] | "interpreter" | null;

const RETRY_HINT = "The last recording is kept: /agy voice retry tries it again.";

export class Voice {
	readonly #parts: VoiceParts;
	#state: VoiceState = "idle";
	#run: Run | null = null;
	#kept: Kept | null = null;
	/** The run is that of a sound file. */
	#isFile = false;
	#sinceMs = 0;
	#step = "";
	#reached: Reached = null;
	#levels: number[] = [];
	#isClosed = false;

	constructor(parts: VoiceParts) {
		this.#parts = parts;
	}

	get state(): VoiceState {
		return this.#state;
	}

	/** The key: starts a recording, or ends the one that runs. */
	toggle(): void {
		const screen = this.#parts.screen();
		if (this.#isClosed || screen === null) return;
		if (this.#run === null) this.#beginRecording(screen);
		else if (this.#state === "recording") this.#run.stop("key");
		else if (this.#state === "processing")
			screen.notify("Voice: what you said last is still being worked on. Esc cancels it.", "info");
	}

	/** Gives up what runs. False when nothing does. */
	cancel(): boolean {
		if (this.#run === null || this.#state === "cancelled") return false;
		this.#run.controller.abort(new AgyError("cancelled", `Voice was ${this.#cancelNotice()}`));
		return true;
	}

	/**
	 * A sound file in place of the microphone, by the same path. Throws what kept it from becoming text, and
	 * `recording-failed` while something else runs.
	 */
	async transcribeFile(file: string): Promise<VoiceResult> {
		this.#requireIdle();
		return this.#begin(null, "processing", "reading", (signal) =>
			this.#toTextOfFile(file, "", signal).catch((error: unknown) => {
				throw signal.aborted ? signal.reason : error;
			}),
		);
	}

	/** The same where there is a screen: at once, and the screen tells what comes of it. */
	beginFile(file: string): void {
		this.#requireIdle();
		const screen = this.#parts.screen();
		if (screen === null) return;
		this.#beginOnScreen(screen, "processing", "reading", async (signal) => {
			const result = await this.#toTextOfFile(file, screen.editorText(), signal);
			this.#tellAndDeliver(result, screen);
		});
	}

	/** Tries the kept recording again. False when none is kept; throws `recording-failed` while something else runs. */
	retry(): boolean {
		this.#requireIdle();
		const screen = this.#parts.screen();
		const kept = this.#kept;
		if (screen === null || kept === null) return false;
		this.#beginOnScreen(screen, "processing", "reading", async (signal) => {
			const result = await this.#toTextOfKept(kept, screen.editorText(), signal);
			this.#tellAndDeliver(result, screen);
			await this.#dropKept();
		});
		return true;
	}

	/** Puts a result where the settings want it; resolves when it is there. Words that pi does not take go into the editor. */
	async deliver({ text }: VoiceResult, screen: VoiceScreen): Promise<void> {
		if (!this.#parts.voice.send) {
			await addToEditor(text, screen);
			return;
		}
		const refusal = await screen.send(text);
		if (refusal === null) return;
		await addToEditor(text, screen);
		screen.notify(`Voice: ${refusal} What you said is in the editor: press Enter to send it.`, "warning");
	}

	/**
	 * Gives up what runs, and the recording that is kept; resolves when nothing of it is left. May be called twice.
	 * `why` is told of what was given up.
	 */
	async close(why = "the session ended"): Promise<void> {
		if (!this.#isClosed && (this.#run !== null || this.#kept !== null)) {
			const what = this.#run === null ? "the recording that was kept for /agy voice retry" : "what was being said";
			const notice = `Voice: ${why}, and ${what} was dropped.`;
			this.#parts.log("warn", notice);
			this.#parts.screen()?.notify(notice, "warning");
		}
		this.#isClosed = true;
		this.cancel();
		await this.#run?.ended;
		await this.#dropKept();
	}

	#requireIdle(): void {
		if (this.#isClosed) throw new AgyError("cancelled", "This pi session has ended.");
		if (this.#run === null) return;
		const remedy =
			this.#state === "recording"
				? "End it, or give it up with /agy voice cancel"
				: "Wait for it, or give it up with /agy voice cancel";
		const what =
			this.#state === "recording" ? "A recording is under way" : "What you said last is still being worked on";
		throw failed(`${what}. ${remedy}.`);
	}

	#beginRecording(screen: VoiceScreen): void {
		const { promise: stopped, resolve: stop } = Promise.withResolvers<StopReason>();
		const work = (signal: AbortSignal) => this.#record(screen, signal, stopped, stop);
		this.#beginOnScreen(screen, "recording", "starting", work, stop);
	}

	#beginOnScreen(
		screen: VoiceScreen,
		state: VoiceState,
		step: string,
		work: (signal: AbortSignal) => Promise<void>,
		stop?: Run["stop"],
	): void {
		const reported = (signal: AbortSignal) =>
			work(signal).catch((error: unknown) => this.#report(error, signal, screen));
		void this.#begin(screen, state, step, reported, stop);
	}

	#begin<T>(
		screen: VoiceScreen | null,
		state: VoiceState,
		step: string,
		work: (signal: AbortSignal) => Promise<T>,
		stop: Run["stop"] = () => {}, // Nothing is recorded.
	): Promise<T> {
		const controller = new AbortController();
		const forgetEscape = screen?.onEscape(() => this.cancel());
		this.#levels = [];
		this.#reached = null;
		this.#isFile = false;
		this.#enter(state, step);
		this.#draw(screen);
		const footer = setInterval(() => this.#draw(screen), FOOTER_INTERVAL_MS);
		const done = work(controller.signal).finally(() => {
			clearInterval(footer);
			forgetEscape?.();
			this.#run = null;
			this.#enter("idle", "");
			screen?.status(undefined);
		});
		const ended = done.then(
			() => {},
			() => {}, // Whoever asked for it hears of the failure.
		);
		this.#run = { controller, ended, stop };
		return done;
	}

	async #record(
		screen: VoiceScreen,
		signal: AbortSignal,
		stopped: Promise<StopReason>,
		stop: (reason: StopReason) => void,
	): Promise<void> {
		const { searchPath, listen, chime } = this.#parts;
		const voice = { ...this.#parts.voice };
		const transcriber = await untilAborted(this.#parts.transcriber(), signal);
		const container = containerFor(transcriber, voice);
		let lastSoundMs = 0;
		let hasSpoken = false;
		const onLevel: ListenOptions["onLevel"] = ({ rmsDb }, capturedMs) => {
			this.#levels = [...this.#levels, rmsDb].slice(-LEVELS_KEPT);
			if (rmsDb >= SILENCE_DB) [lastSoundMs, hasSpoken] = [capturedMs, true];
			const isSilent = voice.silenceSeconds > 0 && capturedMs - lastSoundMs >= voice.silenceSeconds * 1_000;
			if (isSilent && hasSpoken) stop("silence");
			if (capturedMs >= voice.maxSeconds * 1_000) stop("too-long");
		};
		const listening = await listen({ voice, searchPath, container, signal, onLevel });
		try {
			await this.#dropKept();
			this.#enter("recording", "");
			if (voice.sounds) chime("start", listening);
			const reason = await untilAborted(
				Promise.race([stopped, listening.ended.then((): StopReason => "ended-by-itself")]),
				signal,
			);
			this.#enter("processing", "finishing");
			this.#draw(screen);
			const end = await untilAborted(listening.stop(), signal);
			if (voice.sounds) chime("stop", listening);
			if (reason === "too-long")
				screen.notify(
					`Voice: the recording ended after ${voice.maxSeconds} s, the longest that voiceMaxSeconds allows.`,
					"info",
				);
			const captured = judgeRecording(end, "microphone");
			const kept = { listening, captured, container };
			const typed = screen.editorText();
			const result = await this.#toText(captured, { listening, transcriber, typed, signal }).catch((error: unknown) => {
				if (!signal.aborted) this.#kept = kept;
				throw error;
			});
			this.#tellAndDeliver(result, screen);
		} finally {
			if (signal.aborted) this.#showCancelled(screen);
			if (this.#kept?.listening !== listening) await listening.discard();
		}
	}

	async #toTextOfFile(file: string, typed: string, signal: AbortSignal): Promise<VoiceResult> {
		this.#isFile = true;
		const transcriber = await untilAborted(this.#parts.transcriber(), signal);
		const listening = await this.#read(file, containerFor(transcriber, this.#parts.voice), signal);
		try {
			const end = await untilAborted(listening.ended, signal);
			const result = await this.#toText(judgeRecording(end, "file"), { listening, transcriber, typed, signal });
			const isCut = (end.result?.capturedMs ?? 0) >= MAX_FILE_SECONDS * 1_000 - RESAMPLER_MS;
			return isCut
				? { ...result, note: `only the first ${MAX_FILE_SECONDS / 60} minutes were read. ${result.note}`.trim() }
				: result;
		} finally {
			await listening.discard();
		}
	}

	/** Another transcriber may want another kind of file than was recorded. */
	async #toTextOfKept({ listening, captured, container }: Kept, typed: string, signal: AbortSignal) {
		const transcriber = await untilAborted(this.#parts.transcriber(), signal);
		const wanted = containerFor(transcriber, this.#parts.voice);
		if (wanted === container) return this.#toText(captured, { listening, transcriber, typed, signal });
		const again = await this.#read(listening.path, wanted, signal);
		try {
			const end = await untilAborted(again.ended, signal);
			return await this.#toText(judgeRecording(end, "file"), { listening: again, transcriber, typed, signal });
		} finally {
			await again.discard();
		}
	}

	#read(file: string, container: ListenOptions["container"], signal: AbortSignal): Promise<Listening> {
		const { voice, searchPath, read } = this.#parts;
		return read(file, { voice, searchPath, container, signal, onLevel: () => {} });
	}

	#tellAndDeliver(result: VoiceResult, screen: VoiceScreen): void {
		if (result.note !== "") screen.notify(`Voice: ${result.note}`, "warning");
		else if (result.transcript !== result.text) screen.notify(`Voice: heard "${result.transcript}"`, "info");
		this.deliver(result, screen).catch((error: unknown) =>
			this.#parts.log("warn", `what was said may not have reached pi: ${toError(error).message}`),
		);
	}

	async #dropKept(): Promise<void> {
		const kept = this.#kept;
		this.#kept = null;
		await kept?.listening.discard();
	}

	async #toText(
		{ mimeType, durationMs, base64 }: Encoded,
		run: {
			readonly listening: Listening;
			readonly transcriber: Transcriber;
			readonly typed: string;
			readonly signal: AbortSignal;
		},
	): Promise<VoiceResult> {
		const { listening, transcriber, typed, signal } = run;
		this.#enter("processing", `transcribing (${transcriber.name})`);
		this.#reached = transcriber.name;
		const transcript = await transcriber.transcribe({ mimeType, durationMs, base64, path: listening.path }, signal);
		const { interpret, voice } = this.#parts;
		if (!voice.interpret) return { transcript, text: transcript, note: "" };
		this.#enter("processing", "interpreting");
		this.#reached = "interpreter";
		try {
			const text = await interpret(transcript, typed, signal);
			return { transcript, text: text === "" ? transcript : text, note: "" };
		} catch (error) {
			signal.throwIfAborted();
			const { message } = toError(error);
			this.#parts.log("warn", `interpretation failed: ${message}`);
			return {
				transcript,
				text: transcript,
				note: `what you said was taken as it is, for agy could not interpret it: ${message}`,
			};
		}
	}

	#report(error: unknown, signal: AbortSignal, screen: VoiceScreen): void {
		if (signal.aborted) {
			this.#showCancelled(screen);
			return;
		}
		const { message } = toError(error);
		this.#parts.log("warn", `voice: ${message}`);
		const hint = this.#isOfKept ? ` ${RETRY_HINT}` : "";
		screen.notify(`Voice: ${message}${hint}`, "error");
	}

	#showCancelled(screen: VoiceScreen): void {
		if (this.#state === "cancelled") return;
		const notice = this.#cancelNotice();
		this.#enter("cancelled", "");
		this.#draw(screen);
		if (this.#isClosed) return; // `close` has told it.
		screen.notify(`Voice: ${notice}`, "info");
	}

	/** What is true at this moment: a request that is under way cannot be called back. */
	#cancelNotice(): string {
		const what = {
			gemini: "The recording may already have been sent to the Gemini API; what it answers is not used.",
			agy: "agy may already have been given the recording; what it answers is not used.",
			command: "The transcription program was stopped; what it has written is not used.",
			interpreter: "What you said had already gone to agy to be interpreted; what it answers is not used.",
		};
		const said = this.#reached === null ? "Nothing was sent." : what[this.#reached];
		return `cancelled. ${said}${this.#isOfKept ? ` ${RETRY_HINT}` : ""}`;
	}

	/** Whether the recording that is kept is the run's own: of a file that failed it would be misunderstood. */
	get #isOfKept(): boolean {
		return this.#kept !== null && !this.#isFile;
	}

	#enter(state: VoiceState, step: string): void {
		if (this.#state !== state || step === "") this.#sinceMs = performance.now();
		this.#state = state;
		this.#step = step;
	}

	#draw(screen: VoiceScreen | null): void {
		screen?.status(
			renderFooter({
				state: this.#state,
				elapsedMs: performance.now() - this.#sinceMs,
				levels: this.#levels,
				step: this.#step,
				key: this.#parts.voice.key,
			}),
		);
	}
}

/** At its end: what was typed stays in front. */
async function addToEditor(text: string, screen: VoiceScreen): Promise<void> {
	await screen.editable();
	const typed = screen.editorText();
	const gap = typed === "" || /\s$/.test(typed) ? "" : " ";
	screen.setEditorText(typed + gap + text);
}

function containerFor({ name }: Transcriber, voice: VoiceConfig): ListenOptions["container"] {
	return name === "command" ? voice.commandFormat : "ogg";
}

async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
	const { promise: aborted, reject } = Promise.withResolvers<never>();
	const onAbort = () => reject(signal.reason);
	signal.addEventListener("abort", onAbort, { once: true });
	if (signal.aborted) onAbort();
	try {
		return await Promise.race([promise, aborted]);
	} finally {
		signal.removeEventListener("abort", onAbort);
	}
}

function failed(message: string): AgyError {
	return new AgyError("recording-failed", message);
}
