/**
 * Voice input of one pi session: what F12, Esc and `/agy voice` do. Decides when a recording starts and ends, and what
 * becomes of it; the microphone, the transcriber and the interpretation are given.
 *
 * idle -> recording -> processing -> idle, and from both to cancelled -> idle. One run at a time; whatever happens, it ends
 * with its processes gone, its file removed and the footer empty, and the person is told how.
 */

import type { CaptureResult } from "../../shared/audio.ts";
import { AgyError, toError } from "../../shared/errors.ts";
import type { LogLevel } from "../../shared/lane-control.ts";
import type { VoiceConfig } from "../config.ts";
import type { CaptureEnd } from "./capture.ts";
import { type Listening, type ListenOptions, MAX_FILE_SECONDS } from "./microphone.ts";
import { lastLine } from "./recorders.ts";
import type { Transcriber } from "./transcriber.ts";
import { renderFooter, type VoiceState } from "./voice-footer.ts";

/** A key pressed by mistake, or twice. */
const MIN_CAPTURE_MS = 300;
/** What is left when silence is taken out; a short "yes" is longer. */
const MIN_SPEECH_MS = 100;
/** Speech into a bad microphone lies above it, the noise of a muted one below. */
const SILENCE_DB = -50;
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
	/** Sends it as the user's words: now, or behind what the agent is at. */
	send(text: string): void;
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

type Run = {
	readonly controller: AbortController;
	readonly ended: Promise<void>;
	/** Resolves `recording`'s wait. */
	readonly stop: (reason: StopReason) => void;
};

type StopReason = "key" | "silence" | "too-long" | "ended-by-itself";

export class Voice {
	readonly #parts: VoiceParts;
	#state: VoiceState = "idle";
	#run: Run | null = null;
	#sinceMs = 0;
	#step = "";
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
		if (this.#run === null) this.#begin(screen);
		else if (this.#state === "recording") this.#run.stop("key");
		else if (this.#state === "processing")
			screen.notify("Voice: the last recording is still being worked on. Esc cancels it.", "info");
	}

	/** Gives up what runs. False when nothing does. */
	cancel(): boolean {
		if (this.#run === null || this.#state === "cancelled") return false;
		this.#run.controller.abort(new AgyError("cancelled", "The recording was cancelled."));
		return true;
	}

	/** A sound file in place of the microphone, by the same path. Throws what kept it from becoming text. */
	async transcribeFile(file: string, signal: AbortSignal): Promise<VoiceResult> {
		const { voice, searchPath, read } = this.#parts;
		const transcriber = await this.#parts.transcriber();
		const container = containerFor(transcriber, voice);
		const listening = await read(file, { voice, searchPath, container, signal, onLevel: () => {} });
		try {
			const end = await untilAborted(listening.ended, signal);
			const result = await this.#toText(judge(end, "file"), {
				...{ listening, transcriber, typed: "", signal },
				onStep: () => {}, // A recording that runs meanwhile has the footer.
			});
			const isCut = (end.result?.capturedMs ?? 0) >= MAX_FILE_SECONDS * 1_000 - RESAMPLER_MS;
			return isCut
				? { ...result, note: `only the first ${MAX_FILE_SECONDS / 60} minutes. ${result.note}`.trim() }
				: result;
		} finally {
			await listening.discard();
		}
	}

	/** Puts a result where the settings want it. */
	deliver({ text }: VoiceResult, screen: VoiceScreen): void {
		if (this.#parts.voice.send) {
			screen.send(text);
			return;
		}
		const typed = screen.editorText();
		const gap = typed === "" || /\s$/.test(typed) ? "" : " ";
		screen.setEditorText(typed + gap + text);
	}

	/** Gives up what runs; resolves when nothing of it is left. May be called twice. */
	async close(): Promise<void> {
		this.#isClosed = true;
		this.cancel();
		await this.#run?.ended;
	}

	#begin(screen: VoiceScreen): void {
		const controller = new AbortController();
		const { promise: stopped, resolve: stop } = Promise.withResolvers<StopReason>();
		const forgetEscape = screen.onEscape(() => this.cancel());
		this.#levels = [];
		this.#enter("recording", "starting");
		this.#draw(screen);
		const footer = setInterval(() => this.#draw(screen), FOOTER_INTERVAL_MS);
		const ended = this.#record(screen, controller.signal, stopped, stop)
			.catch((error: unknown) => this.#report(error, controller.signal, screen))
			.finally(() => {
				clearInterval(footer);
				forgetEscape();
				this.#run = null;
				this.#enter("idle", "");
				screen.status(undefined);
			});
		this.#run = { controller, ended, stop };
	}

	async #record(
		screen: VoiceScreen,
		signal: AbortSignal,
		stopped: Promise<StopReason>,
		stop: (reason: StopReason) => void,
	): Promise<void> {
		const { searchPath, listen, chime } = this.#parts;
		const voice = { ...this.#parts.voice };
		const transcriber = await this.#parts.transcriber();
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
			const typed = screen.editorText();
			const result = await this.#toText(judge(end, "microphone"), {
				...{ listening, transcriber, typed, signal },
				onStep: (step) => this.#enter("processing", step),
			});
			if (result.note !== "") screen.notify(`Voice: ${result.note}`, "warning");
			else if (result.transcript !== result.text) screen.notify(`Voice: heard "${result.transcript}"`, "info");
			this.deliver(result, screen);
		} finally {
			if (signal.aborted) this.#showCancelled(screen);
			await listening.discard();
		}
	}

	async #toText(
		captured: Extract<CaptureResult["encoded"], { readonly ok: true }>,
		run: {
			readonly listening: Listening;
			readonly transcriber: Transcriber;
			readonly typed: string;
			readonly signal: AbortSignal;
			readonly onStep: (step: string) => void;
		},
	): Promise<VoiceResult> {
		const { listening, transcriber, typed, signal, onStep } = run;
		const { mimeType, durationMs, base64 } = captured;
		onStep("transcribing");
		const transcript = await transcriber.transcribe({ mimeType, durationMs, base64, path: listening.path }, signal);
		const { interpret, voice } = this.#parts;
		if (!voice.interpret) return { transcript, text: transcript, note: "" };
		onStep("interpreting");
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
		screen.notify(`Voice: ${message}`, "error");
	}

	#showCancelled(screen: VoiceScreen): void {
		if (this.#state === "cancelled") return;
		this.#enter("cancelled", "");
		this.#draw(screen);
		if (this.#isClosed) return;
		screen.notify("Voice: cancelled. Nothing was sent.", "info");
	}

	#enter(state: VoiceState, step: string): void {
		if (this.#state !== state || step === "") this.#sinceMs = performance.now();
		this.#state = state;
		this.#step = step;
	}

	#draw(screen: VoiceScreen): void {
		screen.status(
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

/** The encoded sound, or what is wrong with it as an AgyError. */
function judge(
	{ result, stderr, failure, exit }: CaptureEnd,
	source: "microphone" | "file",
): Extract<CaptureResult["encoded"], { readonly ok: true }> {
	if (failure) throw failure;
	if (result === null) throw failed("The recording was lost: ffmpeg ended before it was ready. Record again.");
	const { encoded, capturedMs, loudestDb } = result;
	const isFile = source === "file";
	if (isFile && capturedMs === 0)
		throw failed(`The file holds no sound that ffmpeg can read: ${lastLine(stderr) || "it is empty"}.`);
	if (capturedMs < MIN_CAPTURE_MS)
		throw failed(`The ${isFile ? "file" : "recording"} is too short (${Math.round(capturedMs)} ms). Nothing was sent.`);
	if (loudestDb < SILENCE_DB)
		throw failed(
			`Nothing was heard (the loudest was ${Math.round(loudestDb)} dB). ${isFile ? "Nothing was sent." : "Check that the right microphone is chosen and not muted. Nothing was sent."}`,
		);
	if (!encoded.ok) {
		const how = exit?.signal ? `ffmpeg was ended by ${exit.signal}` : lastLine(stderr) || encoded.problem;
		throw failed(`The recording is damaged: ${how}. Record again.`);
	}
	if (encoded.durationMs < MIN_SPEECH_MS) throw failed("Nothing but silence was recorded. Nothing was sent.");
	return encoded;
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
