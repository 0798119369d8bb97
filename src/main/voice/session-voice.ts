/**
 * Voice of one pi session, wired: its microphone is the process's, its words go into pi's editor or to its agent, and its
 * speaker reads answers aloud. Nothing starts before a key is pressed or a command given.
 */

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type KeyId, matchesKey } from "@earendil-works/pi-tui";
import { AgyError, toError } from "../../shared/errors.ts";
import type { LogLevel } from "../../shared/lane-control.ts";
import { requireRunnable } from "../config.ts";
import { transcriptOf } from "../session-transcript.ts";
import type { DelegatorParts } from "../tools/delegation.ts";
import { agyTranscriber } from "./agy-transcriber.ts";
import { userText } from "./answer-text.ts";
import { playChime } from "./chimes.ts";
import { commandTranscriber } from "./command.ts";
import { geminiTranscriber, missingKey } from "./gemini.ts";
import { interpretationPrompt, toRequest } from "./interpretation.ts";
import { KeyRepeat } from "./key-repeat.ts";
import { askOnce } from "./one-shot.ts";
import { OpenPrompt } from "./open-prompt.ts";
import { requireTranscriptionProgram } from "./readiness.ts";
import { Sending } from "./sending.ts";
import { Speaker } from "./speaker.ts";
import { toSpeech } from "./speech-text.ts";
import { type Transcriber, withRules } from "./transcriber.ts";
import { transcriberNameOf } from "./transcriber-choice.ts";
import { Voice, type VoiceResult, type VoiceScreen } from "./voice.ts";
import { renderSpeech } from "./voice-footer.ts";

/** A status that is never there: pi draws the editor anew with the next thing that changes, and this is one. */
const REDRAW = "pi-agy-redraw";
/** As pi names Google's API. */
const GOOGLE_PROVIDER = "google";
/** For a clock that shows seconds; each one has pi draw its screen. */
const SPEECH_FOOTER_INTERVAL_MS = 1_000;

export type SessionVoiceOptions = DelegatorParts & {
	readonly log: (level: LogLevel, text: string) => void;
	/** pi's latest context of this session; null before it has begun. */
	readonly context: () => ExtensionContext | null;
};

export class SessionVoice {
	readonly voice: Voice;
	readonly #pi: ExtensionAPI;
	readonly #options: SessionVoiceOptions;
	readonly #sending: Sending;
	readonly #repeats = new KeyRepeat();
	readonly #ended = new AbortController();
	/** pi takes no prompt while it makes a summary that it was asked for. */
	#isSummarizing = false;
	/** Takes the footer and the key of what is being spoken away. */
	#hideSpeech: (() => void) | null = null;
	readonly #prompt = new OpenPrompt();
	#forgetPromptKey: (() => void) | null = null;
	#speaker: Speaker | null = null;
	/** The settings that it was made with. */
	#speaks = "";

	constructor(pi: ExtensionAPI, options: SessionVoiceOptions) {
		this.#pi = pi;
		this.#options = options;
		this.#sending = this.#watchPi();
		const { config, hub, log } = options;
		this.voice = new Voice({
			voice: config.voice,
			searchPath: config.searchPath,
			screen: () => this.#screen(),
			listen: (listen) => hub().microphone.listen(listen),
			read: (file, listen) => hub().microphone.read(file, listen),
			transcriber: async () => withRules(await this.#transcriber()),
			interpret: (...spoken) => this.#interpret(...spoken),
			chime: (which, { output, ffmpeg }) => {
				const { env } = config.voice;
				if (output !== null) void playChime({ which, ffmpeg, output, env }, hub().registry, log);
			},
			log,
		});
	}

	/** Whether it can be operated with a key. */
	get hasKey(): boolean {
		return this.#screen() !== null;
	}

	/**
	 * A sound file, by the same path, for who waits for its words; where a host has an editor they are put there, too, or sent.
	 * Throws what kept it from becoming text.
	 */
	async transcribeFile(file: string): Promise<VoiceResult> {
		const context = this.#options.context();
		const result = await this.voice.transcribeFile(file);
		if (context?.hasUI) await this.voice.deliver(result, this.#toScreen(context));
		return result;
	}

	/** Whether Gemini could be asked: the environment or pi holds a key. */
	async hasGoogleKey(): Promise<boolean> {
		return Boolean(await this.#key());
	}

	/** Speaks it, in place of what is being spoken. Rejects with `speech-failed`. */
	async speak(markdown: string): Promise<void> {
		const text = toSpeech(markdown);
		if (text === "") throw new AgyError("speech-failed", "There is nothing to read aloud: only code, or no text.");
		const spoken = this.#speakerOf().speak(text);
		const hide = this.#showSpeech();
		await spoken.finally(hide);
	}

	/** The key, which comes again and again while it is held. */
	pressed(): void {
		if (!this.#repeats.isRepeat(performance.now())) this.toggle();
	}

	/** Starts or ends a recording: what is being spoken would be recorded too, and ends. */
	toggle(): void {
		this.silence();
		this.voice.toggle();
	}

	/** False when nothing was being spoken. */
	silence(): boolean {
		const wasSpeaking = this.#speaker?.isSpeaking ?? false;
		void this.#speaker?.stop();
		return wasSpeaking;
	}

	/** The end of an agent's run: its answer is read aloud where that is set. */
	answered(markdown: string): void {
		if (this.voice.state !== "idle") return; // It would be recorded.
		if (!this.#options.config.voice.readAloud || markdown.trim() === "" || toSpeech(markdown) === "") return;
		this.speak(markdown).catch((error: unknown) => {
			this.#options.log("warn", toError(error).message);
			this.#options.context()?.ui.notify(`Voice: ${toError(error).message}`, "warning");
		});
	}

	/** Ends a recording and what is being spoken; nothing of them is left. `why` is told of a recording. May be called twice. */
	async close(why?: string): Promise<void> {
		const closed = this.voice.close(why);
		this.#ended.abort(new AgyError("cancelled", "The session ended."));
		await Promise.all([closed, this.#speaker?.close()]);
	}

	#screen(): VoiceScreen | null {
		const context = this.#options.context();
		return context?.mode === "tui" ? this.#toScreen(context) : null;
	}

	#toScreen({ ui }: ExtensionContext): VoiceScreen {
		return {
			status: (text) => ui.setStatus("pi-agy-voice", text),
			notify: (text, level) => ui.notify(text, level),
			editorText: () => ui.getEditorText(),
			setEditorText: (text) => {
				ui.setEditorText(text);
				ui.setStatus(REDRAW, undefined);
			},
			editable: () => this.#prompt.gone(),
			send: (text) => this.#sending.send(text, this.#ended.signal),
			onEscape: (handler) => this.#onEscape(ui, handler),
		};
	}

	/** What pi does and says of a prompt. Its context is asked for each time: it is the session's latest. */
	#watchPi(): Sending {
		const pi = this.#pi;
		const context = () => this.#options.context();
		pi.on("ui_prompt_start", () => this.#promptOpened());
		pi.on("ui_prompt_end", () => this.#promptClosed());
		const summarizing = (isSummarizing: boolean) => {
			this.#isSummarizing = isSummarizing;
		};
		pi.on("session_before_compact", ({ reason }) => summarizing(reason === "manual"));
		pi.on("session_before_tree", () => summarizing(true));
		pi.on("session_compact", () => summarizing(false));
		pi.on("session_compact_failed", () => summarizing(false));
		pi.on("session_tree", () => summarizing(false));
		pi.on("agent_start", () => summarizing(false));
		pi.on("message_start", ({ message }) => this.#sending.started(userText(message)));
		const isIdle = () => context()?.isIdle() ?? true;
		return new Sending({
			isIdle,
			hasQueue: () => context()?.hasPendingMessages() ?? false,
			editorText: () => context()?.ui.getEditorText() ?? "",
			refusal: () => {
				if (this.#isSummarizing && !isIdle()) return "pi takes no prompt while it summarizes the session.";
				return context()?.model === undefined ? "pi has no model: choose one with /model." : null;
			},
			prompt: (text) => pi.sendUserMessage(text, isIdle() ? {} : { deliverAs: "followUp" }),
		});
	}

	/** The footer and Esc for what is being spoken, in place of those of what was; returns what ends that. */
	#showSpeech(): () => void {
		this.#hideSpeech?.();
		const context = this.#options.context();
		if (context?.mode !== "tui") return () => {};
		const { ui } = context;
		const sinceMs = performance.now();
		const draw = () => ui.setStatus("pi-agy-speech", renderSpeech(performance.now() - sinceMs));
		const footer = setInterval(draw, SPEECH_FOOTER_INTERVAL_MS);
		const forgetEscape = this.#onEscape(ui, () => this.silence());
		draw();
		const hide = () => {
			if (this.#hideSpeech !== hide) return; // It has ended, or something else is being spoken.
			this.#hideSpeech = null;
			clearInterval(footer);
			forgetEscape();
			ui.setStatus("pi-agy-speech", undefined);
		};
		this.#hideSpeech = hide;
		return hide;
	}

	/** pi gives its dialogs no shortcuts: the key that ends a recording has to be caught there. */
	#promptOpened(): void {
		this.#prompt.opened();
		const context = this.#options.context();
		if (context?.mode !== "tui") return;
		const key = this.#options.config.voice.key as KeyId; // Checked by the settings.
		this.#forgetPromptKey ??= context.ui.onTerminalInput((data) => {
			if (this.voice.state !== "recording" || !matchesKey(data, key)) return undefined;
			this.pressed();
			return { consume: true };
		});
	}

	#promptClosed(): void {
		this.#forgetPromptKey?.();
		this.#forgetPromptKey = null;
		this.#prompt.closed();
	}

	/** Esc, unless a dialog of an extension is open, which it closes. */
	#onEscape(ui: ExtensionContext["ui"], handler: () => void): () => void {
		return ui.onTerminalInput((data) => {
			if (this.#prompt.isOpen || !matchesKey(data, "escape")) return undefined;
			handler();
			return { consume: true };
		});
	}

	/** Throws where it is known beforehand that it cannot work: nobody should speak in vain. */
	async #transcriber(): Promise<Transcriber> {
		const { config, hub, engine } = this.#options;
		const { transcriber, language, model, geminiUrl: baseUrl, command, env } = config.voice;
		const key = transcriber === "gemini" || transcriber === "auto" ? await this.#key() : null;
		switch (transcriberNameOf({ transcriber, command }, Boolean(key))) {
			case "gemini":
				if (!key?.trim()) throw missingKey();
				return geminiTranscriber({ key: async () => key, model, language, baseUrl });
			case "command":
				await requireTranscriptionProgram(command, config.searchPath);
				return commandTranscriber({ command, language, env, registry: hub().registry });
			case "agy":
				requireRunnable(config);
				await hub().binaries.find(config, engine.requires);
				return agyTranscriber(this.#options, language);
		}
	}

	async #key(): Promise<string | null> {
		const { config, context } = this.#options;
		return config.googleKey() ?? (await context()?.modelRegistry.getApiKeyForProvider(GOOGLE_PROVIDER)) ?? null;
	}

	async #interpret(transcript: string, typed: string, signal: AbortSignal): Promise<string> {
		const context = this.#options.context();
		const prompt = interpretationPrompt({ transcript, typed, context: context ? transcriptOf(context) : "" });
		const cwd = context?.cwd ?? process.cwd();
		return toRequest(await askOnce({ prompt, cwd, signal }, this.#options));
	}

	#speakerOf(): Speaker {
		const { config, hub } = this.#options;
		const { speakCommand: command, player, env } = config.voice;
		if (command.length === 0)
			throw new AgyError(
				"speech-failed",
				"Nothing speaks: set voiceSpeakCommand to a program that reads its input aloud, such as espeak-ng, or that writes a sound file to {file}.",
			);
		const speaks = JSON.stringify([command, player, env]);
		if (this.#speaker === null || this.#speaks !== speaks) {
			void this.#speaker?.close();
			this.#speaks = speaks;
			this.#speaker = new Speaker({
				...{ command, player, env, registry: hub().registry },
				directory: async () => hub().privateDir,
			});
		}
		return this.#speaker;
	}
}
