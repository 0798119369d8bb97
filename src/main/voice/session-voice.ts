/**
 * Voice of one pi session, wired: its microphone is the process's, its words go into pi's editor or to its agent, and its
 * speaker reads answers aloud. Nothing starts before a key is pressed or a command given.
 */

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { matchesKey } from "@earendil-works/pi-tui";
import { AgyError, toError } from "../../shared/errors.ts";
import type { LogLevel } from "../../shared/lane-control.ts";
import { transcriptOf } from "../session-transcript.ts";
import { agyTranscriber } from "./agy-transcriber.ts";
import { playChime } from "./chimes.ts";
import { commandTranscriber } from "./command.ts";
import { geminiTranscriber } from "./gemini.ts";
import { interpretationPrompt, toRequest } from "./interpretation.ts";
import { askOnce, type OneShotParts } from "./one-shot.ts";
import { Speaker } from "./speaker.ts";
import { toSpeech } from "./speech-text.ts";
import { type Transcriber, withRules } from "./transcriber.ts";
import { transcriberNameOf } from "./transcriber-choice.ts";
import { Voice, type VoiceResult, type VoiceScreen } from "./voice.ts";

/** As pi names Google's API. */
const GOOGLE_PROVIDER = "google";

export type SessionVoiceOptions = OneShotParts & {
	readonly log: (level: LogLevel, text: string) => void;
	/** pi's latest context of this session; null before it has begun. */
	readonly context: () => ExtensionContext | null;
};

export class SessionVoice {
	readonly voice: Voice;
	readonly #pi: ExtensionAPI;
	readonly #options: SessionVoiceOptions;
	#speaker: Speaker | null = null;
	/** The settings that it was made with. */
	#speaks = "";

	constructor(pi: ExtensionAPI, options: SessionVoiceOptions) {
		this.#pi = pi;
		this.#options = options;
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

	/** A sound file, by the same path; where there is an editor its words are put there, or sent. */
	async transcribeFile(file: string, signal: AbortSignal): Promise<VoiceResult> {
		const context = this.#options.context();
		const result = await this.voice.transcribeFile(file, signal);
		if (context?.hasUI) this.voice.deliver(result, toScreen(this.#pi, context));
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
		await this.#speakerOf().speak(text);
	}

	/** The key: what is being spoken would be recorded too, and ends. */
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

	/** Ends a recording and what is being spoken; nothing of them is left. May be called twice. */
	async close(): Promise<void> {
		await Promise.all([this.voice.close(), this.#speaker?.close()]);
	}

	#screen(): VoiceScreen | null {
		const context = this.#options.context();
		return context?.mode === "tui" ? toScreen(this.#pi, context) : null;
	}

	async #transcriber(): Promise<Transcriber> {
		const { config, hub } = this.#options;
		const { transcriber, language, model, geminiUrl: baseUrl, command, env } = config.voice;
		const key = await this.#key();
		switch (transcriberNameOf({ transcriber, command }, Boolean(key))) {
			case "gemini":
				return geminiTranscriber({ key: async () => key, model, language, baseUrl });
			case "command":
				if (command.length === 0)
					throw new AgyError(
						"transcription-failed",
						"voiceTranscriber is command, but voiceCommand is not set. Set it to a program and its arguments, such as whisper-cli -nt -f {file}.",
					);
				return commandTranscriber({ command, language, env, registry: hub().registry });
			case "agy":
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

function toScreen(pi: ExtensionAPI, context: ExtensionContext): VoiceScreen {
	const { ui } = context;
	return {
		status: (text) => ui.setStatus("pi-agy-voice", text),
		notify: (text, level) => ui.notify(text, level),
		editorText: () => ui.getEditorText(),
		setEditorText: (text) => ui.setEditorText(text),
		send: (text) => pi.sendUserMessage(text, context.isIdle() ? {} : { deliverAs: "followUp" }),
		onEscape: (handler) =>
			ui.onTerminalInput((data) => {
				if (!matchesKey(data, "escape")) return undefined;
				handler();
				return { consume: true };
			}),
	};
}
